"""`skip when predicted`: what is left out, measured as a check, and told of it."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from command import ioplan, plan_file
from paths import ROOT

from ioplan.records.record import RunRecord
from ioplan.results.store.store import Store

pytestmark = pytest.mark.slow

DRIVE = ROOT / "examples/sim/datacentre.toml"
SWEEP = """plan "P"
test "Sweep" {{
  run random 4KiB 100/0 for 4s
  vary qd in 1..256 doubling
  vary size in 4KiB..1MiB doubling
  {0}
  chart heatmap iops by qd, size
}}
"""
SKIP = "skip when predicted within 5%"


Skipped = tuple[Path, list[RunRecord], list[str]]
"""The store, its runs, and what it noted of predictions."""


def measured(folder: Path, *clauses: str) -> Skipped:
    plan = plan_file(folder, SWEEP.format("\n  ".join(clauses)))
    store = folder / "results.db"
    options = ("--create", "8GiB", "--store", store, "--quiet")
    assert ioplan("run", plan, "--sim", DRIVE, *options).code == 0
    with Store.open(store) as found:
        session = found.session("last")
        notes = [e.text for e in found.events(session.id) if e.kind == "predicted"]
        return store, list(found.records(session.id)), notes


@pytest.fixture(scope="module")
def skipped(tmp_path_factory: pytest.TempPathFactory) -> Skipped:
    """The sweep with cells left out, for all tests that only look at it."""
    return measured(tmp_path_factory.mktemp("skipped"), SKIP)


def by_cell(records: list[RunRecord]) -> dict[tuple[str, ...], RunRecord]:
    return {tuple(one.asked.cell.values()): one for one in records}


@pytest.mark.long
def test_cells_are_left_out_and_told_as_predicted(skipped: Skipped) -> None:
    store, records, (note,) = skipped
    left_out = [one for one in records if one.predicted]
    assert len(by_cell(records)) == len(records) == 81
    assert len(left_out) > 8
    assert f"{len(left_out)} " not in note or "are left out" in note
    assert {one.asked.kind for one in left_out} == {"predicted"}
    assert {(one.total.ios, one.run_s, one.verdicts) for one in left_out} == {
        (0, 0, ())
    }
    shown = ioplan("show", "last", "--store", store).out
    assert "~ predicted by the cells beside it, not measured" in shown
    rows = csv.DictReader(
        io.StringIO(ioplan("export", "last", "--format", "csv", "--store", store).out)
    )
    told = [row for row in rows if row["kind"] == "predicted"]
    assert len(told) == len(left_out)
    assert all(row["predicted_value"] and not row["iops"] for row in told)


@pytest.mark.long
def test_predictions_are_what_would_have_been_measured(
    skipped: Skipped, tmp_path: Path
) -> None:
    _, all_of_them, _ = measured(tmp_path)
    truth = by_cell(all_of_them)
    _, records, _ = skipped
    left_out = {cell: one.predicted for cell, one in by_cell(records).items()}
    off = [
        abs(told.value / truth[cell].total.iops - 1)
        for cell, told in left_out.items()
        if told
    ]
    assert sum(one > 0.05 for one in off) <= 0.05 * len(off)


@pytest.mark.long
def test_what_is_judged_is_measured(tmp_path: Path) -> None:
    _, records, _ = measured(tmp_path, SKIP, "expect iops > 1 iops when size == 256KiB")
    judged = [one for one in records if one.asked.cell["size"] == "256KiB"]
    assert len(judged) == 9
    assert all(one.verdicts and not one.predicted for one in judged)


@pytest.mark.long
def test_a_limit_that_nothing_meets_leaves_nothing_out(tmp_path: Path) -> None:
    _, records, (note,) = measured(tmp_path, "skip when predicted within 0.01%")
    assert note.endswith("which is too few: all are measured")
    assert len(records) == 81
    assert not any(one.predicted for one in records)


def test_resume_measures_nothing_again(skipped: Skipped) -> None:
    store, records, _ = skipped
    runs = sum(not one.predicted for one in records)
    assert ioplan("resume", "last", "--store", store, "--quiet").code == 0
    with Store.open(store) as found:
        again = list(found.records(found.session("last").id))
    assert sum(not one.predicted for one in again) == runs
