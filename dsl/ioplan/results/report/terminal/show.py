"""A session in the terminal: its charts or its tables, then its headlines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console, Group, RenderableType
from rich.text import Text

from ioplan.core.text import counted, line
from ioplan.language.plan import CheckedPlan
from ioplan.planner.places import NOT_MEASURED
from ioplan.records.current import current_records
from ioplan.records.record import RunRecord
from ioplan.records.session import Session
from ioplan.results.report.build import session_sections
from ioplan.results.report.charts.rows_over_time import is_over_time
from ioplan.results.report.charts.tables import axes_of, table_rows
from ioplan.results.report.documents import ChartSpec, Judged, Section
from ioplan.results.report.judgements import verdict_lines
from ioplan.results.report.sentences import (
    found_at,
    prepare_line,
    steady_line,
    steady_verdict,
)
from ioplan.results.report.terminal.bars import chart_bars
from ioplan.results.report.terminal.cards import (
    MOST_LINES,
    print_headlines,
    print_known,
)
from ioplan.results.report.terminal.grids import density, grid_tables, strips
from ioplan.results.report.terminal.parts import MOST_PARTS, Part, parts
from ioplan.results.report.terminal.plot import HEIGHT, plots
from ioplan.results.report.terminal.sparkline import sparkline
from ioplan.results.report.terminal.tables import MOST_CELLS, run_table, steady_table
from ioplan.results.report.writers import terminal
from ioplan.results.store.store import Store

STYLES = {
    "held": "green",
    "failed": "red",
    **dict.fromkeys(("undecided", "warning", NOT_MEASURED), "yellow"),
}
ONCE = ("warning", "done instead")
"""How remarks begin that stand once below all tests."""
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
    current = current_records(records)
    most = (MOST_CELLS, None) if tables else (0, min(1, most_charts))
    sections, screen = session_sections(store, session, current, plan, *most)
    if tables:
        for number, section in enumerate(sections):
            if number:
                console.print()
            runs = [r for r in current if r.asked.test == section.title]
            _print_test(console, store, section, runs)
    else:
        for section in [one for one in sections if one.pictures][:most_charts]:
            first = section.pictures[0]
            console.print(Group(*drawn(first, console, f"{section.title}: ", LOW)))
    if sections:
        console.print()
        _print_title(console, f"Headlines{screen.badge and f', {screen.badge}'}")
        titles = {section.id: section.title for section in sections}
        print_headlines(console, screen.cards, titles)
        console.print()
    print_known(console, screen, sections, current, None if tables else MOST_LINES)


def _print_title(console: Console, title: str) -> None:
    console.rule(line(title, style="bold"), align="left", characters="─")


def _print_test(
    console: Console, store: Store, section: Section, records: Sequence[RunRecord]
) -> None:
    """Its preparations, table, verdicts, and charts."""
    _print_title(console, section.title)
    for record in records:
        if record.asked.kind == "prepare":
            console.print(line(prepare_line(record), style="dim"))
    if section.runs.rows:
        _print_runs(console, store, section)
    runs = [record for record in records if record.asked.kind == "run"]
    for text in (*section.answers, *(found_at(run) for run in runs if run.found)):
        console.print(line(text, style="dim"))
    _print_steady(console, runs)
    remarks = [one for one in section.remarks if not one.text.startswith(ONCE)]
    verdicts = [Judged(*pair) for pair in verdict_lines(section.judgements)]
    for remark in (*remarks, *verdicts):
        console.print(line(remark.text, style=STYLES.get(remark.outcome, "")))
    for chart in section.pictures:
        console.print(Group(*drawn(chart, console)))


def _print_runs(console: Console, store: Store, section: Section) -> None:
    """A row a cell, and what its signs mean."""
    points, sparks = section.points[:MOST_CELLS], []
    for point in points:  # in the first of its rows: the runs that count, in order
        details = (store.detail(run.session, run.seq) for run in point.counted)
        intervals = [one for detail in details for one in detail.series]
        sparks += [sparkline(intervals), *[""] * (len(table_rows(point)) - 1)]
    console.print(run_table(section.runs, axes_of(points), sparks, console))
    legend = [section.figures_of, *section.signs]
    if (more := len(section.points) - MOST_CELLS) > 0:
        legend.append(f"… and {counted(more, 'cell')} more: ioplan export")
    for text in filter(None, legend):
        console.print(line(text, style="dim"))


def _print_steady(console: Console, runs: Sequence[RunRecord]) -> None:
    judged = [run for run in runs if run.steady]
    if not judged:
        return
    steady, rounds = judged[-1].steady, judged[-1].asked.round
    assert steady
    if rounds:
        console.print(*terminal([steady_table(runs)]))
    console.print(
        line(steady_verdict(steady, rounds) if rounds else steady_line(steady))
    )


def drawn(
    chart: ChartSpec, console: Console, title: str = "", height: int = HEIGHT
) -> Iterator[RenderableType]:
    """A chart: its title, its parts, its notes."""
    yield Text()
    yield line(f"{title}{chart.title}", style="bold")
    every = parts(chart)
    if not every:
        yield line("nothing to draw", style="dim")
    for part in every[:MOST_PARTS]:
        if part.name:
            yield line(part.name, style="italic")
        yield from _drawn(chart, part, console, height)
    if len(every) > MOST_PARTS:
        more = counted(len(every) - MOST_PARTS, "part")
        yield line(f"… and {more} more: ioplan report", style="dim")
    if chart.phases:
        names = chart.phases.column("phase").order
        yield line(f"phases: {', '.join(names)}", style="dim")
    for note in chart.notes:
        yield line(note, style="dim")


def _drawn(
    chart: ChartSpec, part: Part, console: Console, height: int
) -> Iterator[RenderableType]:
    """A chart with one place on its axis takes a line, not a plot."""
    colored = bool(console.color_system) and not console.no_color
    if is_over_time(chart):
        yield strips(chart, part, console.width, colored)
    elif chart.marks.is_grid:
        yield from grid_tables(chart, part, console)
    elif chart.kind == "latencies":
        yield density(chart, part, console.width, colored)
    elif chart.kind == "bars" or len({row[chart.x] for row in part.rows}) < 2:
        yield Text("\n").join(chart_bars(chart, part, console.width))
    else:
        yield from plots(chart, part, console.width, colored, height)
