"""A session in the terminal: its charts or its tables, then its headlines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from rich.console import Console, Group, RenderableType
from rich.text import Text as RichText

from ioplan.core.text import counted, line
from ioplan.language.plan import CheckedPlan
from ioplan.records.record import RunRecord
from ioplan.records.session import Session
from ioplan.results.report.blocks import Table, Text
from ioplan.results.report.build import session_sections
from ioplan.results.report.charts.cells_over_time import is_over_time
from ioplan.results.report.charts.tables import axes_of, table_rows
from ioplan.results.report.documents import ChartSpec
from ioplan.results.report.remarks import WARNINGS
from ioplan.results.report.section import Section
from ioplan.results.report.sentences import (
    found_at,
    steady_line,
    steady_verdict,
)
from ioplan.results.report.terminal.bars import (
    MOST_LINES,
    chart_bars,
    print_headlines,
    print_known,
)
from ioplan.results.report.terminal.grids import density, grid_tables, strips
from ioplan.results.report.terminal.parts import MOST_PARTS, Part, parts
from ioplan.results.report.terminal.plot import HEIGHT, plots
from ioplan.results.report.terminal.sparkline import sparkline
from ioplan.results.report.terminal.tables import MOST_CELLS, run_table, steady_table
from ioplan.results.report.writers import terminal, title_line
from ioplan.results.store.store import Store

MOST_CHARTS = 2
LOW = 11
"""Lines of a chart above the headlines, so that two have a screen with them."""


def show_records(
    console: Console,
    store: Store,
    session: Session,
    records: Sequence[RunRecord],
    plan: CheckedPlan | None = None,
    tables: bool = False,
    most_charts: int = MOST_CHARTS,
) -> None:
    """Print the first chart of the first tests, then the headlines of all.

    With `tables`, print instead each test with its table and all its charts. Without
    its plan the axes decide on the charts, and what has not run is not known. Raises
    StoreError.
    """
    sections, screen = session_sections(store, session, records, plan)
    for section in sections if tables else ():
        parts = _test(console, store, section)
        console.print(Group(title_line(section.title), *parts, RichText()))
    firsts = ((own, _first_drawn(own)) for own in sections if not tables)
    pictured = ((section, chart) for section, chart in firsts if chart)
    for section, chart in islice(pictured, most_charts):
        title = f"{section.title}: "
        console.print(Group(*drawn(chart, console, title, LOW)))
    if sections:
        console.print(*[""] * (not tables))
        badge = f", {screen.badge}" if screen.badge else ""
        console.print(title_line(f"Headlines{badge}"))
        titles = {section.id: section.title for section in sections}
        print_headlines(console, screen.cards, titles)
        console.print()
    print_known(console, screen, None if tables else MOST_LINES)


def _first_drawn(section: Section) -> ChartSpec | None:
    """The first chart that has anything to draw."""
    return next((chart for chart in section.drawings() if chart.frame.rows), None)


def _test(console: Console, store: Store, section: Section) -> Iterator[RenderableType]:
    """Its preparations, table, verdicts, and charts."""
    runs = [run for point in section.points for run in point.runs]
    runs.sort(key=lambda run: run.seq)
    yield from terminal(Text(text, "soft") for text in section.preparations)
    legend = []
    if section.runs.rows:
        yield _run_table(console, store, section)
        legend = [section.figures_of, *section.signs]
        if (more := len(section.points) - MOST_CELLS) > 0:
            legend.append(f"… and {counted(more, 'cell')} more: ioplan export")
    notes = (*legend, *section.answers, *(found_at(run) for run in runs if run.found))
    yield from terminal(Text(text, "soft") for text in notes if text)
    yield from terminal(_steady(runs))
    remarks = [own for own in section.remarks if not own.text.startswith(WARNINGS)]
    yield from terminal((*remarks, *section.judged))  # warnings stand below all tests
    for chart in section.pictures:
        yield from drawn(chart, console)


def _run_table(console: Console, store: Store, section: Section) -> RenderableType:
    """A row a cell, with the IOPS of its runs over time."""
    points, sparks = section.points[:MOST_CELLS], []
    for point in points:  # in the first of its rows: the runs that count, in order
        details = (store.detail(run.session, run.seq, False) for run in point.counted)
        intervals = [interval for detail in details for interval in detail.series]
        sparks += [sparkline(intervals), *[""] * (len(table_rows(point)) - 1)]
    return run_table(section.runs, axes_of(points), sparks, console)


def _steady(runs: Sequence[RunRecord]) -> Iterator[Text | Table]:
    judged = [(run.steady, run.asked.round) for run in runs if run.steady]
    for steady, rounds in judged[-1:]:
        if rounds:
            yield steady_table(runs)
        yield Text(steady_verdict(steady, rounds) if rounds else steady_line(steady))


def drawn(
    chart: ChartSpec, console: Console, title: str = "", height: int = HEIGHT
) -> Iterator[RenderableType]:
    """A chart: its title, its parts, its notes."""
    yield RichText()
    yield line(f"{title}{chart.title}", "bold")
    every = parts(chart)
    notes = [*["nothing to draw"] * (not every), *chart.notes]
    for part in every[:MOST_PARTS]:
        if part.name:
            yield line(part.name, "italic")
        yield from _drawn(chart, part, console, height)
    if chart.phases:
        names = chart.phases.column("phase").order
        notes.insert(0, f"phases: {', '.join(names)}")
    if len(every) > MOST_PARTS:
        more = counted(len(every) - MOST_PARTS, "part")
        notes.insert(0, f"… and {more} more: ioplan report")
    yield from (line(note, "dim") for note in notes)


def _drawn(
    chart: ChartSpec, part: Part, console: Console, height: int
) -> Iterator[RenderableType]:
    """A chart with one place on its axis takes a line, not a plot."""
    colored = bool(console.color_system) and not console.no_color
    if is_over_time(chart):
        yield from strips(chart, part, console.width, colored)
    elif chart.marks.is_grid:
        yield from grid_tables(chart, part, console)
    elif chart.kind == "latencies":
        yield from density(chart, part, console.width, colored)
    elif chart.kind == "bars" or len({row[chart.x] for row in part.rows}) < 2:
        yield from chart_bars(chart, part, console.width)
    else:
        yield from plots(chart, part, console.width, colored, height)
