"""What a drive wrote, from its logs; write amplification, and what it says of the spare."""

import csv
import io
from itertools import permutations

import pytest
from command import ioplan, plan_file
from figures import record
from sim_drive import SECOND_NS, WRITES, Bench

from ioplan.job import Wear
from ioplan.language import Metric
from ioplan.records import RunDetail
from ioplan.results.measure import Figure, Sample, figure, steady_waf
from ioplan.results.measure.wear import (
    NO_CAPACITY,
    NO_LOG,
    NO_MEDIA,
    StatedSpare,
    spare_percent_of,
)
from ioplan.results.store import Store
from ioplan.runner.telemetry.smart import Logs
from ioplan.runner.telemetry.wear import DATA_UNIT_BYTES, wear_between
from ioplan_sim import DriveSpec
from ioplan_sim.ssd import large_blocks

UNIT = DATA_UNIT_BYTES
HALF = 1 << 64


def logs(units, at_s=0.0, **more):
    return Logs(smart={"data_units_written": units}, at_s=at_s, **more)


LO, HI = (f"Physical media units written: {part}" for part in ("lo", "hi"))
OTHER, PLAIN = "physical_media_units_written: lo", "physical_media_units_written"


@pytest.mark.parametrize(
    ("before", "after", "grown_bytes"),
    [
        ({LO: 7}, {LO: 1007}, 1000),
        ({HI: 0, LO: HALF - 1}, {HI: 1, LO: 9}, 10),
        ({OTHER: 1}, {OTHER: 3}, 2),
        ({PLAIN: 1}, {PLAIN: HALF}, HALF - 1),
        ({LO: 7}, {LO: 6}, None),
        ({LO: 0}, {LO: 0}, None),
        ({"Bad blocks": 3}, {"Bad blocks": 3}, None),
    ],
)
def test_what_an_ocp_log_says(before, after, grown_bytes):
    """Of a drive whose host wrote 1,000 units meanwhile."""
    found = wear_between(logs(5, ocp=before), logs(1005, ocp=after), None)
    assert found and found.host_written_bytes == 1000 * UNIT
    assert found.media_written_bytes == grown_bytes


def test_the_best_log_counts():
    group = {"data_units_written": 10, "media_units_written": 30}
    later = {"data_units_written": 110, "media_units_written": 330}
    before, after = logs(1, endurance=group), logs(102, 60.0, endurance=later)
    written = {"host_written_bytes": 100 * UNIT, "media_written_bytes": 300 * UNIT}
    found = {"source": "NVMe endurance group", "span_s": 60.0, "step_bytes": UNIT}
    best = wear_between(before, after, 10**12)
    assert best == Wear(capacity_bytes=10**12, **found, **written)
    plain = wear_between(logs(1), logs(102, 60.0), None)
    assert plain and (plain.source, plain.media_written_bytes) == ("NVMe SMART", None)
    assert plain.host_written_bytes == 101 * UNIT
    for first, last in ((Logs(), Logs()), (logs(7), logs(6)), (Logs(), logs(6))):
        assert wear_between(first, last, 10**12) is None


def value(name, *runs):
    samples = [Sample(record(n, wear=run), RunDetail()) for n, run in enumerate(runs)]
    return figure(Metric(name=name), samples)


def wear(host_bytes, **more):
    usual = {"source": "OCP", "span_s": 864.0, "capacity_bytes": 10**9, "step_bytes": 1}
    return Wear(host_written_bytes=host_bytes, **{**usual, **more})  # type: ignore[arg-type]


def test_metrics_are_of_all_runs_together():
    one, part = wear(10**9, media_written_bytes=10**9), wear(3 * 10**9)
    both = one, part.model_copy(update={"media_written_bytes": 9 * 10**9})
    assert value("waf", *both) == Figure(2.5)
    assert value("media_written", *both) == Figure(1e10)
    for name in ("waf", "media_written"):
        assert value(name, one, part) == Figure(None, NO_MEDIA)
    for runs in (both, (one, part)):  # 4 capacities in 1728 s, a fiftieth of a day
        assert value("dwpd", *runs).value == pytest.approx(200)


