"""Events of the lab as lines across charts over time."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from ioplan.core.units import time_text
from ioplan.results.report.charts.timeline import Timeline
from ioplan.results.report.document import ChartSpec, Column, Frame

MOST_EVENTS = 24
"""More lines hide the curves."""


def with_events(picture: ChartSpec, lines: Sequence[Timeline]) -> ChartSpec:
    """The picture over time with the moments at which events began."""
    found = {(round(m.t_s, 2), m.event.name): m for line in lines for m in line.marks}
    shown = [found[key] for key in sorted(found)][:MOST_EVENTS]
    if not shown:
        return picture
    frame = picture.frame
    columns = (
        frame.column(picture.x),
        frame.column(picture.y),
        Column("limit", "event"),
    )
    rows = [(mark.t_s, None, mark.event.name) for mark in shown]
    notes = [f"┊ {mark.event.name}, at {time_text(mark.t_s)}" for mark in shown]
    if more := len(found) - len(shown):
        notes.append(f"{more} more events are not drawn")
    return replace(picture, limits=Frame(columns, rows), notes=(*picture.notes, *notes))
