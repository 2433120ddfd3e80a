"""A batch of I/Os, followed one by one through the drive in virtual time.

Each command passes the command processor; a write then the link and the buffer,
a read the dies, their channels and the link. A die does one thing after the other,
in the order of arrival: reads, and one program, copy or erase at a time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from heapq import heappop, heappush
from math import ceil, sqrt
from typing import Any, NamedTuple

import numpy as np

from ioplan_sim.load import Kind, Lane
from ioplan_sim.places import quantiles, scattered
from ioplan_sim.spec import MAP_BYTES, DriveSpec

DRAWS = 2048
LEAST_WORK, MOST_WORK = 2 * DRAWS, 12 * DRAWS
MOST_ROUNDED = 2 * MOST_WORK
"""How long a batch is, in I/Os; some page operations count as one. It may be longer
to span a whole number of erases."""
PAGES = 8
"""So many page operations take as long to follow as one I/O."""
PARTS, ENOUGH = 8, 0.02
"""A batch is long enough when the mean latencies of its parts tell its own so well."""
EVENTS = 32
"""So many happen before anybody looks whether they are enough."""
RETRY_TIMES = 5.0
JITTER = 0.1
"""How much the overhead of a command varies."""


class Condition(NamedTuple):
    """The state of the drive as far as speed depends on it.

    `copies` for each page written; `cached` if the cache takes the writes;
    `stored` has, for each stream, the share of its region that holds data and
    the size of the pieces in pages.
    """

    copies: float
    cached: bool
    stored: tuple[tuple[float, float], ...]


class Task:
    """A stream in a batch. What chance decides is drawn beforehand, and anew when
    it is used up."""

    def __init__(
        self,
        lane: Lane,
        open_loop: bool,
        stored: tuple[float, float],
        spec: DriveSpec,
        rng: np.random.Generator,
    ) -> None:
        self.lane, self.kinds = lane, lane.kinds
        self.open_loop, self.stored, self.spec, self.rng = open_loop, stored, spec, rng
        self.free = lane.outstanding
        self.waiting: deque[float] = deque()
        self.samples: list[list[float]] = [[] for _ in lane.kinds]
        self.number = self.writes = 0
        self.page, self.ready_ns = -1, 0.0
        self.piece = max(1.0, min(stored[1], spec.page_pages))
        self.draw()

    def draw(self) -> None:
        """Let chance decide on the next I/Os."""
        spec, rng = self.spec, self.rng
        self.choice = self._choices(rng)
        self.place = self._places(spec, rng)
        self.read_ns = self._read_times(spec, rng)
        self.is_stored = (rng.random(DRAWS) < self.stored[0]).tolist()
        delays_ns = spec.host.overhead * rng.uniform(1 - JITTER, 1 + JITTER, DRAWS)
        self.delays_ns: list[float] = delays_ns.tolist()
        self.gaps_ns = self._gaps(rng) if self.open_loop else None

    def deviation(self) -> float:
        """The relative standard error of the mean latency, from the means of parts.

        A kind too rare to say is left out.
        """
        means_ns = np.zeros(PARTS)
        for kind, sample in zip(self.kinds, self.samples, strict=True):
            if len(sample) >= PARTS:
                parts = np.array_split(np.array(sample), PARTS)
                means_ns += kind.share * np.array([part.mean() for part in parts])
        error_ns = float(means_ns.std(ddof=1)) / sqrt(PARTS)
        return error_ns / float(means_ns.mean()) if error_ns else 0.0

    def _choices(self, rng: np.random.Generator) -> list[int]:
        """Kinds in their shares, as exactly as so many draws allow."""
        ends = np.cumsum(self.lane.shares)
        places = (np.arange(DRAWS) + rng.random()) / DRAWS * ends[-1]
        found = rng.permutation(np.searchsorted(ends, places))
        return [int(one) for one in np.minimum(found, len(self.kinds) - 1)]

    def _places(self, spec: DriveSpec, rng: np.random.Generator) -> list[int]:
        """Pages of the dies where the I/Os begin."""
        stream, pages = self.lane.stream, self.lane.mean_bytes / spec.flash.page
        if stream.pattern == "sequential":
            return [int(n * pages) for n in range(DRAWS)]
        region = stream.region_bytes
        slots = max(1, int(region // max(self.lane.mean_bytes, MAP_BYTES)))
        drawn = (quantiles(stream, DRAWS, rng) * slots).astype(np.int64)
        return [int(one) for one in scattered(stream, drawn, slots) * 7919 % 1_000_003]

    def _read_times(self, spec: DriveSpec, rng: np.random.Generator) -> list[float]:
        spread = spec.flash.spread / 100
        times = 1 + spread * np.linspace(-1, 1, DRAWS)
        retries = int(DRAWS * spec.flash.retries / 100 + rng.random())
        times = rng.permutation(times)
        times[:retries] *= RETRY_TIMES
        mean = times.mean()
        return [float(t) for t in rng.permutation(times) * spec.flash.read / mean]

    def _gaps(self, rng: np.random.Generator) -> list[float]:
        gap_ns, rate = 1 / self.lane.rate_per_ns, self.lane.stream.rate
        if rate and rate.arrivals == "poisson":
            drawn = rng.exponential(1.0, DRAWS)
            return [float(one) for one in drawn / drawn.mean() * gap_ns]
        return [gap_ns] * DRAWS


class Write(NamedTuple):
    """A write on its way to the buffer."""

    task: Task
    kind: int
    intended_ns: float
    die: int


class Batch:
    """The drive at work on some tasks."""

    def __init__(
        self,
        spec: DriveSpec,
        tasks: list[Task],
        condition: Condition,
        rng: np.random.Generator,
    ) -> None:
        flash, host = spec.flash, spec.host
        self.spec, self.tasks = spec, tasks
        self.dies, self.channels = flash.dies, flash.channels
        self.die_ns = [0.0] * flash.dies
        self.channel_ns = [0.0] * flash.channels
        self.command_ns = self.in_ns = self.out_ns = 0.0
        self.each_command_ns = 1e9 / host.commands
        self.link_ns, self.wire_ns = 1e9 / host.bandwidth, 1e9 / flash.channel_bandwidth
        self.unit = spec.unit_pages
        self.program_ns = spec.cache.program if condition.cached else flash.program
        self.copy_ns = flash.program + self.unit / spec.page_pages * flash.read
        self.copies = condition.copies
        block_pages = flash.erase_block / MAP_BYTES / flash.dies
        self.erase_share = 0.0 if flash.in_place else self.unit / block_pages
        self.copy_debt, self.erase_debt = rng.random(2).tolist()
        self.erases = 0.0
        self.events: list[tuple[float, int, int, object]] = []
        self.serial = self.finished = self.measured = self.page_ops = 0
        handlers = (self._arrive, self._freed, self._admit, self._programmed)
        self.handlers: tuple[Callable[[float, Any], None], ...] = handlers
        self._buffer(rng)

    def _buffer(self, rng: np.random.Generator) -> None:
        """It begins full if there are writes, as it soon would be if they are many.

        A larger buffer than two units a die changes only how long that takes.
        """
        self.most_pages = max(
            self.unit,
            min(self.spec.buffer.size // MAP_BYTES, 2 * self.dies * self.unit),
        )
        self.held_pages = self.loose_pages = 0.0
        self.first_pages = 0.0
        self.blocked: deque[Write] = deque()
        self.idle = [int(die) for die in rng.permutation(self.dies)]
        if any(task.lane.written_pages for task in self.tasks):
            self.held_pages = self.loose_pages = float(self.most_pages)
            self.first_pages = self.held_pages
            starts = (rng.random(self.dies) * self.program_ns).tolist()
            while self.idle and self.loose_pages >= self.unit:
                self.loose_pages -= self.unit
                self._occupy(self.idle.pop(), starts.pop(), PROGRAMMED)

    def _push(self, time_ns: float, what: int, about: object) -> None:
        self.serial += 1
        heappush(self.events, (time_ns, self.serial, what, about))

    def run(self) -> None:
        """Fill the samples of the tasks."""
        self.outstanding = sum(task.lane.outstanding for task in self.tasks)
        for task in self.tasks:
            self._begin(task)
        self._warm_up()
        self.measured = self.page_ops = 0
        self.erases = 0.0
        for task in self.tasks:
            task.samples = [[] for _ in task.kinds]
        work = LEAST_WORK
        self._follow(work)
        while work < MOST_WORK and not self._is_enough():
            work = min(2 * work, MOST_WORK)
            self._follow(work)

    def _follow(self, work: int) -> None:
        """Let events happen until so much is done, each I/O once at least."""
        while self._work() < work or self.measured < self.outstanding:
            for _ in range(EVENTS):
                self._next()
        self._round_off()

    def _round_off(self) -> None:
        """Go on to a whole number of erases: each holds up all reads for so long
        that one too many or too few would tell. Unless they are too rare for that.
        """
        rare = self.erases * MOST_ROUNDED < self._work()
        goal = ceil(self.erases)
        while self.erases < goal and not rare and self._work() < MOST_ROUNDED:
            self._next()

    def _work(self) -> int:
        return max(self.measured, self.page_ops // PAGES)

    def _is_enough(self) -> bool:
        return all(task.deviation() < ENOUGH for task in self.tasks)

    def _next(self) -> None:
        """Let the next event happen."""
        time_ns, _, what, about = heappop(self.events)
        self.handlers[what](time_ns, about)

    def _warm_up(self) -> None:
        """Wait until what the buffer held at first is programmed, with all that this
        made the dies do."""
        while self._work() < MOST_WORK and not self._is_drained():
            self._next()
        end_ns = max(self.die_ns)
        while self.events[0][0] < end_ns:
            self._next()

    def _is_drained(self) -> bool:
        owing = (
            self.copy_debt >= 1 or self.erase_debt >= 1 or self.first_pages >= self.unit
        )
        return self.finished >= self.outstanding and not owing

    def _begin(self, task: Task) -> None:
        if task.gaps_ns:
            self._push(task.gaps_ns[0], ARRIVED, task)
            return
        for slot in range(task.free):
            self._push(slot * 50.0, FREED, task)
        task.free = 0

    # events

    def _arrive(self, now_ns: float, task: Task) -> None:
        """A rated I/O is due."""
        assert task.gaps_ns
        gap_ns = task.gaps_ns[(task.number + len(task.waiting)) % DRAWS]
        self._push(now_ns + gap_ns, ARRIVED, task)
        if task.free:
            task.free -= 1
            self._issue(now_ns, task, now_ns)
        else:
            task.waiting.append(now_ns)

    def _freed(self, now_ns: float, task: Task) -> None:
        """An I/O is complete: the next one, if it is due."""
        self.finished += 1
        if task.gaps_ns is None:
            self._issue(now_ns, task, now_ns)
        elif task.waiting:
            self._issue(now_ns, task, task.waiting.popleft())
        else:
            task.free += 1

    def _issue(self, now_ns: float, task: Task, intended_ns: float) -> None:
        number = task.number % DRAWS
        if not number and task.number:
            task.draw()
        task.number += 1
        choice = task.choice[number]
        kind = task.kinds[choice]
        self.command_ns = max(self.command_ns, now_ns) + self.each_command_ns
        start_ns = self.command_ns - self.each_command_ns + task.delays_ns[number]
        if kind.direction == "read":
            done_ns = self._read(start_ns, task, kind, number)
            self._done(done_ns, task, choice, intended_ns)
        elif kind.direction == "write":
            self.in_ns = max(self.in_ns, start_ns) + kind.size_bytes * self.link_ns
            write = Write(task, choice, intended_ns, task.place[number] % self.dies)
            self._push(self.in_ns, ADMITTED, write)
        else:
            self._done(start_ns + self.spec.host.trim, task, choice, intended_ns)

    def _done(
        self,
        done_ns: float,
        task: Task,
        choice: int,
        intended_ns: float,
        rest_ns: float = 0,
    ) -> None:
        task.samples[choice].append(done_ns - intended_ns)
        self.measured += 1
        self._push(done_ns + rest_ns, FREED, task)

    def _read(self, start_ns: float, task: Task, kind: Kind, number: int) -> float:
        """When a read is complete. Pages of a die that are read twice in a row, in
        order, are read once; what is not stored is not read at all."""
        size = kind.size_bytes
        self.out_ns = max(self.out_ns, start_ns) + size * self.link_ns
        if not task.is_stored[number]:
            return max(self.out_ns, start_ns + size * self.link_ns)
        first, count = task.place[number], max(1, round(kind.pages / task.piece))
        if task.lane.stream.pattern == "sequential" and count == 1:
            if first == task.page:
                return max(self.out_ns, task.ready_ns, start_ns + size * self.link_ns)
            task.page = first
        part_ns = max(size, MAP_BYTES) / count * self.wire_ns
        last_ns = self._pages(start_ns, task, first, count, number, part_ns)
        task.ready_ns = last_ns + min(size, self.spec.flash.page) * self.link_ns
        return max(self.out_ns, task.ready_ns)

    def _pages(
        self,
        start_ns: float,
        task: Task,
        first: int,
        count: int,
        number: int,
        part_ns: float,
    ) -> float:
        """When the last of some pages of the dies is read and transferred."""
        die_ns, channel_ns, read_ns = self.die_ns, self.channel_ns, task.read_ns
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
            last_ns = max(last_ns, free_ns + part_ns, busy_ns)
        self.page_ops += count
        return last_ns

    # writes

    def _admit(self, now_ns: float, write: Write) -> None:
        """A write has come over the link; it waits while the buffer is full."""
        if self.blocked or self.held_pages >= self.most_pages:
            self.blocked.append(write)
        else:
            self._accept(now_ns, write)

    def _accept(self, now_ns: float, write: Write) -> None:
        task, kind = write.task, write.task.kinds[write.kind]
        self.held_pages += kind.pages
        self.loose_pages += kind.pages
        self.page_ops += 1 + int(kind.pages) // self.unit
        if kind.partial:
            merged_ns = max(self.die_ns[write.die], now_ns) + self.spec.flash.read
            self.die_ns[write.die] = merged_ns
        task.writes += 1
        every = task.lane.stream.sync_every
        flush_ns = self.spec.buffer.flush if every and task.writes % every == 0 else 0
        self._done(now_ns, task, write.kind, write.intended_ns, flush_ns)
        while self.idle and self.loose_pages >= self.unit:
            self.loose_pages -= self.unit
            self._occupy(self.idle.pop(), now_ns, PROGRAMMED)

    def _occupy(self, die: int, now_ns: float, what: int) -> None:
        """Let a die program a unit."""
        self.die_ns[die] = max(self.die_ns[die], now_ns) + self.program_ns
        self.copy_debt += self.copies
        erases = (1 + self.copies) * self.erase_share
        self.erase_debt += erases
        self.erases += erases
        self._push(self.die_ns[die], what, (die, self.unit))

    def _programmed(self, now_ns: float, about: tuple[int, int]) -> None:
        """A die has done its work: room in the buffer, and what it does next."""
        die, pages = about
        self.held_pages -= pages
        self.first_pages -= pages
        while self.blocked and self.held_pages < self.most_pages:
            self._accept(now_ns, self.blocked.popleft())
        if self.erase_debt >= 1:
            self.erase_debt -= 1
            self._background(die, now_ns, self.spec.flash.erase)
        elif self.copy_debt >= 1:
            self.copy_debt -= 1
            self._background(die, now_ns, self.copy_ns)
        elif self.loose_pages >= self.unit:
            self.loose_pages -= self.unit
            self._occupy(die, now_ns, PROGRAMMED)
        else:
            self.idle.append(die)

    def _background(self, die: int, now_ns: float, work_ns: float) -> None:
        self.die_ns[die] = max(self.die_ns[die], now_ns) + work_ns
        self._push(self.die_ns[die], PROGRAMMED, (die, 0))


ARRIVED, FREED, ADMITTED, PROGRAMMED = range(4)