@pytest.mark.promise("figures.unmeasured")
def test_what_was_not_measured_is_no_figure():
    for name in ("waf", "media_written", "dwpd"):
        assert value(name, None) == Figure(None, NO_LOG)
        assert value(name, wear(1, media_written_bytes=2), None).why == NO_LOG
    assert value("dwpd", wear(10**9, capacity_bytes=None)).why == NO_CAPACITY
    read = wear(0, media_written_bytes=5)
    assert value("waf", read) == value("dwpd", read)
    assert value("waf", read) == Figure(None, "nothing was written")
    few = wear(99 * UNIT, media_written_bytes=10**9, step_bytes=UNIT)
    assert value("waf", few).why == "too little was written: the log needs 51.2 MB"
    enough = few.model_copy(update={"host_written_bytes": 100 * UNIT})
    assert value("waf", enough).value == pytest.approx(10**9 / (100 * UNIT))


def test_the_simulated_drive_tells_its_truth():
    bench = Bench(DriveSpec(), 1 << 30)
    bench.run(WRITES, passes=1)
    before = bench.device.facts()
    result, _ = bench.run(WRITES, warmup_ns=SECOND_NS, run_ns=4 * SECOND_NS)
    after, found = bench.device.facts(), result.wear
    assert found is not None

    def grown(name):
        return float(after[name]) - float(before[name])

    assert found.host_written_bytes == pytest.approx(grown("host_written_bytes"))
    assert found.media_written_bytes == pytest.approx(grown("flash_written_bytes"))
    amplification = value("waf", found).value
    assert amplification == pytest.approx(result.facts["write_amplification"], abs=1e-4)
    assert amplification and amplification > 1.5
    assert found.span_s == pytest.approx(5.0)
    assert found.capacity_bytes == bench.facts.capacity_bytes


PLAN = """
precondition filled { write sequential 128KiB, qd 8, 1 pass }
test "W" {
  after filled
  run random 4KiB 0/100, qd 32 for 1s
  expect waf > 1.2
  expect media_written < 100MB
  chart table waf, media_written, dwpd
}
test "R" { run random 4KiB 100/0 for 1s
  expect waf < 2 }
"""


@pytest.mark.usefixtures("rough_sim")
def test_plans_ask_for_it(tmp_path, store_path):
    """And preparations show it."""
    plan, target = plan_file(tmp_path, PLAN), tmp_path / "scratch"
    asked = ("--backend", "sim", "--create", "1GiB", "--target", target)
    out = ioplan("run", plan, *asked).out
    tables = ioplan("show", "--tables").out
    assert ", WAF 1.00" in tables and "passed: expect waf > 1.2" in tables
    assert "failed: expect media_written < 100MB: " in out.replace("\n", " ")
    assert "undecided: expect waf < 2: –, limit 2.00 x (nothing was written)" in out
    with Store.open(store_path) as store:
        prepared, wrote, _ = store.records(store.session("last").id)
    assert prepared.wear and wrote.wear and wrote.wear.source == "simulated"
    rows = csv.DictReader(io.StringIO(ioplan("export", "--format", "csv").out))
    exported = [row for row in rows if row["scope"] == "total"][1]
    assert float(exported["waf"]) == value("waf", wrote.wear).value
    assert int(exported["media_written_bytes"]) == wrote.wear.media_written_bytes
    assert wrote.wear.span_s == pytest.approx(1)


SPARES = (7, 15, 28)


@pytest.mark.parametrize("percent", [2, *SPARES, 100])
def test_the_model_is_that_of_another_derivation(percent):
    """Xiang and Kurkoski's, by Lambert's function."""
    assert steady_waf(percent) == pytest.approx(large_blocks(percent / 100), rel=1e-6)
    assert spare_percent_of(steady_waf(percent)) == pytest.approx(percent)


