"""Tables of web hooks, and of what they have yet to deliver."""

from __future__ import annotations

from ioplan_lab.desk.table import table

TABLES = {
    **table(
        "desk_hook",
        "number:INTEGER url events secret inside:INTEGER person at",
        "number",
    ),
    **table(
        "desk_delivery",
        "number:INTEGER hook:INTEGER event body made_at attempts:INTEGER "
        "next_at state answer",
        "number",
    ),
}
