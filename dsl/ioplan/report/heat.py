"""A figure over two axes as a table; in a terminal its values have colours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log

from rich import box
from rich.table import Table
from rich.text import Text

from ioplan.language.metric import Metric
from ioplan.report.axis import in_order, scale_of
from ioplan.report.line import line
from ioplan.report.units import metric_text

CIVIDIS = (
    (0, 34, 78),
    (53, 69, 108),
    (102, 105, 112),
    (148, 142, 119),
    (200, 184, 102),
    (254, 232, 56),
)
"""Dark to bright, the same to every eye; Nuñez and others, PLOS ONE 13 (2018)."""
BRIGHT = 0.179
"""From this relative luminance on, black letters have more contrast than white ones:
4.5 at least, as WCAG 2 asks."""

Place = tuple[str, str]


@dataclass(frozen=True)
class Heat:
    """Values by their place on the axis across and the axis down."""

    metric: Metric
    axes: Place
    values: Mapping[Place, float | None]
    rest: str = ""

    @property
    def across(self) -> tuple[str, ...]:
        """The columns, in order."""
        return in_order(place[0] for place in self.values)

    @property
    def down(self) -> tuple[str, ...]:
        """The rows, in order."""
        return in_order(place[1] for place in self.values)

    def turned(self) -> Heat:
        """The same with rows and columns exchanged."""
        axes = (self.axes[1], self.axes[0])
        values = {(b, a): value for (a, b), value in self.values.items()}
        return Heat(self.metric, axes, values, self.rest)


def heat_table(heat: Heat) -> Table:
    """A row for each value of the axis down; what was not run is left empty."""
    across, down = heat.axes
    unit = " in MB/s" if heat.metric.unit == "B/s" else ""
    title = f"{heat.metric}{unit} by {across} and {down}{heat.rest}"
    table = Table(
        box=box.SIMPLE_HEAD,
        padding=0,
        pad_edge=False,
        title=line(title),
        title_style="",
        title_justify="left",
    )
    table.add_column(line(f"{down} \\ {across} "), justify="right", no_wrap=True)
    for text in heat.across:
        table.add_column(line(f" {text} "), justify="right", no_wrap=True)
    color = _colors([v for v in heat.values.values() if v is not None])
    for row in heat.down:
        cells = [_cell(heat, (text, row), color) for text in heat.across]
        table.add_row(line(f"{row} "), *cells)
    return table


def _cell(heat: Heat, place: Place, color: Colors) -> Text:
    value = heat.values.get(place)
    if value is None:
        return Text(" – " if place in heat.values else "")
    text = metric_text(value, heat.metric.unit).removesuffix(" MB/s")
    return Text(f" {text} ", style=color.of(value))


@dataclass(frozen=True)
class Colors:
    """From the smallest value to the largest."""

    low: float
    high: float
    log: bool

    def of(self, value: float) -> str:
        """A style: a background, and letters that can be read on it."""
        red, green, blue = _between(self._share(value))
        ink = 0 if _luminance((red, green, blue)) >= BRIGHT else 255
        return f"rgb({ink},{ink},{ink}) on rgb({red},{green},{blue})"

    def _share(self, value: float) -> float:
        if self.high <= self.low:
            return 0.5
        if self.log:
            return log(value / self.low) / log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)


def _colors(values: Sequence[float]) -> Colors:
    low, high = min(values, default=0.0), max(values, default=0.0)
    return Colors(low, high, scale_of(values) == "log")


def _luminance(rgb: Sequence[int]) -> float:
    """Relative luminance, as WCAG 2 defines it."""
    red, green, blue = (_linear(part / 255) for part in rgb)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _linear(part: float) -> float:
    return float(part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4)


def _between(share: float) -> tuple[int, int, int]:
    """The colour at a share of the way."""
    at = share * (len(CIVIDIS) - 1)
    first = min(int(at), len(CIVIDIS) - 2)
    red, green, blue = (
        round(a + (b - a) * (at - first))
        for a, b in zip(CIVIDIS[first], CIVIDIS[first + 1], strict=True)
    )
    return red, green, blue
