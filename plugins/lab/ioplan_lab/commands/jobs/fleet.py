"""A row for each lane: what it does, how fast, and how long still."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Self

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from ioplan.core import Closing, iops_text, latency_text, line, time_text
from ioplan_lab.cluster.jobs.lane import CANCELLED, LaneState

STYLES = {
    "running": "bold",
    "waiting": "dim",
    "unknown": "yellow",
    "ok": "green",
    "skipped": "yellow",
    "unmet": "yellow",
    "stopped": "yellow",
    "refused": "red",
    "failed": "red",
    "died": "red",
}
GAP = "  "
LEAST = {"step": 12, "lane": 16, "host": 10}
"""Columns that are shortened where the terminal is narrow, in this order."""
SPARED = ("°C", "p99", "host")
"""Columns that are left out where that is not enough, in this order."""
Row = dict[str, Text]
"""By heading."""


def print_lanes(console: Console, states: Iterable[LaneState]) -> None:
    """A line for each lane: whole where it is read by a program, else as it fits."""
    width = console.width if console.is_terminal else None
    for shown in lane_lines(states, width):
        console.print(shown, soft_wrap=True, highlight=False)


def lane_lines(states: Iterable[LaneState], width: int | None = None) -> list[Text]:
    """A heading, and a line for each lane, of so many columns at most.

    The host has a column where there are several, the temperature where one is known.
    The step is shortened first, then the names, in their middle.
    """
    rows = list(_rows(list(states)))
    if not rows:
        return []
    heading = {name: Text(name, "bold") for name in rows[0]}
    widths = {
        name: max(row[name].cell_len for row in (heading, *rows)) for name in heading
    }
    widths = widths if width is None else _fitting(widths, width)
    return [_joined(row, widths) for row in (heading, *rows)]


def _rows(states: Sequence[LaneState]) -> Iterator[Row]:
    hosts = len({state.host for state in states}) > 1
    warm = any(state.temperature_celsius is not None for state in states)
    for state in states:
        running = state.status == "running"
        row = {"lane": line(state.target)}
        row |= {"host": line(state.host)} if hosts else {}
        row |= {"status": line(state.status, STYLES[state.status])}
        row |= {"step": line(_doing(state))}
        row |= {"done": Text("" if state.status == "unknown" else f"{state.done:.0%}")}
        row |= {"IOPS": Text(iops_text(state.iops) if running and state.iops else "")}
        shown = running and state.p99_ns is not None
        row |= {"p99": Text(latency_text(state.p99_ns) if shown else "")}
        row |= {"°C": Text(_celsius(state))} if warm else {}
        shown = running and state.left_s is not None
        yield row | {"left": Text(time_text(state.left_s or 0) if shown else "")}


def _fitting(widths: dict[str, int], width: int) -> dict[str, int]:
    """The columns' widths, such that a row has at most `width`."""
    left_out = iter(SPARED)
    while True:
        found, over = dict(widths), _over(widths, width)
        for name, least in LEAST.items():
            if over > 0 and name in found:
                less = min(over, max(0, found[name] - least))
                found[name], over = found[name] - less, over - less
        spared = next(left_out, None) if over > 0 else None
        if spared is None:
            return found
        widths.pop(spared, None)


def _over(widths: dict[str, int], width: int) -> int:
    return sum(widths.values()) + len(GAP) * (len(widths) - 1) - width


def _joined(row: Row, widths: dict[str, int]) -> Text:
    """What a lane without figures has to say goes on in their columns."""
    names = list(widths)
    if not any(row[name].plain for name in names if name not in LEFT):
        names = [name for name in names if name in LEFT]
        rest = [width + len(GAP) for name, width in widths.items() if name not in LEFT]
        widths = widths | {"step": widths["step"] + sum(rest)}
    cells = []
    for name in names:
        cell = _shortened(name, row[name], widths[name])
        cell.align("left" if name in LEFT else "right", widths[name])
        cells.append(cell)
    joined = Text(GAP).join(cells)
    joined.rstrip()
    return joined


LEFT = ("lane", "host", "status", "step")


def _shortened(heading: str, text: Text, width: int) -> Text:
    """A name cut to the width in its middle: a rack's differ in the last digits."""
    shown = text.copy()
    if text.cell_len <= width:
        return shown
    if heading == "step":
        shown.truncate(width, overflow="ellipsis")
        return shown
    end = (width - 1) // 2
    return shown[: width - 1 - end] + Text("…") + shown[len(shown) - end :]


def _celsius(state: LaneState) -> str:
    found = state.temperature_celsius
    return "" if found is None else f"{found:.0f}"


def _doing(state: LaneState) -> str:
    if state.ended:
        unmet = f", {state.unmet} not shown to hold" if state.unmet else ""
        by = f", {state.message}" if state.message.startswith(CANCELLED) else ""
        return f"{state.runs} runs{unmet}{by}"
    return state.step if state.status == "running" else state.message


class LaneDisplay(Closing):
    """The rows, drawn anew in a terminal; else a line when something has changed."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.live = Live(console=console, refresh_per_second=4, transient=True)
        self.printed: dict[str, str] = {}

    def __enter__(self) -> Self:
        if self.console.is_terminal:
            self.live.start()
        return self

    def close(self) -> None:
        """Leave the terminal as it was."""
        if self.console.is_terminal:
            self.live.stop()

    def show(
        self, states: Sequence[LaneState], silent_s: Mapping[str, float | None]
    ) -> None:
        """How they go; `silent_s` has the hosts of which nothing is heard."""
        if self.console.is_terminal:
            shown = lane_lines(states, self.console.width)
            if silent_s:
                shown += [line(f"no report from: {', '.join(silent_s)}", "yellow")]
            self.live.update(Group(*shown))
            return
        for state in states:
            if self.printed.get(state.session) != state.status:
                self.printed[state.session] = state.status
                self.console.print(_line(state), soft_wrap=True)


def _line(state: LaneState) -> str:
    host = f" on {state.host}" if state.host else ""
    said = state.reason if state.status != "running" else ""
    return f"{state.target}{host}: {state.status}{said and f': {said}'}"


def failure_messages(states: Iterable[LaneState]) -> Iterable[str]:
    """What those that did not end well have to say."""
    for state in states:
        if state.ended and state.message and state.status != "ok":
            yield f"{state.target}: {state.status}: {state.message}"


def short_reasons(states: Iterable[LaneState]) -> Iterable[str]:
    """Why lanes did not end well: a line for each, and where the rest is."""
    for state in states:
        if state.ended and state.reason and state.status != "ok":
            yield f"{state.target}: {state.status}: {state.reason}"
            if state.errors_file:
                host = f"{state.host}:" if state.host else ""
                yield f"  all of it: {host}{state.errors_file}"
