"""Latencies over time in the terminal: a sign or a colour for how many I/Os."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import exp, log

from msgspec import Struct
from rich.text import Text

from ioplan.core.units import BARS, bars, metric_text, time_text
from ioplan.language.metric import Metric
from ioplan.records.record import Interval
from ioplan.results.report.charts.timeline import metric_at
from ioplan.results.report.documents import ChartSpec
from ioplan.results.report.terminal.heatmap import Colors
from ioplan.results.report.terminal.parts import Part, Row, phase_lines

# A run over time in a few characters.

WIDTH = 8
LEAST = 3
IOPS = Metric(name="iops")


def sparkline(series: Sequence[Interval]) -> str:
    """IOPS over time, from 0 to the largest; empty for fewer than three intervals."""
    values = [metric_at(IOPS, interval) or 0.0 for interval in series]
    if len(values) < LEAST:
        return ""
    means = _means(values, min(WIDTH, len(values)))
    return bars(means) if max(means) else ""


def level_line(values: Sequence[float], low: float, high: float, width: int) -> str:
    """Values from `low` to `high` in so many characters at most."""
    means = _means(values, min(width, len(values)))
    reach = high - low
    shares = ((value - low) / reach if reach else 0.5 for value in means)
    return "".join(BARS[1 + round(share * (len(BARS) - 2))] for share in shares)


def _means(values: Sequence[float], width: int) -> list[float]:
    """The means of so many parts, as equal as can be."""
    edges = [round(n * len(values) / width) for n in range(width + 1)]
    parts = [values[a:b] for a, b in pairwise(edges)]
    return [sum(part) / len(part) for part in parts]


HEIGHT = 16
WIDEST = 100
LABEL = 9
SHADES = "░▒▓█"
LINES = (("p50", "·"), ("p99", "•"))
"""Percentiles, and the sign of each in its row."""


class _Plot(Struct, frozen=True):
    """Where rows of a picture fall; `counts` by line from below and column."""

    begin_s: float
    end_s: float
    low_ns: float
    high_ns: float
    width: int
    height: int

    def column(self, row: Row) -> int:
        """The column of a row's middle."""
        middle = (number(row, "x") + number(row, "x2")) / 2
        return min(int(self.at(middle)), self.width - 1)

    def at(self, time_s: float) -> float:
        """Where a time is, in columns."""
        return (time_s - self.begin_s) / (self.end_s - self.begin_s) * self.width

    def line(self, latency_ns: float) -> int:
        """From below."""
        reach = log(self.high_ns / self.low_ns)
        share = log(max(latency_ns, self.low_ns) / self.low_ns) / reach
        return min(int(share * self.height), self.height - 1)

    def edge_ns(self, line: int) -> float:
        """The latency at the lower edge of a line."""
        share = line / self.height
        return self.low_ns * exp(share * log(self.high_ns / self.low_ns))


def number(row: Row, key: str) -> float:
    """A value of a row that has one."""
    return float(row[key] or 0)


def density(picture: ChartSpec, part: Part, width: int, colored: bool) -> Text:
    """Latency upwards, time across; of a panel."""
    plot = _plot(part.rows, min(width, WIDEST) - LABEL - 1)
    counts: dict[tuple[int, int], float] = {}
    for row in part.rows:
        middle_ns = (number(row, "y") * number(row, "y2")) ** 0.5
        place = plot.line(middle_ns), plot.column(row)
        counts[place] = counts.get(place, 0.0) + number(row, "count")
    signs = {
        (plot.line(number(row, name)), plot.column(row)): sign
        for name, sign in LINES
        for row in part.overlay
    }
    colors = Colors(min(counts.values()), max(counts.values()), True)
    above = phase_lines(picture, LABEL + 1, plot.width, plot.at)
    lines = [*above, *_lines(plot, counts, signs, colors, colored), *_axis(plot)]
    return Text("\n", no_wrap=True, overflow="ignore").join(lines)


def _plot(rows: Sequence[Row], room: int) -> _Plot:
    """No finer than the rows are."""
    begin_s, end_s = _least(rows, "x"), _most(rows, "x2")
    low_ns, high_ns = _least(rows, "y"), _most(rows, "y2")
    longest_s = max(number(row, "x2") - number(row, "x") for row in rows)
    highest = max(number(row, "y2") / number(row, "y") for row in rows)
    columns = max(1, min(round((end_s - begin_s) / longest_s), room))
    lines = max(1, min(round(log(high_ns / low_ns) / log(highest)), HEIGHT))
    return _Plot(begin_s, end_s, low_ns, high_ns, columns, lines)


def _least(rows: Sequence[Row], key: str) -> float:
    return min(number(row, key) for row in rows)


def _most(rows: Sequence[Row], key: str) -> float:
    return max(number(row, key) for row in rows)


def _lines(
    plot: _Plot,
    counts: dict[tuple[int, int], float],
    signs: dict[tuple[int, int], str],
    colors: Colors,
    colored: bool,
) -> Iterator[Text]:
    """From the longest latencies to the shortest; every fourth line is labelled."""
    for line in reversed(range(plot.height)):
        is_told = line % 4 == 0
        label = metric_text(plot.edge_ns(line), "ns") if is_told else ""
        text = Text(label.rjust(LABEL) + ("┤" if is_told else "│"))
        for column in range(plot.width):
            count, sign = counts.get((line, column)), signs.get((line, column))
            if count and colored:
                text.append(sign or " ", colors.of(count))
            else:
                text.append(sign or (_shade(count, colors) if count else " "))
        yield text


def _shade(count: float, colors: Colors) -> str:
    reach = log(colors.high / colors.low)
    share = log(count / colors.low) / reach if reach else 1.0
    return SHADES[min(int(share * len(SHADES)), len(SHADES) - 1)]


def _axis(plot: _Plot) -> Iterator[Text]:
    yield Text(" " * LABEL + "└" + "─" * plot.width)
    begin, end = time_text(plot.begin_s), time_text(plot.end_s)
    room = max(1, plot.width - len(begin) - len(end))
    yield Text(" " * (LABEL + 1) + begin + " " * room + end)
