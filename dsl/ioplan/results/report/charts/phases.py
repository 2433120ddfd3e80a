"""The phases of runs as bands of charts over time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec.structs import replace

from ioplan.results.report.charts.timeline import Timeline, Window, cells_of
from ioplan.results.report.documents import ChartSpec, Column, Frame

MOST_WINDOWS = 200
NEAR_S = 0.1
"""Phases that begin so near to one another begin together."""
APART = "phases are not marked: they begin at different times in its curves"
MANY = f"phases are not marked: there are more than {MOST_WINDOWS}"

Key = tuple[str, int]


def with_phases(picture: ChartSpec, lines: Sequence[Timeline]) -> ChartSpec:
    """The picture over time with the phases that all of its curves share."""

    def placed(found: Sequence[Window]) -> Frame:
        x = picture.frame.column(picture.x)
        columns = (x, Column("x2", "until", x.unit), _names(found))
        rows = [(round(w.begin_s, 6), round(w.end_s, 6), w.name) for w in found]
        return Frame(columns, rows)

    return _with(picture, lines, placed)


def with_columns(
    picture: ChartSpec, lines: Sequence[Timeline], times: Sequence[tuple[str, float]]
) -> ChartSpec:
    """The same of a picture whose columns have names; `times` are these, and when each
    begins."""
    ends = [*(begin_s for _, begin_s in times[1:]), float("inf")]

    def placed(found: Sequence[Window]) -> Frame:
        rows = [
            (text, None, name)
            for name in dict.fromkeys(window.name for window in found)
            for (text, begin_s), end_s in zip(times, ends, strict=True)
            if any(_meet(w, begin_s, end_s) for w in found if w.name == name)
        ]
        hidden = Column("x2", "", "hidden")
        return Frame((picture.frame.column("x"), hidden, _names(found)), rows)

    return _with(picture, lines, placed)


def _with(
    picture: ChartSpec,
    lines: Sequence[Timeline],
    placed: Callable[[Sequence[Window]], Frame],
) -> ChartSpec:
    found, note = _shared(lines)
    if found:
        return replace(picture, phases=placed(found))
    return replace(picture, notes=(*picture.notes, note)) if note else picture


def lanes(phases: Frame) -> dict[str, int]:
    """A lane for each phase: those that overlap have different ones."""
    names = phases.column("phase").order
    times = {name: _times(phases, name) for name in names}
    found: dict[str, int] = {}
    for name in names:
        taken = {found[o] for o in found if _overlap(times[o], times[name])}
        found[name] = next(n for n in range(len(names)) if n not in taken)
    return found


def _times(phases: Frame, name: str) -> list[tuple[float, float]]:
    """From where to where it is; of columns that have names, by their numbers."""
    order = phases.columns[0].order
    found = []
    for row in phases.records():
        if row["phase"] == name:
            at = order.index(str(row["x"])) if order else float(row["x"] or 0)
            found.append((at, at + 1 if order else float(row["x2"] or 0)))
    return found


def _overlap(
    ones: Iterable[tuple[float, float]], others: Sequence[tuple[float, float]]
) -> bool:
    return any(a < d and c < b for a, b in ones for c, d in others)


def _names(found: Iterable[Window]) -> Column:
    order = tuple(dict.fromkeys(window.name for window in found))
    return Column("phase", "phase", "text", order)


def _meet(window: Window, begin_s: float, end_s: float) -> bool:
    return window.begin_s < end_s - 1e-6 and begin_s < window.end_s - 1e-6


def _shared(lines: Sequence[Timeline]) -> tuple[list[Window], str]:
    """The phases, or why they are not drawn: nothing to tell where there are none."""
    cells = [dict(_keyed(some)) for some in _by_cell(lines)]
    if not any(cells):
        return [], ""
    end_s = min(max((w.end_s for w in c.values()), default=0.0) for c in cells)
    begun = [{k for k, w in c.items() if w.begin_s < end_s - NEAR_S} for c in cells]
    if not all(cells) or any(keys != begun[0] for keys in begun):
        return [], APART
    longest = max(cells, key=len)
    if len(longest) > MOST_WINDOWS:
        return [], MANY
    return sorted(longest.values(), key=lambda window: window.begin_s), ""


def _keyed(lines: Iterable[Timeline]) -> Iterator[tuple[Key, Window]]:
    for line in lines:
        for window in line.phases:
            yield (window.name, round(window.begin_s / NEAR_S)), window


def _by_cell(lines: Sequence[Timeline]) -> Iterator[list[Timeline]]:
    """The steps of a cell share their time."""
    for points in cells_of([line.point for line in lines]).values():
        yield [line for line in lines if line.point in points]
