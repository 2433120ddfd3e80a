"""A session in the terminal: tables, verdicts, charts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct
from rich.cells import cell_len, set_cell_size
from rich.console import Console, Group, RenderableType
from rich.text import Text

from ioplan.core.text import counted, line, printable
from ioplan.core.units import metric_text
from ioplan.language.plan import CheckedPlan
from ioplan.planner.places import NOT_MEASURED
from ioplan.records.current import current_records
from ioplan.records.record import RunRecord
from ioplan.records.session import Session
from ioplan.results.report.build import session_sections
from ioplan.results.report.charts.rows_over_time import is_over_time
from ioplan.results.report.charts.tables import axes_of, table_rows
from ioplan.results.report.documents import ChartSpec, Section
from ioplan.results.report.judgements import verdict_lines
from ioplan.results.report.point import Point
from ioplan.results.report.sentences import (
    found_at,
    prepare_line,
    steady_line,
    steady_verdict,
)
from ioplan.results.report.terminal.bars import bars
from ioplan.results.report.terminal.cards import print_cards, print_chips
from ioplan.results.report.terminal.density import density, sparkline
from ioplan.results.report.terminal.heatmap import (
    Colors,
    colors_of,
    grid_tables,
    grids_of,
)
from ioplan.results.report.terminal.parts import MOST_PARTS, Part, parts, phase_strips
from ioplan.results.report.terminal.plot import plots
from ioplan.results.report.terminal.tables import MOST_CELLS, run_table, steady_table
from ioplan.results.store.store import Store

# The pictures of a report in the terminal, each in as much room as there is.

# A figure of many drives over time in the terminal: a line for each.

SHADES = "░▒▓█"
LABEL = 20
FIGURE = 10


def strips(picture: ChartSpec, part: Part, width: int, colored: bool) -> Text:
    """Time across; the highest figure of each row at its end."""
    y, times = picture.frame.column("y"), picture.frame.column("x").order
    names = picture.frame.column("row").order
    label = min(LABEL, max(cell_len(printable(name)) for name in names))
    wide = max(1, (width - label - FIGURE - 1) // len(times))
    found: dict[str, dict[str, float]] = {}
    for row in part.rows:
        if isinstance(row["y"], (int, float)):
            found.setdefault(str(row["row"]), {})[str(row["x"])] = float(row["y"])
    colors = colors_of([value for row in found.values() for value in row.values()])
    lines = phase_strips(picture, label + 1, wide)
    for name in names:
        values = found.get(name, {})
        line = Text(set_cell_size(printable(name), label) + " ")
        for time in times:
            line.append_text(_sign(values.get(time), wide, colors, colored))
        most = metric_text(max(values.values()), y.unit) if values else "–"
        lines.append(line.append(most.rjust(FIGURE)))
    across = wide * len(times)
    last = times[-1] if len(times) > 1 else ""
    room = max(1, across - len(times[0]) - len(last))
    lines.append(Text(" " * (label + 1) + times[0] + " " * room + last))
    return Text("\n", no_wrap=True, overflow="ignore").join(lines)


def _sign(value: float | None, wide: int, colors: Colors, colored: bool) -> Text:
    if value is None:
        return Text(" " * wide)
    if colored:
        return Text(" " * wide, colors.of(value))
    return Text(SHADES[min(int(colors.share(value) * 4), 3)] * wide)


def drawn(picture: ChartSpec, console: Console) -> Iterator[RenderableType]:
    """A picture: its title, its parts, its notes."""
    yield Text()
    yield line(picture.title, style="bold")
    found = parts(picture)
    if not found:
        yield line("nothing to draw", style="dim")
    for part in found[:MOST_PARTS]:
        if part.name:
            yield line(part.name, style="italic")
        yield from _drawn(picture, part, console)
    if len(found) > MOST_PARTS:
        rest = counted(len(found) - MOST_PARTS, "part")
        yield line(f"… and {rest} more: ioplan report", style="dim")
    if picture.phases:
        names = picture.phases.column("phase").order
        yield line(f"phases: {', '.join(names)}", style="dim")
    for note in picture.notes:
        yield line(note, style="dim")


def _drawn(
    picture: ChartSpec, part: Part, console: Console
) -> Iterator[RenderableType]:
    """What has one place on its axis only takes a line, not a plot."""
    if is_over_time(picture):
        colored = bool(console.color_system) and not console.no_color
        yield strips(picture, part, console.width, colored)
    elif picture.marks.is_grid:
        yield from grid_tables(grids_of(picture, part), console)
    elif picture.kind == "latencies":
        colored = bool(console.color_system) and not console.no_color
        yield density(picture, part, console.width, colored)
    elif picture.kind == "bars" or len({row[picture.x] for row in part.rows}) < 2:
        yield bars(picture, part, console.width)
    else:
        colored = bool(console.color_system) and not console.no_color
        yield from plots(picture, part, console.width, colored)


STYLES = {
    "held": "green",
    "failed": "red",
    **dict.fromkeys(("undecided", "warning", NOT_MEASURED), "yellow"),
}


class _Test(Struct, frozen=True):
    """A section of the report, the records that it is of, and where it is shown."""

    section: Section
    records: list[RunRecord]
    store: Store
    console: Console

    @property
    def runs(self) -> list[RunRecord]:
        """Without what prepared them."""
        return [record for record in self.records if record.asked.kind == "run"]


def show_records(
    console: Console,
    store: Store,
    session: Session,
    records: Sequence[RunRecord],
    plan: CheckedPlan | None = None,
) -> None:
    """Print each test of one session with its table and its charts, then the headlines.

    Without its plan the axes decide on the charts, and what has not run is not known.
    Raises StoreError.
    """
    current = current_records(records)
    sections, screen = session_sections(store, session, current, plan, MOST_CELLS)
    for number, section in enumerate(sections):
        part = [r for r in current if r.asked.test == section.title]
        if number:
            console.print()
        console.rule(line(section.title, style="bold"), align="left", characters="─")
        console.print(Group(*_test(_Test(section, part, store, console))))
        for picture in section.pictures:
            console.print(Group(*drawn(picture, console)))
    if sections:
        console.print()
        console.rule(line("Headlines", style="bold"), align="left", characters="─")
        print_cards(console, screen.cards)
        print_chips(console, screen.chips)


def _test(test: _Test) -> Iterator[RenderableType]:
    for record in test.records:
        if record.asked.kind == "prepare":
            yield line(prepare_line(record), style="dim")
    if test.section.runs.rows:
        yield from _table(test)
    yield from (line(text, style="dim") for text in test.section.answers)
    yield from (line(found_at(run), style="dim") for run in test.runs if run.found)
    yield from _steady(test.runs)
    for remark in test.section.remarks:
        yield line(remark.text, style=STYLES.get(remark.outcome, ""))
    for outcome, text in verdict_lines(test.section.judgements):
        yield line(text, style=STYLES.get(outcome, ""))


def _table(test: _Test) -> Iterator[RenderableType]:
    """A row a cell, and what its signs mean."""
    found = test.section.points[:MOST_CELLS]
    sparks = [
        text
        for point in found
        for text in _sparks(_sparkline(point, test.store), point)
    ]
    yield run_table(test.section.runs, axes_of(found), sparks, test.console)
    yield from (line(text, style="dim") for text in _legend(test.section))


def _sparks(spark: str, point: Point) -> list[str]:
    """For each row of a point; only all of its I/O has been kept over time."""
    return [spark, *[""] * (len(table_rows(point)) - 1)]


def _sparkline(point: Point, store: Store) -> str:
    """The runs that count, one after the other."""
    details = (store.detail(run.session, run.seq) for run in point.counted)
    return sparkline([interval for detail in details for interval in detail.series])


def _legend(section: Section) -> Iterator[str]:
    if section.figures_of:
        yield section.figures_of
    yield from section.signs
    if (more := len(section.points) - MOST_CELLS) > 0:
        yield f"… and {counted(more, 'cell')} more: ioplan export"


def _steady(runs: list[RunRecord]) -> Iterator[RenderableType]:
    judged = [run for run in runs if run.steady]
    if judged:
        steady, rounds = judged[-1].steady, judged[-1].asked.round
        assert steady
        if rounds:
            yield steady_table(runs)
            yield line(steady_verdict(steady, rounds))
        else:
            yield line(steady_line(steady))
