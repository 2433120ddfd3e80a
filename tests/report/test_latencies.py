"""The heat map of latencies over time: every I/O has its place, at any width."""

from __future__ import annotations

from pathlib import Path

import pytest
from command import ioplan, plan_file
from figures import (
    counts,
    flat,
    interval,
    latencies_ns,
    measured,
    progress,
    record,
    stream,
)
from report_charts import charts, column, printed

from ioplan.language import Metric
from ioplan.records import RunDetail
from ioplan.results.measure import Histogram
from ioplan.results.report import ChartSpec, spec
from ioplan.results.store import Store

LATENCY = "latency"
MOST_COLUMNS, MOST_ROWS = 120, 48
STALL_NS = 10**9
PLAN = """
workload mixed {{
  reader = random 8KiB 100/0, qd 4
  writer = random 8KiB 0/100, qd 4
}}
test "Mixed" {{
  run mixed for 5s
  {}
}}
"""


def picture(store: Store, *metrics: Metric) -> ChartSpec:
    (found,) = charts(store, "heatmap", *metrics, by="time")
    return found


def latency(stream: str | None = None) -> Metric:
    return Metric(name=LATENCY, stream=stream)


def put(store: Store, seconds: int, stalled: int) -> list[list[int]]:
    """A run of two streams, of which one stalls in one second."""
    reads = [latencies_ns(second, 50) for second in range(seconds)]
    reads[stalled] += [STALL_NS] * 5
    other = stream("b", write=counts([77] * 3))
    parts = (stream("a", read=counts(some)) for some in reads)
    made = measured(*(progress(n, part, other) for n, part in enumerate(parts, 1)))
    store.add(record(1), made.detail)
    return reads


@pytest.mark.parametrize("seconds", [1, 30, 250])
def test_every_io_has_its_place(store: Store, seconds: int) -> None:
    reads = put(store, seconds, seconds // 2)
    found = picture(store, latency("a"))
    assert sum(column(found, "count")) == len(flat(reads))
    assert len(set(column(found, "x"))) <= MOST_COLUMNS
    assert len(set(column(found, "y"))) <= MOST_ROWS
    cells = list(found.frame.records())
    for cell in cells[:: max(1, len(cells) // 50)]:
        first, last = round(float(cell["x"] or 0)), round(float(cell["x2"] or 0))
        low, high = float(cell["y"] or 0), float(cell["y2"] or 0)
        among = flat(reads[first:last])
        assert cell["count"] == sum(1 for one in among if low <= one < high)
    slow = [cell for cell in cells if float(cell["y2"] or 0) > STALL_NS]
    assert {cell["count"] for cell in slow} == {5} and len(slow) == 1
    assert float(slow[0]["x"] or 0) <= seconds // 2 < float(slow[0]["x2"] or 0)


def test_the_lines_are_percentiles_of_all_latencies(store: Store) -> None:
    reads = put(store, 300, 7)
    overlay = picture(store, latency("a")).overlay
    assert overlay
    for row in overlay.records():
        first, last = round(float(row["x"] or 0)), round(float(row["x2"] or 0))
        whole = Histogram.of_values(flat(reads[first:last]))
        assert [row["p50"], row["p99"]] == whole.percentiles_ns((50, 99))


def test_a_panel_for_each_stream(store: Store) -> None:
    put(store, 5, 2)
    found = picture(store, latency("a"), latency("b"), latency())
    key = found.channels.panel
    assert found.frame.column(key).order == ("a.latency", "b.latency", "latency")
    made = spec(found)
    assert made and made["usermeta"]["choices"]["color"]["log"]["field"] == "count"


@pytest.mark.parametrize("width", [60, 80, 200])
def test_it_is_drawn_in_the_terminal(store: Store, width: int) -> None:
    put(store, 300, 150)
    rows = printed(picture(store, latency("a"), latency("b")), width).splitlines()
    top = next(row for row in rows if "│" in row and row.strip("│ \n"))
    plotted = top.partition("│")[2]
    at = next(place for place, sign in enumerate(plotted) if sign != " ")
    across = max(len(row.partition("└")[2]) for row in rows)
    assert at / across == pytest.approx(0.5, abs=0.03)


def test_runs_without_counts_have_none(store: Store) -> None:
    store.add(record(1), RunDetail(series=(interval(1, 5), interval(2, 5))))
    found = picture(store, latency())
    assert not found.frame.rows
    assert found.notes == ("no run has counts of its intervals",)


@pytest.mark.long
def test_it_is_drawn_from_a_plan(tmp_path: Path, store_path: Path) -> None:
    line = "chart heatmap reader.latency over time"
    plan = plan_file(tmp_path, PLAN.format(line))
    done = ioplan("run", plan, "--backend", "sim", "--create", "64MiB")
    assert done.code == 0, done.err
    assert "reader.latency over time" in done.out
    assert "lines: p50" in done.out
    page = tmp_path / "report.html"
    assert ioplan("report", "last", "-o", page).code == 0
    assert 'data-kind="latencies"' in page.read_text()
