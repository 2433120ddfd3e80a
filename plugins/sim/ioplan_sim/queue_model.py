"""A drive that works off I/Os one by one, in virtual time: its queues.

Each command passes the command processor; a write then the link and the buffer,
a read the dies, their channels and the link. A die does one thing after the other,
in the order of arrival: reads, and one program, copy or erase at a time.
"""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Callable, Sequence
from heapq import heappop, heappush, heappushpop
from typing import Any, NamedTuple

import numpy as np

from ioplan_sim.io_source import DRAWS, IoSource, PausingSource
from ioplan_sim.load import IoKind
from ioplan_sim.spec import MAP_BYTES, DriveSpec


class Condition(NamedTuple):
    """The state of the drive as far as speed depends on it.

    `copies` for each page written; `cached` if the cache takes the writes;
    `stored` has, for each stream, the share of its region that holds data and
    the size of the pieces in pages.
    """

    copies: float
    cached: bool
    stored: tuple[tuple[float, float], ...]


Event = tuple[float, int, int, object]
"""When, a serial number that keeps the order of equal times, what, and about what."""
Write = tuple[IoSource, IoKind, "array[float]", float, int]
"""On its way to the buffer: source, kind, sample, when it was due, and its die."""


class QueueModel:
    """The queues of a drive, and the events that move I/Os through them."""

    def __init__(
        self,
        spec: DriveSpec,
        sources: Sequence[IoSource],
        condition: Condition,
        rng: np.random.Generator,
    ) -> None:
        flash, host = spec.flash, spec.host
        self.spec, self.sources = spec, sources
        self.dies, self.channels = flash.dies, flash.channels
        self.die_ns = [0.0] * flash.dies
        self.channel_ns = [0.0] * flash.channels
        self.command_ns = self.in_ns = self.out_ns = 0.0
        self.each_command_ns = 1e9 / host.commands
        self.link_ns, self.wire_ns = 1e9 / host.bandwidth, 1e9 / flash.channel_bandwidth
        self.unit = spec.unit_pages
        self.set_condition(condition)
        self.erase_ns = flash.erase
        self.copy_ns = flash.program + self.unit / spec.page_pages * flash.read
        self.copy_debt, self.erase_debt = rng.random(2).tolist()
        self.erases = 0.0
        self.events: list[Event] = []
        self.serial = self.finished = self.measured = self.page_ops = 0
        self.handlers: tuple[Callable[[float, Any], Event | None], ...] = (
            *(self._arrived, self._freed, self._admitted, self._programmed),
            self._resumed,
        )
        self._buffer(rng)

    def set_condition(self, condition: Condition) -> None:
        """The state of the drive from now on."""
        flash = self.spec.flash
        self.program_ns = self.spec.cache.program if condition.cached else flash.program
        self.copies = condition.copies
        block_pages = flash.erase_block / MAP_BYTES / flash.dies
        erase_share = 0.0 if flash.in_place else self.unit / block_pages
        self.unit_erases = (1 + self.copies) * erase_share

    def _buffer(self, rng: np.random.Generator) -> None:
        """A larger one than two units a die changes only how long it takes to fill."""
        self.max_pages = max(
            self.unit,
            min(self.spec.buffer.size // MAP_BYTES, 2 * self.dies * self.unit),
        )
        self.held_pages = self.loose_pages = self.initial_pages = 0.0
        self.blocked: deque[Write] = deque()
        self.idle = [int(die) for die in rng.permutation(self.dies)]
        self._fill(rng)

    def _fill(self, rng: np.random.Generator) -> None:
        """It begins full if there are writes, as it soon would be if they are many."""
        if any(source.load.written_pages for source in self.sources):
            self.held_pages = self.loose_pages = float(self.max_pages)
            self.initial_pages = self.held_pages
            starts = (rng.random(self.dies) * self.program_ns).tolist()
            while self.idle and self.loose_pages >= self.unit:
                self.loose_pages -= self.unit
                heappush(self.events, self._occupy(self.idle.pop(), starts.pop()))

    def _push(self, time_ns: float, what: int, about: object) -> None:
        self.serial += 1
        heappush(self.events, (time_ns, self.serial, what, about))

    def next_event(self) -> None:
        """Let the next event happen."""
        self.next_events(1)

    def next_events(self, count: int) -> None:
        """Let so many happen: most of a batch's time goes here.

        Each causes another one, as a rule, which its handler returns: to exchange
        that for the next one takes half as long as to push and to pop.
        """
        events, handlers = self.events, self.handlers
        caused: Event | None = None
        for _ in range(count):
            time_ns, _, what, about = (
                heappushpop(events, caused) if caused else heappop(events)
            )
            caused = handlers[what](time_ns, about)
        if caused:
            heappush(events, caused)

    def begin(self, source: IoSource) -> None:
        """Let it issue its first I/Os, or wait for its first arrival."""
        if isinstance(source, PausingSource):
            self._push(source.resume_ns, RESUMED, source)
            return
        if source.gaps_ns:
            self._push(source.gaps_ns[0], ARRIVED, source)
            return
        for slot in range(source.free):
            self._push(slot * 50.0, FREED, source)
        source.free = 0

    # events: each handler returns the last one that it causes

    def _arrived(self, now_ns: float, source: IoSource) -> Event | None:
        """A rated I/O is due."""
        assert source.gaps_ns
        gap_ns = source.gaps_ns[(source.number + len(source.waiting)) % DRAWS]
        self._push(now_ns + gap_ns, ARRIVED, source)
        if source.free:
            source.free -= 1
            return self._issue(now_ns, source, now_ns)
        source.waiting.append(now_ns)
        return None

    def _freed(self, now_ns: float, source: IoSource) -> Event | None:
        """An I/O is complete: the next one, if it is due."""
        self.finished += 1
        if isinstance(source, PausingSource):
            return self._continue_burst(now_ns, source)
        if source.gaps_ns is None:
            return self._issue(now_ns, source, now_ns)
        if source.waiting:
            return self._issue(now_ns, source, source.waiting.popleft())
        source.free += 1
        return None

    def _continue_burst(self, now_ns: float, source: PausingSource) -> Event | None:
        source.in_flight -= 1
        if source.issued < source.ios:
            return self._issue_of_burst(now_ns, source)
        if not source.in_flight:
            source.end_burst(now_ns)
            self._push(source.resume_ns, RESUMED, source)
        return None

    def _issue_of_burst(self, now_ns: float, source: PausingSource) -> Event:
        source.count_issue(now_ns)
        return self._issue(now_ns, source, now_ns)

    def _resumed(self, now_ns: float, source: PausingSource) -> None:
        """A pause is over, unless it was cut short before."""
        if source.in_flight or now_ns < source.resume_ns:
            return
        source.begin_burst(now_ns)
        for _ in range(source.outstanding):
            heappush(self.events, self._issue_of_burst(now_ns, source))

    def cut_pause(self, source: PausingSource) -> None:
        """End a pause now, if it is one."""
        now_ns = self.events[0][0]
        source.resume_ns = min(source.resume_ns, now_ns)
        self._resumed(now_ns, source)

    def _issue(self, now_ns: float, source: IoSource, intended_ns: float) -> Event:
        number = source.number % DRAWS
        if not number and source.number:
            source.draw()
        source.number += 1
        choice = source.choice[number]
        kind, sample = source.kinds[choice], source.samples[choice]
        # Here `max` of two would double the time, and so below.
        command_ns = self.command_ns if self.command_ns > now_ns else now_ns
        self.command_ns = command_ns + self.each_command_ns
        start_ns = self.command_ns - self.each_command_ns + source.delays_ns[number]
        if kind.direction == "read":
            done_ns = self._read(start_ns, source, choice, number)
            return self._done(done_ns, source, sample, intended_ns)
        if kind.direction == "trim":
            done_ns = start_ns + self.spec.host.trim
            return self._done(done_ns, source, sample, intended_ns)
        free_ns = self.in_ns if self.in_ns > start_ns else start_ns
        self.in_ns = free_ns + kind.size_bytes * self.link_ns
        die = source.first_pages[number] % self.dies
        self.serial += 1
        write: Write = (source, kind, sample, intended_ns, die)
        return self.in_ns, self.serial, ADMITTED, write

    def _done(
        self,
        done_ns: float,
        source: IoSource,
        sample: array[float],
        intended_ns: float,
        rest_ns: float = 0,
    ) -> Event:
        sample.append(done_ns - intended_ns)
        self.measured += 1
        self.serial += 1
        return done_ns + rest_ns, self.serial, FREED, source

    def _read(
        self, start_ns: float, source: IoSource, choice: int, number: int
    ) -> float:
        """When a read is complete. Pages of a die that are read twice in a row, in
        order, are read once; what is not stored is not read at all."""
        size, count, part_bytes = source.reads[choice]
        link_ns = size * self.link_ns
        out_ns = (self.out_ns if self.out_ns > start_ns else start_ns) + link_ns
        self.out_ns = out_ns
        if not source.is_stored[number]:
            return max(out_ns, start_ns + link_ns)
        first = source.first_pages[number]
        if source.goes_on and count == 1:
            if first == source.last_page:
                return max(out_ns, source.ready_ns, start_ns + link_ns)
            source.last_page = first
        part_ns = part_bytes * self.wire_ns
        last_ns = self._pages(start_ns, source, first, count, number, part_ns)
        source.ready_ns = last_ns + min(size, self.spec.flash.page) * self.link_ns
        return out_ns if out_ns > source.ready_ns else source.ready_ns

    def _pages(
        self,
        start_ns: float,
        source: IoSource,
        first: int,
        count: int,
        number: int,
        part_ns: float,
    ) -> float:
        """When the last of some pages of the dies is read and transferred."""
        die_ns, channel_ns, read_ns = self.die_ns, self.channel_ns, source.read_ns
        last_ns = 0.0
        for page in range(count):
            die = (first + page) % self.dies
            channel = die % self.channels
            # Most of a batch's time goes here, and `max` of two would double it.
            free_ns = die_ns[die] if die_ns[die] > start_ns else start_ns
            free_ns += read_ns[(number + page) % DRAWS]
            die_ns[die] = free_ns
            # A channel works off what was asked, in whatever order it gets ready.
            busy_ns = (
                channel_ns[channel] if channel_ns[channel] > start_ns else start_ns
            )
            busy_ns += part_ns
            channel_ns[channel] = busy_ns
            free_ns += part_ns
            ready_ns = busy_ns if busy_ns > free_ns else free_ns
            last_ns = ready_ns if ready_ns > last_ns else last_ns
        self.page_ops += count
        return last_ns

    # writes

    def _admitted(self, now_ns: float, write: Write) -> Event | None:
        """A write has come over the link; it waits while the buffer is full."""
        if self.blocked or self.held_pages >= self.max_pages:
            self.blocked.append(write)
            return None
        return self._accept(now_ns, write)

    def _accept(self, now_ns: float, write: Write) -> Event:
        source, kind, sample, intended_ns, die = write
        self.held_pages += kind.pages
        self.loose_pages += kind.pages
        self.page_ops += 1 + int(kind.pages) // self.unit
        if kind.partial:
            merged_ns = max(self.die_ns[die], now_ns) + self.spec.flash.read
            self.die_ns[die] = merged_ns
        source.writes += 1
        every = source.sync_every
        is_last = every and source.writes % every == 0
        flush_ns = self.spec.buffer.flush if is_last else 0
        if every:
            source.commit(intended_ns, now_ns + flush_ns if is_last else None)
        latency_ns = flush_ns if source.load.stream.fua else 0  # it waits to be durable
        done_ns, rest_ns = now_ns + latency_ns, flush_ns - latency_ns
        done = self._done(done_ns, source, sample, intended_ns, rest_ns)
        while self.idle and self.loose_pages >= self.unit:
            self.loose_pages -= self.unit
            heappush(self.events, self._occupy(self.idle.pop(), now_ns))
        return done

    def _occupy(self, die: int, now_ns: float) -> Event:
        """Let a die program a unit."""
        self.copy_debt += self.copies
        self.erase_debt += self.unit_erases
        self.erases += self.unit_erases
        return self._work_of(die, now_ns, self.program_ns, self.unit)

    def _programmed(self, now_ns: float, about: tuple[int, int]) -> Event | None:
        """A die has done its work: room in the buffer, and what it does next."""
        die, pages = about
        if pages:
            self.held_pages -= pages
            self.initial_pages -= pages
            while self.blocked and self.held_pages < self.max_pages:
                heappush(self.events, self._accept(now_ns, self.blocked.popleft()))
        if self.erase_debt >= 1:
            self.erase_debt -= 1
            return self._work_of(die, now_ns, self.erase_ns)
        if self.copy_debt >= 1:
            self.copy_debt -= 1
            return self._work_of(die, now_ns, self.copy_ns)
        if self.loose_pages >= self.unit:
            self.loose_pages -= self.unit
            return self._occupy(die, now_ns)
        self.idle.append(die)
        return None

    def _work_of(
        self, die: int, now_ns: float, work_ns: float, pages: int = 0
    ) -> Event:
        """Let a die do what makes so many pages of the buffer free."""
        free_ns = self.die_ns[die]
        self.die_ns[die] = end_ns = (free_ns if free_ns > now_ns else now_ns) + work_ns
        self.serial += 1
        return end_ns, self.serial, PROGRAMMED, (die, pages)


ARRIVED, FREED, ADMITTED, PROGRAMMED, RESUMED = range(5)
