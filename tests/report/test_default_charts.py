"""What is drawn of a matrix where the plan names no chart."""

from __future__ import annotations

import pytest
from run_data import record

from ioplan.results.report import Point, points
from ioplan.results.report.charts.defaults import suggested


def matrix(reads: int, qds: int) -> list[Point]:
    cells = [
        {"read": f"{r}%", "qd": str(2**q)} for r in range(reads) for q in range(qds)
    ]
    one = record(1)
    runs = [
        one.model_copy(
            update={"seq": n, "asked": one.asked.model_copy(update={"cell": cell})}
        )
        for n, cell in enumerate(cells, start=1)
    ]
    return points({"A": runs})


@pytest.mark.parametrize(
    ("reads", "qds", "kind"),
    [(5, 7, "lines"), (8, 7, "heatmap"), (3, 20, "lines"), (20, 3, "lines")],
)
def test_a_wide_matrix_is_a_heatmap(reads: int, qds: int, kind: str) -> None:
    found = suggested(matrix(reads, qds))
    assert [one.kind for one in found] == [kind, kind]
    assert {name for one in found for name in (*one.by, *one.per)} == {"qd", "read"}
