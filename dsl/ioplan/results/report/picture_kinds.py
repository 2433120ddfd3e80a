"""The kinds of pictures: each is one entry with what terminal and page ask of it.

How the page draws one is a function of the same name in `report.html.layers.MARKS`;
a table has none.
"""

from __future__ import annotations

from msgspec import Struct


class PictureKind(Struct, frozen=True):
    """What is true of the marks of a kind of picture, wherever they are drawn."""

    is_grid: bool = False
    """Whether its rows are the cells of two axes."""
    is_wide: bool = False
    """Whether it takes a row of the page of its own."""
    has_areas: bool = False
    """Whether the page adds no rows to its rows."""
    has_points: bool = False
    """Whether the terminal draws points without a line."""
    has_ends: bool = False
    """Whether its lines have a name at their end."""
    has_limits: bool = False
    """Whether the limits of expectations are lines of it."""
    can_part: bool = False
    """Whether many series are drawn in a panel each."""
    can_spread: bool = False
    """Whether all its series share their x, so that many have a median."""


PICTURE_KINDS = {
    "lines": PictureKind(
        has_ends=True, has_limits=True, can_part=True, can_spread=True
    ),
    "bars": PictureKind(has_limits=True, can_part=True, can_spread=True),
    "heatmap": PictureKind(is_grid=True, is_wide=True, has_areas=True),
    "latencies": PictureKind(is_wide=True, has_areas=True),
    "table": PictureKind(is_grid=True, is_wide=True),
    "scatter": PictureKind(
        is_wide=True,
        has_points=True,
        has_ends=True,
        has_limits=True,
        can_part=True,
        can_spread=True,
    ),
    "bands": PictureKind(is_wide=True, has_areas=True),
    "percentiles": PictureKind(has_ends=True, can_part=True, can_spread=True),
    "cumulative": PictureKind(can_part=True),
    "histogram": PictureKind(has_areas=True, can_part=True),
    "hockey": PictureKind(can_part=True),
    "convergence": PictureKind(is_wide=True),
    "history": PictureKind(is_wide=True),
    "probes": PictureKind(is_wide=True, has_points=True),
}
