"""Sessions as a list: a line each, as wide as a terminal, or 80 columns in a pipe."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ioplan.core.units import time_text
from ioplan.results.store.sessions import SessionOverview

HEADINGS = ("session", "plan", "drive", "runs", "verdict", "status", "took")
PLAN, DRIVE, RUNS = 1, 2, 3
NARROWEST = 8
"""The least width of a plan and of a drive, in characters."""


def session_lines(
    sessions: Sequence[SessionOverview], figures: Mapping[str, str], width: int
) -> Iterator[str]:
    """A heading, then a line for each session, and its `figures` below it.

    Plans and drives are cut where there is no room.
    """
    rows = [HEADINGS, *map(_cells, sessions)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    gap = "  " if sum(widths) + 2 * len(widths) - 2 <= width else " "
    room = width - sum(widths) - len(gap) * (len(widths) - 1)
    plan, drive = widths[PLAN], widths[DRIVE]
    if room < 0:  # plan and drive share what the others leave
        left = max(room + plan + drive, 2 * NARROWEST)
        widths[DRIVE] = min(drive, max(left // 2, left - plan))
        widths[PLAN] = left - widths[DRIVE]
    for number, row in enumerate(rows):
        cells = map(_fitted, range(len(row)), row, widths)
        yield gap.join(cells).rstrip()
        if number and (below := figures.get(row[0])):
            yield f"  {' '.join(below.split())}"


def _cells(session: SessionOverview) -> tuple[str, ...]:
    duration_s = session.duration_s
    return (
        session.id,
        " ".join(session.plan.split()),
        " ".join(session.drive_name.split()),
        str(session.runs),
        session.verdict_text,
        "imported" if session.is_imported else session.status,
        "" if duration_s is None else time_text(duration_s),
    )


def _fitted(column: int, text: str, width: int) -> str:
    """The text cut to the width; a path keeps its end, which tells files apart."""
    if len(text) > width:
        start = len(text) - width + 1
        return f"…{text[start:]}" if text.startswith("/") else f"{text[: width - 1]}…"
    return text.rjust(width) if column == RUNS else text.ljust(width)
