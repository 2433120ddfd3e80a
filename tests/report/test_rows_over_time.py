"""A heat map of a hundred drives over time: each figure of all latencies of its time."""

from __future__ import annotations

from io import StringIO
from itertools import product

import pytest
from msgspec.structs import replace
from report_charts import ID, column
from rich.console import Console
from run_data import counts, flat, latencies_ns, progress, record, session, stream

from ioplan.language import Metric
from ioplan.results.measure import Histogram, Measurement
from ioplan.results.report import (
    ChartSpec,
    Point,
    Reader,
    Request,
    chart,
    drawn,
    points,
    renderer,
    spec,
)
from ioplan.results.report.charts.rows_over_time import MOST_COLUMNS, is_over_time
from ioplan.results.report.html.spec import ROW_HEIGHT
from ioplan.results.report.terminal.show import FIGURE
from ioplan.results.store import Store

DRIVES, SECONDS = 100, 40
COLUMNS = 20
SLOW, STALLED = 37, 25
"""The drive that stalls, and in which second."""
STALL_NS = 10**9
P99 = Metric(name="p99", stream="reader")


def reads(drive: int, second: int) -> list[int]:
    found = latencies_ns(SECONDS * drive + second, 30)
    return found + [STALL_NS] * 5 * ((drive, second) == (SLOW, STALLED))


@pytest.fixture
def hundred(store: Store) -> Store:
    """A store with a run of each drive."""
    for drive in range(DRIVES):
        id = f"20270101-{drive:06}-aaaa"
        store.begin(session(id=id))
        made = Measurement()
        for second in range(SECONDS):
            part = stream("reader", read=counts(reads(drive, second)))
            made.add(progress(second + 1, part))
        store.add(record(1, session=id), made.detail)
    return store


def drawn_rows(store: Store, runs: list[Point], *metrics: Metric) -> list[ChartSpec]:
    asked = replace(chart("heatmap", (), ("time",)), metrics=metrics)
    return list(renderer(asked)(Request(asked, runs, Reader(store))))


@pytest.mark.long
def test_each_figure_is_of_all_latencies_of_its_time(hundred: Store) -> None:
    sessions = {f"Drive {n:03}": f"20270101-{n:06}-aaaa" for n in range(DRIVES)}
    runs = points({name: list(hundred.records(id)) for name, id in sessions.items()})
    (found,) = drawn_rows(hundred, runs, P99)
    assert is_over_time(found)
    assert found.frame.column("row").order == tuple(
        f"Drive {drive:03}" for drive in range(DRIVES)
    )
    times = found.frame.column("x").order
    assert len(times) == COLUMNS <= MOST_COLUMNS and times[1] == "2.00 s"
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
    for width, colored in product((60, 80, 200), (False, True)):
        _is_drawn_in_the_terminal(found, width, colored)


def _is_drawn_on_the_page(found: ChartSpec) -> None:
    """A low row for each."""
    made = spec(found)
    assert made
    assert made["height"] < ROW_HEIGHT * DRIVES / 2
    assert made["encoding"]["y"]["scale"]["domain"][0] == "Drive 099"
    assert made["encoding"]["x"]["axis"]["labelOverlap"] == "greedy"


def _is_drawn_in_the_terminal(found: ChartSpec, width: int, colored: bool) -> None:
    """A line for each."""
    console = Console(
        width=width,
        record=True,
        file=StringIO(),
        color_system="truecolor" if colored else None,
        force_terminal=colored,
    )
    for one in drawn(found, console):
        console.print(one)
    rows = console.export_text(clear=False).splitlines()
    assert max(map(len, rows)) <= width
    lines = [row for row in rows if row.startswith("Drive ")]
    assert len(lines) == DRIVES
    assert lines[SLOW].endswith(" s") and not lines[SLOW - 1].endswith(" s")
    if not colored:
        assert [line for line in lines if "█" in line] == [lines[SLOW]]
        at, label = lines[SLOW].index("█"), len("Drive 000 ")
        wide = (width - label - FIGURE) // COLUMNS
        assert (at - label) // wide == STALLED // 2
        assert lines[SLOW].count("█") == wide


def test_each_metric_has_a_picture_and_each_axis_a_name(store: Store) -> None:
    for seq in (1, 2):
        made = Measurement()
        made.add(progress(1, stream("reader", read=counts([7] * 30))))
        store.add(record(seq), made.detail)
    runs = points({"A": list(store.records(ID))})
    found = drawn_rows(store, runs, P99, Metric(name="iops", direction="read"))
    assert [one.title for one in found] == [
        "p99 latency of reader over time",
        "Read IOPS over time",
    ]
    assert column(found[0], "y") == [7, 7] and column(found[1], "y") == [30, 30]
    assert found[0].frame.column("row").order == ("qd 2", "qd 4")
