"""Sessions as a list: a line each, as wide as a terminal, or 80 columns in a pipe."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ioplan.core.units import time_text
from ioplan.results.store.overview import SessionOverview

HEADINGS = ("session", "plan", "drive", "runs", "verdict", "status", "took")
PLAN, DRIVE, RUNS = 1, 2, 3
LEAST = 8
"""The least width of a plan and of a drive, in characters."""


def session_lines(
    sessions: Sequence[SessionOverview], told: Mapping[str, str], width: int
) -> Iterator[str]:
    """A heading, then a line for each session, and below it what it is `told` by.

    Plans and drives are cut where there is no room; what is told stands indented.
    """
    rows = [HEADINGS, *map(_cells, sessions)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    gap = "  " if sum(widths) + 2 * len(widths) - 2 <= width else " "
    widths = _shrunk(widths, width - len(gap) * (len(widths) - 1))
    lines = (_line(row, widths, gap) for row in rows)
    yield next(lines)
    for one, row in zip(sessions, lines, strict=True):
        yield row
        if figures := told.get(one.id):
            yield f"  {' '.join(figures.split())}"


def _cells(one: SessionOverview) -> tuple[str, ...]:
    took = "" if one.duration_s is None else time_text(one.duration_s)
    return (
        one.id,
        one.plan,
        one.drive_name,
        str(one.runs),
        one.verdict_text,
        "imported" if one.is_imported else one.status,
        took,
    )


def _shrunk(widths: list[int], room: int) -> list[int]:
    """Plan and drive share what the others leave of the room."""
    left = max(room - sum(widths) + widths[PLAN] + widths[DRIVE], 2 * LEAST)
    if widths[PLAN] + widths[DRIVE] > left:
        half = left // 2
        drive = min(widths[DRIVE], max(half, left - widths[PLAN]))
        widths[PLAN], widths[DRIVE] = left - drive, drive
    return widths


def _line(row: tuple[str, ...], widths: Sequence[int], gap: str) -> str:
    cells = [
        text.rjust(wide) if place == RUNS else text.ljust(wide)
        for place, (text, wide) in enumerate(zip(row, widths, strict=True))
    ]
    cells[PLAN] = _cut(row[PLAN], widths[PLAN])
    cells[DRIVE] = _cut(row[DRIVE], widths[DRIVE])
    return gap.join(cells).rstrip()


def _cut(text: str, width: int) -> str:
    """The text cut to the width; a path keeps its end, which tells files apart."""
    text = " ".join(text.split())
    if len(text) <= width:
        return text.ljust(width)
    if text.startswith("/"):
        return f"…{text[len(text) - width + 1 :]}"
    return f"{text[: width - 1]}…"
