"""A row for each lane: what it does, how fast, and how long still."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Self

from rich import box
from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from ioplan.cluster.jobs.lane import LaneState
from ioplan.core.context import Closing
from ioplan.core.text import line
from ioplan.core.units import iops_text, latency_text, time_text

STYLES = {
    "running": "bold",
    "waiting": "dim",
    "ok": "green",
    "unmet": "yellow",
    "stopped": "yellow",
    "refused": "red",
    "failed": "red",
    "died": "red",
}


def lane_table(states: Iterable[LaneState]) -> Table:
    """In 80 columns; the host has a column where there are several, the temperature
    where one is known."""
    states = list(states)
    hosts = len({state.host for state in states}) > 1
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    warm = any(state.temperature_celsius is not None for state in states)
    table.add_column("lane", overflow="fold")
    if hosts:
        table.add_column("host", overflow="fold")
    table.add_column("status", no_wrap=True)
    table.add_column("step", no_wrap=True, overflow="ellipsis", ratio=1)
    for heading in ("done", "IOPS", "p99", *["°C"] * warm, "left"):
        table.add_column(heading, justify="right", no_wrap=True)
    for state in states:
        names = [line(state.target), *([line(state.host)] if hosts else [])]
        table.add_row(*names, *_cells(state, warm))
    return table


def _cells(state: LaneState, warm: bool) -> tuple[Text, ...]:
    running = state.status == "running"
    figures = (
        f"{state.done:.0%}",
        iops_text(state.iops) if running and state.iops is not None else "",
        latency_text(state.p99_ns) if running and state.p99_ns is not None else "",
        *[_celsius(state)] * warm,
        time_text(state.left_s) if running and state.left_s is not None else "",
    )
    status = line(state.status, STYLES[state.status])
    return status, line(_doing(state)), *map(Text, figures)


def _celsius(state: LaneState) -> str:
    found = state.temperature_celsius
    return "" if found is None else f"{found:.0f}"


def _doing(state: LaneState) -> str:
    if state.ended:
        unmet = f", {state.unmet} not shown to hold" if state.unmet else ""
        return f"{state.runs} runs{unmet}"
    return state.message if state.status == "waiting" else state.step


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

    def show(self, states: Sequence[LaneState], missing: Sequence[str] = ()) -> None:
        """How they go; `missing` are hosts of which nothing is heard."""
        if self.console.is_terminal:
            table = lane_table(states)
            if missing:
                table.caption = f"nothing is heard of: {', '.join(missing)}"
            self.live.update(table)
            return
        for state in states:
            if self.printed.get(state.session) != state.status:
                self.printed[state.session] = state.status
                self.console.print(_line(state), soft_wrap=True)
        for host in missing:
            if self.printed.get(host) != "missing":
                self.console.print(f"nothing is heard of {host}", soft_wrap=True)
        self.printed |= dict.fromkeys({state.host for state in states} - {*missing}, "")
        self.printed |= dict.fromkeys(missing, "missing")


def _line(state: LaneState) -> str:
    host = f" on {state.host}" if state.host else ""
    first = state.message.splitlines()[:1] if state.ended else []
    return f"{state.target}{host}: {state.status}{''.join(f': {m}' for m in first)}"


def failure_messages(states: Iterable[LaneState]) -> Iterable[str]:
    """What those that did not end well have to say."""
    for state in states:
        if state.ended and state.message and state.status != "ok":
            yield f"{state.target}: {state.status}: {state.message}"