@pytest.mark.parametrize(
    ("stated", "uncollected", "waf", "said"),
    [
        (StatedSpare(15), 0, 1.19 * steady_waf(15), ""),
        (StatedSpare(15), 0, 0.81 * steady_waf(15), ""),
        (StatedSpare(15), 0, steady_waf(28), "it reads as 28 %"),
        (StatedSpare(15), 0, 1.0, "not fit"),
        # units of a map may multiply it
        (StatedSpare(15, sizes=4), 0, steady_waf(15), ""),
        (StatedSpare(15, sizes=4), 0, 4 * steady_waf(15), ""),
        (StatedSpare(15, sizes=4), 0, 4 * steady_waf(28), "28 %"),
        # what is not collected is spare
        (StatedSpare(7, is_least=True), 21, steady_waf(28), ""),
        (StatedSpare(7), 21, steady_waf(28), "not fit"),
    ],
)
def test_a_spare_fits_within_a_fifth(stated, uncollected, waf, said):
    if uncollected:
        stated.uncollected(uncollected)
    found = stated.misfit(waf)
    assert bool(found) == bool(said) and said in found


def shaped(
    folder, spare, real, more = "",
    capacity = "32GiB", every = "1%"
) :  # fmt: skip
    """The second step, and the run after it, on a drive of a spare."""
    drive = folder / "drive.toml"
    drive.write_text(f'over_provisioning = "{real}%"\n{more}')
    text = f"""plan "P"
on unsteady continue
precondition p {{
  purge
  write random 4KiB shaped, spare {spare}, qd 32
  write random 4KiB, qd 32, until steady waf every {every}, at most 2 passes
}}
test "T" {{ after p run random 4KiB 0/100, qd 32 for 10s }}
"""
    store = folder / "results.db"
    call = ("run", plan_file(folder, text), "--sim", drive, "--create", capacity)
    assert ioplan(*call, "--store", store, "--quiet").code == 0
    with Store.open(store) as found:
        *_, step, run = found.records(found.session("last").id)
    return step, run


def steady_of(step):
    assert step.steady
    return step.steady


def waf(run):
    assert run.wear
    assert run.wear.media_written_bytes
    return run.wear.media_written_bytes / run.wear.host_written_bytes


@pytest.mark.parametrize("spare", ["auto", "7%"])
def test_memory_in_place_is_steady_after_a_pass(tmp_path, spare):
    step, run = shaped(tmp_path, spare, 5, "[flash]\nin_place = true\n")
    assert steady_of(step).reached, steady_of(step).why
    assert step.wear
    assert 0.9 < step.wear.host_written_bytes / (32 << 30) < 1.4  # in large windows
    assert waf(run) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("log", "why"), [('step = "64MiB"', ""), ('every = "2min"', "nothing was written")]
)
def test_a_coarse_log_is_enough(tmp_path, log, why):
    """Which is of 1.6 windows; a late one is told."""
    step, _ = shaped(tmp_path, "28%", 28, f"[log]\n{log}\n", "4GiB")
    assert steady_of(step).reached == (not why)
    assert why in steady_of(step).why


@pytest.mark.slow
@pytest.mark.parametrize("real", SPARES)
@pytest.mark.long
def test_a_spare_is_found_and_the_state_is_steady(tmp_path, real):
    """Of a small drive the windows are longer: erase blocks are a larger share of it."""
    (tmp_path / "right").mkdir()
    _, right = shaped(tmp_path / "right", f"{real}%", real)
    step, run = shaped(tmp_path, "auto", real, every="3%")
    assert steady_of(step).reached, steady_of(step).why
    assert waf(run) == pytest.approx(waf(right), rel=0.03)


@pytest.mark.slow
@pytest.mark.parametrize(("stated", "real"), [*permutations(SPARES, 2)])
@pytest.mark.long
def test_a_wrong_spare_is_not_steady(tmp_path, stated, real):
    step, _ = shaped(tmp_path, f"{stated}%", real)
    assert not steady_of(step).reached
    if (stated, real) == (7, 28):
        _, _, read = steady_of(step).why.rpartition("it reads as ")
        assert float(read.removesuffix(" %")) == pytest.approx(real, abs=3)
