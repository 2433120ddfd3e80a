"""The events of a run: commands of the lab, each at its moment, and how they ended."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from itertools import count
from random import Random
from threading import Timer

from msgspec import Struct
from msgspec.structs import replace

from ioplan.core.error_kinds import Cause
from ioplan.job import SECOND_NS
from ioplan.planner.steps import Run
from ioplan.records.record import EventMade
from ioplan.runner.events.lab_command import CommandCall, CommandEnd, Launcher
from ioplan.runner.execute.execute import RunOutcome

# Something that is done in the midst of a run, at a moment drawn from a range.


class Timed:
    """Done `at_s` after `begin`, by a thread while the run goes on."""

    def __init__(self, at_s: float, do: Callable[[], None]) -> None:
        self.at_s = at_s
        self.begun_s = 0.0
        self.timer = Timer(at_s, do)

    def begin(self) -> None:
        """The first I/O is issued."""
        self.begun_s = time.monotonic()
        self.timer.start()

    def end(self) -> None:
        """The run is over: what was not begun is not done, what was is waited for."""
        self.timer.cancel()
        if self.timer.is_alive():
            self.timer.join()


def drawn_s(between_ns: tuple[int, int], *seeds: object) -> float:
    """A moment of the range: the same for the same run, another for each."""
    draw = Random(" ".join(map(str, seeds)))
    return draw.uniform(*between_ns) / SECOND_NS


class EventCommand(Struct, frozen=True):
    """What the lab says of an event: what to run, here or by way of a `host`."""

    call: CommandCall
    host: str = ""


class LabEvent(Timed):
    """One event."""

    def __init__(self, name: str, command: EventCommand, at_s: float) -> None:
        super().__init__(at_s, self.make)
        self.name, self.command, self.launcher = name, command, Launcher()
        self.end_of: CommandEnd | None = None
        self.start_s = self.end_s = 0.0

    def make(self) -> None:
        """Run its command."""
        self.start_s = time.monotonic()
        end = self.launcher.run(self.command.call)
        self.end_s, self.end_of = time.monotonic(), end


class LabEvents:
    """All events of one run, in the order of their moments."""

    def __init__(self, events: list[LabEvent], warmup_ns: int) -> None:
        self.events = sorted(events, key=lambda one: one.at_s)
        self.warmup_s = warmup_ns / SECOND_NS
        self.left: list[str] = []

    @classmethod
    def of(cls, run: Run, known: Mapping[str, EventCommand], seq: int) -> LabEvents:
        """The events of a run, their moments drawn."""
        found = [
            LabEvent(
                one.name,
                known[one.name],
                drawn_s((one.earliest_ns, one.latest_ns), run.run_id, seq, number),
            )
            for one, number in zip(run.events, count(), strict=False)
        ]
        return cls(found, run.length.warmup_ns)

    def begin(self) -> None:
        """The first I/O is issued."""
        for event in self.events:
            event.begin()

    def end(self) -> None:
        """The run is over. What is left is made now, if any event was made.

        So what the first has taken away, such as a path, the last gives back.
        """
        for event in self.events:
            event.end()
        left = [event for event in self.events if event.end_of is None]
        self.left = [event.name for event in left]
        for event in left if len(left) < len(self.events) else ():
            event.make()
        for event in self.events:
            event.launcher.close()

    @property
    def made(self) -> tuple[EventMade, ...]:
        """What the record says of each."""
        return tuple(
            EventMade(
                name=event.name,
                start_s=event.start_s - event.begun_s - self.warmup_s,
                end_s=event.end_s - event.begun_s - self.warmup_s,
                host=event.command.host,
                exit_code=event.end_of.exit_code,
                output=event.end_of.output,
                error=event.end_of.error,
            )
            for event in self.events
            if event.end_of
        )

    def judged(self, outcome: RunOutcome) -> RunOutcome:
        """A run without its events is not the one that was asked for."""
        failed = [f'event "{one.name}": {one.error}' for one in self.made if one.error]
        left = [f'the run ended before its event "{name}"' for name in self.left]
        if outcome.status != "ok" or not (failed or left):
            return outcome
        text = (failed or left)[0]
        return replace(outcome, status="failed", cause=Cause.NOT_MADE, message=text)


NO_EVENTS = LabEvents([], 0)
"""The events of a run that has none."""
