"""Limits of expectations in charts, and the points that do not meet them."""

from __future__ import annotations

from typing import Any

import pytest
from figures import run
from report_charts import charts

from ioplan.records import Verdict
from ioplan.results.report import ChartSpec, modes
from ioplan.results.store import Store


def verdict(limit: float, outcome: Any = "held", text: str = "iops > 100") -> Verdict:
    line = f"expect {text}"
    return Verdict(expectation=line, outcome=outcome, actual=1, limit=limit, unit="1/s")


def sweep(
    store: Store, *verdicts: tuple[Verdict, ...], kind: str = "lines"
) -> ChartSpec:
    for seq, found in enumerate(verdicts, start=1):
        store.add(*run(seq, cell={"qd": str(seq)}, verdicts=found))
    (found,) = charts(store, kind, "iops", by="qd")
    return found


@pytest.mark.parametrize(("kind", "second"), [("lines", 2.0), ("bars", "2")])
def test_a_limit_of_all_cells_goes_across_one_of_some_stands_there(
    store: Store, kind: str, second: Any
) -> None:
    """Of the three cells all have one limit, the second another one, too."""
    every, some = verdict(250), verdict(200, text="iops > 200 when qd == 2")
    found = sweep(store, (every,), (every, some), (every,), kind=kind)
    assert found.limits
    assert set(found.limits.rows) == {
        (None, 250, "iops > 100"),
        (second, 200, "iops > 200 when qd == 2"),
    }


def test_a_point_tells_which_expectation_it_does_not_meet(store: Store) -> None:
    failed = verdict(400, "failed")
    found = sweep(store, (verdict(250),), (failed,))
    rows = [row["judged"] for row in found.frame.records()]
    assert rows == ["", "failed: expect iops > 100"]
    layers = modes(found)["together"]["spec"]["layer"]
    marked = [{"filter": "datum.judged && !datum.role"}]
    assert len([one for one in layers if one.get("transform") == marked]) == 1


def test_nothing_is_told_of_what_was_met_or_is_of_another_figure(store: Store) -> None:
    other = verdict(1, "failed", "mean < 1ns")
    found = sweep(store, (verdict(250),), (other,))
    assert "judged" not in [one.key for one in found.frame.columns]
    assert found.limits and len(found.limits.rows) == 1


def test_a_limit_far_away_is_a_note(store: Store) -> None:
    found = sweep(store, (verdict(9_000_000),), (verdict(9_000_000),))
    assert found.limits is None
    assert "limit beyond the chart: expect iops > 100 (9.00M)" in found.notes


def test_a_heatmap_frames_the_cell(store: Store) -> None:
    for seq, size in enumerate(("4KiB", "8KiB"), start=1):
        cell = {"qd": "1", "size": size}
        some = (verdict(1, "failed"),) if seq == 2 else ()
        store.add(*run(seq, cell=cell, verdicts=some))
    (found,) = charts(store, "heatmap", "iops", by="qd size")
    assert [row["judged"] != "" for row in found.frame.records()] == [False, True]
    layers = modes(found)["together"]["spec"]["layer"]
    assert [one["mark"]["type"] for one in layers].count("rect") == 2
