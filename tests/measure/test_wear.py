"""What a drive wrote, from its logs; write amplification, and what it says of the spare."""

from __future__ import annotations

import csv
import io
from itertools import product
from pathlib import Path

import pytest
from command import ioplan, plan_file
from figures import record
from sim_drive import SECOND_NS, WRITES, Bench

from ioplan.job import Wear
from ioplan.language import Metric
from ioplan.records import RunDetail, RunRecord
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


def logs(units: int, at_s: float = 0.0, **more: dict[str, int]) -> Logs:
    return Logs(smart={"data_units_written": units}, at_s=at_s, **more)


def media(before: dict[str, int], after: dict[str, int]) -> int | None:
    """By an OCP log, of a drive whose host wrote 1,000 units meanwhile."""
    found = wear_between(logs(5, ocp=before), logs(1005, ocp=after), None)
    assert found and found.host_written_bytes == 1000 * UNIT
    return found.media_written_bytes


OCP_NAME = "Physical media units written"


@pytest.mark.parametrize(
    ("before", "after", "grown_bytes"),
    [
        ({f"{OCP_NAME}: lo": 7}, {f"{OCP_NAME}: lo": 1007}, 1000),
        (
            {f"{OCP_NAME}: hi": 0, f"{OCP_NAME}: lo": HALF - 1},
            {f"{OCP_NAME}: hi": 1, f"{OCP_NAME}: lo": 9},
            10,
        ),
        (
            {"physical_media_units_written: lo": 1},
            {"physical_media_units_written: lo": 3},
            2,
        ),
        (
            {"physical_media_units_written": 1},
            {"physical_media_units_written": HALF},
            HALF - 1,
        ),
        ({f"{OCP_NAME}: lo": 7}, {f"{OCP_NAME}: lo": 6}, None),
        ({f"{OCP_NAME}: lo": 0}, {f"{OCP_NAME}: lo": 0}, None),
        ({"Bad blocks": 3}, {"Bad blocks": 3}, None),
    ],
)
def test_what_an_ocp_log_says(
    before: dict[str, int], after: dict[str, int], grown_bytes: int | None
) -> None:
    assert media(before, after) == grown_bytes


def test_the_best_log_counts() -> None:
    group = {"data_units_written": 10, "media_units_written": 30}
    later = {"data_units_written": 110, "media_units_written": 330}
    before, after = logs(1, endurance=group), logs(102, 60.0, endurance=later)
    assert wear_between(before, after, 10**12) == Wear(
        source="NVMe endurance group",
        span_s=60.0,
        host_written_bytes=100 * UNIT,
        media_written_bytes=300 * UNIT,
        capacity_bytes=10**12,
        step_bytes=UNIT,
    )
    plain = wear_between(logs(1), logs(102, 60.0), None)
    assert plain and (plain.source, plain.media_written_bytes) == ("NVMe SMART", None)
    assert plain.host_written_bytes == 101 * UNIT


def test_a_log_that_is_missing_or_went_back_is_none() -> None:
    assert wear_between(Logs(), Logs(), 10**12) is None
    assert wear_between(logs(7), logs(6), 10**12) is None
    assert wear_between(Logs(), logs(6), 10**12) is None


def value(name: str, *runs: Wear | None) -> Figure:
    samples = [Sample(record(n, wear=run), RunDetail()) for n, run in enumerate(runs)]
    return figure(Metric(name=name), samples)


def wear(host_bytes: int, **more: object) -> Wear:
    usual = {"source": "OCP", "span_s": 864.0, "capacity_bytes": 10**9, "step_bytes": 1}
    return Wear(host_written_bytes=host_bytes, **{**usual, **more})  # type: ignore[arg-type]


def test_metrics_are_of_all_runs_together() -> None:
    runs = (wear(10**9, media_written_bytes=10**9), wear(3 * 10**9))
    both = runs[0], runs[1].model_copy(update={"media_written_bytes": 9 * 10**9})
    assert value("waf", *both) == Figure(2.5)
    assert value("media_written", *both) == Figure(1e10)
    # 4 times the capacity in 1728 s, a fiftieth of a day
    assert value("dwpd", *both).value == pytest.approx(200)
    assert (
        value("waf", *runs) == value("media_written", *runs) == Figure(None, NO_MEDIA)
    )
    assert value("dwpd", *runs).value == pytest.approx(200)


@pytest.mark.promise("figures.unmeasured")
def test_what_was_not_measured_is_no_figure() -> None:
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


def test_the_simulated_drive_tells_its_truth() -> None:
    bench = Bench(DriveSpec(), 1 << 30)
    bench.run(WRITES, passes=1)
    before = bench.device.facts()
    result, _ = bench.run(WRITES, warmup_ns=SECOND_NS, run_ns=4 * SECOND_NS)
    after, found = bench.device.facts(), result.wear
    assert found is not None

    def grown(name: str) -> float:
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


