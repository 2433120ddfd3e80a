"""The names of lines at their ends, where a legend would send the eye back and forth.

The page adds a row with the role `end` for each line, and moves names apart.
"""

from __future__ import annotations

from ioplan.results.report.document import ChartSpec
from ioplan.results.report.html.overlays import Spec, role


def ends(picture: ChartSpec, role_of_lines: str = "") -> list[Spec]:
    """The text layer; none where lines have no end of their own."""
    channels, key = picture.channels, picture.channels.color
    has_names = bool(key or channels.dash or role_of_lines)
    is_plain = not channels.panel and picture.x_scale != "names"
    if not picture.marks.has_ends or not is_plain or not has_names:
        return []
    color: Spec = {}
    if role_of_lines:
        color = {"color": {"field": "series", "type": "nominal"}}
    elif not key:
        color = {"color": {"value": {"expr": "ink"}}}
    mark = {
        "type": "text",
        "align": "left",
        "dx": 8,
        "dy": {"expr": "shifts[datum.end] || 0"},
        "fontSize": 11,
        "fontWeight": 600,
        "limit": 150,
    }
    return [
        {
            "transform": [role("end")],
            "mark": mark,
            "encoding": {"text": {"field": "end"}, **color},
        }
    ]
