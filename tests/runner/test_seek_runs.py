"""Seeks on real files and on the simulated drive: as written, and killed on the way."""

import pytest
from command import ioplan, plan_file
from paths import ROOT

from ioplan.results.store import Store

pytestmark = pytest.mark.slow

CAPACITY = ROOT / "examples/capacity.ioplan"


def records(store):
    with Store.open(store) as opened:
        return list(opened.records(opened.session("last").id))


def check_capacity(store, *reads):
    """The tests that follow rest on what was found, of cells where anything was: a
    shared machine may be too slow for the lowest rate."""
    runs = [one for one in records(store) if one.asked.kind == "run"]
    found = {one.asked.cell["read"]: one.found.value for one in runs if one.found}
    assert {*found} == {*reads} and any(found.values())
    loads = [one.asked for one in runs if one.asked.test == "Latency under load"]
    assert len(loads) == 6 * sum(value is not None for value in found.values())
    for asked in loads:
        rate, highest = asked.workload.streams[0].rate, found[asked.cell["read"]]
        assert rate and highest
        share = float(asked.cell["load"].rstrip("%")) / 100
        assert rate.iops == pytest.approx(share * highest)
    assert [one.asked.name for one in runs[-6:]] == ["before", "later"] * 3
    assert all(one.verdicts for one in runs[-6:] if one.asked.name == "later")


@pytest.mark.long
@pytest.mark.usefixtures("rough_sim")
def test_the_example_runs_on_the_simulated_drive(store_path):
    size = ("--create", "256MiB", "--scale-time", "0.02")
    done = ioplan("run", CAPACITY, "--backend", "sim", *size)
    assert done.code in (0, 1), done.err
    check_capacity(store_path, "100%", "70%", "50%")


# what finds nothing

NOTHING = """test "S" {
  run  random 4KiB 100/0 for 20ms
  vary size in 4KiB, 8KiB
  seek highest qd in 1..4 where mean <= 1ns
}"""
GOES_ON = f"on nothing found continue\n{NOTHING}"


USES = """
test "Uses" {
  run random 4KiB 100/0, qd 8, rate 50% of "S" for 20ms
  vary size in 4KiB, 8KiB
  expect iops > 1 iops
}"""


@pytest.mark.parametrize(
    ("text", "code"),
    [(NOTHING, 1), (GOES_ON, 0), (NOTHING.replace("1ns", "10s"), 0)],
)
@pytest.mark.promise("exit_codes.nothing_found")
def test_nothing_found_is_an_exit_code_unless_the_plan_goes_on(
    text, code, tmp_path, store_path
):
    done = ioplan("run", plan_file(tmp_path, text), "--backend", "sim")
    assert done.code == code, done.err
    told = (
        "2 searches found no value: size=4KiB: no queue depth met the limit (QD 1 "
        "already fails)"
    )
    assert (told in " ".join(done.out.split())) == ("1ns" in text), done.out


@pytest.mark.parametrize(("text", "code"), [(NOTHING, 1), (GOES_ON, 0)])
def test_what_uses_it_is_skipped_and_no_failure(text, code, tmp_path, store_path):
    text = text.replace("qd in 1..4", "rate in 1_000 iops..4_000 iops")
    done = ioplan("run", plan_file(tmp_path, text + USES), "--backend", "sim")
    assert done.code == code and "to continue" not in done.out, done.err
    assert "'S' found nothing where size=4KiB (and 1 more skipped)" in done.out
    assert "2 of 2 expectations not measured" in done.out
