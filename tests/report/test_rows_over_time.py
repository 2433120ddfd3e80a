"""A heat map of a hundred drives over time: each figure of all latencies of its time."""

from __future__ import annotations

from itertools import product

import pytest
from figures import counts, flat, latencies_ns, measured, progress, record, stream
from report_charts import charts, column, printed
from rich.text import Text
from sessions import put

from ioplan.language import Metric
from ioplan.results.measure import Histogram
from ioplan.results.report import ChartSpec, spec
from ioplan.results.store import Store

DRIVES, SECONDS = 100, 40
COLUMNS = 20
SLOW, STALLED = 37, 25
"""The drive that stalls, and in which second."""
STALL_NS = 10**9
P99 = Metric(name="p99", stream="reader")
FIGURE, USUAL_ROW = 10, 34
"""Columns for the figure in a terminal, and the height of a row of few on the page."""


def reads(drive: int, second: int) -> list[int]:
    found = latencies_ns(SECONDS * drive + second, 30)
    return found + [STALL_NS] * 5 * ((drive, second) == (SLOW, STALLED))


def put_hundred(store: Store) -> dict[str, str]:
    """A run of each drive; their sessions by the drives' names."""
    found = {}
    for drive in range(DRIVES):
        parts = (
            progress(second + 1, stream("reader", read=counts(reads(drive, second))))
            for second in range(SECONDS)
        )
        one = (record(1), measured(*parts).detail)
        found[f"Drive {drive:03}"] = put(store, one, id=f"20270101-{drive:06}-aaaa")
    return found


@pytest.mark.long
def test_each_figure_is_of_all_latencies_of_its_time(store: Store) -> None:
    (found,) = charts(store, "heatmap", P99, by="time", of=put_hundred(store))
    assert found.frame.column("row").order == tuple(
        f"Drive {drive:03}" for drive in range(DRIVES)
    )
    times = found.frame.column("x").order
    assert len(times) == COLUMNS and times[1] == "2.00 s"
    values = column(found, "y")
    assert len(values) == DRIVES * len(times)
    for drive in (0, SLOW, 99):
        for at in (0, STALLED // 2, 19):
            some = flat([reads(drive, 2 * at), reads(drive, 2 * at + 1)])
            expected = min(Histogram.of_values(some).percentile_ns(99), max(some))
            assert values[drive * len(times) + at] == expected
    slow = [at for at, value in enumerate(values) if value > STALL_NS / 2]
    assert slow == [SLOW * len(times) + STALLED // 2]

    _is_drawn_on_the_page(found)
    for width, colors in product((60, 80, 200), (None, "truecolor")):
        _is_drawn_in_the_terminal(found, width, colors)


def _is_drawn_on_the_page(found: ChartSpec) -> None:
    """A low row for each."""
    made = spec(found)
    assert made
    assert made["height"] < USUAL_ROW * DRIVES / 2
    assert made["encoding"]["y"]["scale"]["domain"][0] == "Drive 099"
    assert made["encoding"]["x"]["axis"]["labelOverlap"] == "greedy"


def _is_drawn_in_the_terminal(found: ChartSpec, width: int, colors: str | None) -> None:
    """A line for each."""
    rows = Text.from_ansi(printed(found, width, colors)).plain.splitlines()
    assert max(map(len, rows)) <= width
    lines = [row for row in rows if row.startswith("Drive ")]
    assert len(lines) == DRIVES
    assert lines[SLOW].endswith(" s") and not lines[SLOW - 1].endswith(" s")
    if not colors:
        assert [line for line in lines if "█" in line] == [lines[SLOW]]
        at, label = lines[SLOW].index("█"), len("Drive 000 ")
        wide = (width - label - FIGURE) // COLUMNS
        assert (at - label) // wide == STALLED // 2
        assert lines[SLOW].count("█") == wide


def test_each_metric_has_a_picture_and_each_axis_a_name(store: Store) -> None:
    for seq in (1, 2):
        made = measured(progress(1, stream("reader", read=counts([7] * 30))))
        store.add(record(seq), made.detail)
    found = charts(store, "heatmap", P99, "read.iops", by="time")
    assert [one.title for one in found] == [
        "p99 latency of reader over time",
        "Read IOPS over time",
    ]
    assert column(found[0], "y") == [7, 7] and column(found[1], "y") == [30, 30]
    assert found[0].frame.column("row").order == ("qd 2", "qd 4")