def test_plans_ask_for_it(tmp_path: Path, store_path: Path, rough_sim: None) -> None:
    plan, target = plan_file(tmp_path, PLAN), tmp_path / "scratch"
    asked = ("--backend", "sim", "--create", "1GiB", "--target", target)
    out = ioplan("run", plan, *asked).out
    assert ", WAF 1.00" in out and "held: expect waf > 1.2" in out
    assert "failed: expect media_written < 100MB: " in out.replace("\n", " ")
    assert "undecided: expect waf < 2: – (nothing was written)" in out
    with Store.open(store_path) as store:
        prepared, wrote, _ = store.records(store.session("last").id)
    assert prepared.wear and wrote.wear and wrote.wear.source == "simulated"
    rows = list(csv.DictReader(io.StringIO(ioplan("export", "--format", "csv").out)))
    exported = [row for row in rows if row["scope"] == "total"][1]
    waf = value("waf", wrote.wear).value
    assert float(exported["waf"]) == waf
    assert int(exported["media_written_bytes"]) == wrote.wear.media_written_bytes
    assert wrote.wear.span_s == pytest.approx(1)


SPARES = (7, 15, 28)


@pytest.mark.parametrize("percent", [2, *SPARES, 100])
def test_the_model_is_that_of_another_derivation(percent: float) -> None:
    """Xiang and Kurkoski's, by Lambert's function."""
    assert steady_waf(percent) == pytest.approx(large_blocks(percent / 100), rel=1e-6)
    assert spare_percent_of(steady_waf(percent)) == pytest.approx(percent)


def test_a_spare_fits_within_a_fifth() -> None:
    stated = StatedSpare(15)
    assert not stated.misfit(1.19 * steady_waf(15))
    assert not stated.misfit(0.81 * steady_waf(15))
    assert stated.misfit(steady_waf(28)).endswith("it reads as 28 %")
    assert "not fit" in stated.misfit(1.0)


def test_units_of_a_map_may_multiply_it() -> None:
    stated = StatedSpare(15, sizes=4)
    assert not stated.misfit(steady_waf(15))
    assert not stated.misfit(4 * steady_waf(15))
    assert "28 %" in stated.misfit(4 * steady_waf(28))


def test_what_is_not_collected_is_spare() -> None:
    stated = StatedSpare(7, is_least=True)
    stated.uncollected(21)
    assert not stated.misfit(steady_waf(28))
    stated = StatedSpare(7)
    stated.uncollected(21)
    assert stated.misfit(steady_waf(28))


def shaped(
    folder: Path,
    spare: str,
    real: int,
    more: str = "",
    capacity: str = "32GiB",
    every: str = "1%",
) -> tuple[RunRecord, RunRecord]:
    """The second step, and the run after it, on a drive of a spare."""
    drive = folder / "drive.toml"
    drive.write_text(f'over_provisioning = "{real}%"\n{more}')
    write = (
        f"write random 4KiB, qd 32, until steady waf every {every}, at most 2 passes"
    )
    text = (
        'plan "P"\non unsteady continue\nprecondition p {\n  purge\n'
        f"  write random 4KiB shaped, spare {spare}, qd 32\n  {write}\n}}\n"
        'test "T" { after p run random 4KiB 0/100, qd 32 for 10s }\n'
    )
    store = folder / "results.db"
    call = ("run", plan_file(folder, text), "--sim", drive, "--create", capacity)
    assert ioplan(*call, "--store", store, "--quiet").code == 0
    with Store.open(store) as found:
        *_, step, run = found.records(found.session("last").id)
    return step, run


def waf(run: RunRecord) -> float:
    assert run.wear
    assert run.wear.media_written_bytes
    return run.wear.media_written_bytes / run.wear.host_written_bytes


@pytest.mark.parametrize("spare", ["auto", "7%"])
def test_memory_in_place_is_steady_after_a_pass(tmp_path: Path, spare: str) -> None:
    in_place = "[flash]\nin_place = true\n"
    step, run = shaped(tmp_path, spare, 5, in_place)
    assert step.steady
    assert step.steady.reached, step.steady.why
    assert step.wear
    assert 0.9 < step.wear.host_written_bytes / (32 << 30) < 1.4  # in large windows
    assert waf(run) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("log", "why"),
    [
        ('step = "64MiB"', ""),  # 1.6 windows
        ('every = "2min"', "nothing was written"),
    ],
)
def test_a_coarse_log_is_enough(tmp_path: Path, log: str, why: str) -> None:
    step, _ = shaped(tmp_path, "28%", 28, f"[log]\n{log}\n", "4GiB")
    assert step.steady
    assert step.steady.reached == (not why)
    assert why in step.steady.why


@pytest.mark.slow
@pytest.mark.parametrize("real", SPARES)
@pytest.mark.long
def test_a_spare_is_found_and_the_state_is_steady(tmp_path: Path, real: int) -> None:
    """Of a small drive the windows are longer: erase blocks are a larger share of it."""
    (tmp_path / "right").mkdir()
    _, right = shaped(tmp_path / "right", f"{real}%", real)
    step, run = shaped(tmp_path, "auto", real, every="3%")
    assert step.steady
    assert step.steady.reached, step.steady.why
    assert waf(run) == pytest.approx(waf(right), rel=0.03)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("stated", "real"), [p for p in product(SPARES, SPARES) if p[0] != p[1]]
)
@pytest.mark.long
def test_a_wrong_spare_is_not_steady(tmp_path: Path, stated: int, real: int) -> None:
    step, _ = shaped(tmp_path, f"{stated}%", real)
    assert step.steady
    assert not step.steady.reached
    if (stated, real) == (7, 28):
        _, _, read = step.steady.why.rpartition("it reads as ")
        assert float(read.removesuffix(" %")) == pytest.approx(real, abs=3)
