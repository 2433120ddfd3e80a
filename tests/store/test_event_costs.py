"""What an event cost is the same in an export and in a verdict."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import pytest
from figures import interval, record
from plans import checked
from sessions import put

from ioplan.records import EventMade, RunDetail, RunRecord, Verdict
from ioplan.results import export
from ioplan.results.measure import Sample
from ioplan.results.store import Store
from ioplan.runner import judge

PLAN = """test "demo" {
  run random 4KiB 100/0, qd 4 for 30s, event "down" at 10s
  expect recovery of p99 to 120% < 4s
  expect lost_work < 1
  chart table recovery of iops to 30%, recovery of mean to 400% for 8s
  headline recovery of iops to 90%
}
"""


def of_event(slow_until_s: int, seq: int = 1) -> tuple[RunRecord, RunDetail]:
    """1,000 IOPS at 1 ms; from the event at 10 s on 400 at 5 ms, for that long."""
    made = EventMade(
        name="down", start_s=10.0, end_s=10.1, host="", exit_code=0, output=""
    )
    slow = range(11, slow_until_s + 1)
    series = [
        interval(n, 400 if n in slow else 1000, 1.0, "read", 5e6 if n in slow else 1e6)
        for n in range(1, 31)
    ]
    return record(seq, events=(made,), cell={}), RunDetail(series=series)


def exported(folder: Path, *made: tuple[RunRecord, RunDetail]) -> list[dict[str, Any]]:
    out = io.BytesIO()
    with Store.open(folder / "results.db") as store:
        put(store, *made)
        export(store, "last", "csv", out, plan=checked(PLAN))
    rows = csv.DictReader(io.StringIO(out.getvalue().decode(), newline=""))
    return [row for row in rows if row["scope"] == "total"]


def judged(made: tuple[RunRecord, RunDetail]) -> list[Verdict]:
    (test,) = checked(PLAN).tests
    sample = Sample(*made)
    return [judge(one, [sample]) for one in test.expectations]


@pytest.mark.parametrize("slow_s", [3, 6])
def test_the_verdict_and_the_export_have_the_same_figure(
    slow_s: int, tmp_path: Path
) -> None:
    made = of_event(10 + slow_s)
    (row,) = exported(tmp_path, made)
    recovered, lost = judged(made)
    assert float(row["recovery_ns"]) == recovered.actual == slow_s * 1e9
    assert float(row["recovery_of_iops_to_30_ns"]) == 0
    assert float(row["recovery_of_mean_to_400_for_8s_ns"]) == slow_s * 1e9
    assert float(row["recovery_of_iops_to_90_ns"]) == slow_s * 1e9
    assert float(row["lost_work_ios"]) == lost.actual == slow_s * 600
    assert recovered.outcome == ("held" if slow_s < 4 else "failed")


def test_what_did_not_recover_has_no_figure(tmp_path: Path) -> None:
    """It failed: the recovery took longer than was waited for."""
    never, without = of_event(30), of_event(10, seq=2)
    without = (without[0].model_copy(update={"events": ()}), without[1])
    rows = exported(tmp_path, never, without)
    assert [row["recovery_ns"] for row in rows] == ["", ""]
    assert [row["lost_work_ios"] for row in rows] == ["12000.0", ""]
    recovered, _ = judged(never)
    assert (recovered.outcome, recovered.actual) == ("failed", None)
