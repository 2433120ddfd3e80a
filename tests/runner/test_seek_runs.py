"""Seeks on real files and on the simulated drive: as written, and killed on the way."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command import ioplan, plan_file
from paths import ROOT

from ioplan.records import RunRecord
from ioplan.results.store import Store

pytestmark = pytest.mark.slow

CAPACITY = ROOT / "examples/capacity.ioplan"


def records(store: Path) -> list[RunRecord]:
    with Store.open(store) as opened:
        return list(opened.records(opened.session("last").id))


def check_capacity(store: Path, *reads: str) -> None:
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
def test_the_example_runs_on_the_simulated_drive(store_path: Path) -> None:
    size = ("--create", "256MiB", "--scale-time", "0.02")
    done = ioplan("run", CAPACITY, "--backend", "sim", *size)
    assert done.code in (0, 1), done.err
    check_capacity(store_path, "100%", "70%", "50%")


@pytest.mark.long
def test_the_example_runs_on_a_scratch_file(tmp_path: Path, store_path: Path) -> None:
    """In much shorter time, and with a limit that a shared machine can keep."""
    text = CAPACITY.read_text().replace("p99 <= 1ms", "p99 <= 10s")
    text = text.replace("100%, 70%, 50%", "70%")
    plan, file = plan_file(tmp_path, text), tmp_path / "scratch"
    size = ("--create", "32MiB", "--scale-time", "0.003")
    done = ioplan("run", plan, "--target", file, *size)
    assert done.code in (0, 1), done.err
    check_capacity(store_path, "70%")


KILLED = """test "Seek" {
  run  random 4KiB 100/0 for 30ms
  vary size in 4KiB, 8KiB
  seek highest qd in 1..16 where max < 100s, confirm 60ms
}
test "Share" {
  run  random 4KiB 100/0, qd 50% of "Seek" for 20ms
  vary size in 4KiB, 8KiB
}
"""


@pytest.mark.long
def test_programs_are_told_of_probes_and_findings(tmp_path: Path) -> None:
    plan = plan_file(tmp_path, KILLED)
    done = ioplan("run", plan, "--backend", "sim", "--create", "64MiB", "--json")
    told = [
        row["record"]
        for row in map(json.loads, done.out.splitlines())
        if row["type"] == "record"
    ]
    probes = [one["asked"]["seek"] for one in told if one["asked"]["kind"] == "probe"]
    assert [one["decision"] for one in probes] == ["yes"] * 8
    assert [one["found"]["value"] for one in told if one["found"]] == [16, 16]
    steps = json.loads(ioplan("plan", plan, "--json", "--capacity", "64MiB").out)[
        "steps"
    ]
    most = sum(one.get("times_at_most", 1) for one in steps if one["test"] == "Seek")
    assert most >= len(probes)
    rehearsed = ioplan("plan", plan, "--rehearse", "--capacity", "64MiB", "--json")
    assert {one["times"] for one in json.loads(rehearsed.out)["steps"]} == {1}
    shown = ioplan("show", "last")
    assert "qd ≥ 16" in shown.out
    rows = ioplan("export", "last", "--format", "csv").out
    assert "probe" in rows and "found_value" in rows
