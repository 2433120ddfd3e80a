"""Charts and tables as rows, before they are drawn.

Values stand in the base units of the records: ns, B/s, 1/s, percent.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from msgspec import Struct

# The kinds of pictures: each is one entry with what terminal and page ask of it.
#
# How the page draws one is a template of the same name in `report/html/templates.json`;
# a table has none.


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
    "hockey": PictureKind(has_ends=True, can_part=True),
    "convergence": PictureKind(is_wide=True),
    "history": PictureKind(is_wide=True),
    "probes": PictureKind(is_wide=True, has_points=True),
}


Value = str | float | int | None
Scale = Literal["linear", "log", "names", "nines"]


class Column(Struct, frozen=True):
    """One column of a frame.

    `unit` is that of a metric, "text", or "size" (powers of two), "B" (powers of
    ten), "s", "percentile"; "nines" and "hidden" are for drawing only. `order`
    holds the texts in the order to show them.
    """

    key: str
    title: str
    unit: str = "text"
    order: tuple[str, ...] = ()


STATUS = Column("status", "status")
"""A frame has it where something failed; a row that is not `ok` has no `y`."""
JUDGED = Column("judged", "expectation")
"""A frame has it where a figure did not meet one; else it is empty."""
AGAINST = Column("against", "against it")
"""Why figures of a row should not be relied on; empty where nothing is known."""
DOUBTED = "!"
FAILED = "✕"
"""Marks what failed, in charts and tables."""


class Frame(Struct, frozen=True):
    """Rows in the long form: a row a point."""

    columns: tuple[Column, ...]
    rows: Sequence[tuple[Value, ...]]

    def column(self, key: str) -> Column:
        """The column of a key. Raises KeyError."""
        return {column.key: column for column in self.columns}[key]

    @property
    def marks_failures(self) -> bool:
        return STATUS in self.columns

    def records(self) -> Iterator[dict[str, Value]]:
        keys = [column.key for column in self.columns]
        return (dict(zip(keys, row, strict=True)) for row in self.rows)


class Channels(Struct, frozen=True):
    """Which text column becomes a colour, a dash, a panel, a choice; by key."""

    color: str = ""
    dash: str = ""
    panel: str = ""
    pick: str = ""


class ChartSpec(Struct, frozen=True):
    """One chart: `x` and `y` are keys of the frame, `line` the plan's own words.

    `overlay` is a second frame with the same text columns, drawn over the first.
    `limits` are those of expectations: at a value of x, or from side to side. One
    without a y is an event, from bottom to top. `phases` are the parts of the time that
    have names, from x to x2, or one column of names each.
    """

    kind: str
    title: str
    line: str
    frame: Frame
    x: str = "x"
    y: str = "y"
    channels: Channels = Channels()
    x_scale: Scale = "linear"
    y_scale: Scale = "linear"
    overlay: Frame | None = None
    limits: Frame | None = None
    notes: tuple[str, ...] = ()
    phases: Frame | None = None
    subtitle: str = ""

    @property
    def marks(self) -> PictureKind:
        return PICTURE_KINDS[self.kind]
