"""The counts of several hosts, added up: every count and every bin, exactly."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence

from ioplan.job import Counts, Cpu, Job, Progress, Result, StreamCounts
from ioplan.workload import DIRECTIONS, Direction

Place = tuple[bool, int]
"""Whether it is measured, and the number of the interval."""


def added(parts: Sequence[Counts]) -> Counts:
    """The sum; extremes are those of the parts that have any I/O."""
    done = [part for part in parts if part.ios]
    bins: Counter[int] = Counter()
    for part in parts:
        for index, count in zip(part.bins[::2], part.bins[1::2], strict=True):
            bins[index] += count
    return Counts(
        ios=sum(part.ios for part in parts),
        bytes=sum(part.bytes for part in parts),
        errors=sum(part.errors for part in parts),
        min_ns=min((part.min_ns for part in done), default=0),
        max_ns=max((part.max_ns for part in done), default=0),
        sum_ns=sum(part.sum_ns for part in parts),
        sum_sq_ns2=sum(part.sum_sq_ns2 for part in parts),
        bins=tuple(number for index in sorted(bins) for number in (index, bins[index])),
    )


def added_streams(
    job: Job, parts: Iterable[Sequence[StreamCounts]]
) -> tuple[StreamCounts, ...]:
    """Streams of a name are one, in the order of the job."""
    named: defaultdict[str, list[StreamCounts]] = defaultdict(list)
    for streams in parts:
        for stream in streams:
            named[stream.name].append(stream)
    return tuple(_stream(stream.name, named[stream.name]) for stream in job.streams)


def _stream(name: str, parts: list[StreamCounts]) -> StreamCounts:
    return StreamCounts(
        name=name,
        run_ns=max((part.run_ns for part in parts if part.run_ns), default=None),
        directions=dict(_directions(parts)),
        sync_ios=sum(part.sync_ios for part in parts),
        backlog_ios=sum(part.backlog_ios for part in parts),
        verified_bytes=sum(part.verified_bytes for part in parts),
        verify_errors=sum(part.verify_errors for part in parts),
    )


def _directions(parts: list[StreamCounts]) -> Iterator[tuple[Direction, Counts]]:
    for direction in DIRECTIONS:
        found = [p.directions[direction] for p in parts if direction in p.directions]
        if found:
            yield direction, added(found)


def added_results(job: Job, results: Sequence[Result]) -> Result:
    """All that was done, in the time of the slowest."""
    return Result(
        run_ns=max(one.run_ns for one in results),
        stopped=any(one.stopped for one in results),
        streams=added_streams(job, [one.streams for one in results]),
        cpu=Cpu(
            user_ns=sum(one.cpu.user_ns for one in results),
            system_ns=sum(one.cpu.system_ns for one in results),
        ),
    )


class Series:
    """Intervals of hosts that began together: one of all when each has told its."""

    def __init__(self, job: Job, hosts: Iterable[str]) -> None:
        self.job = job
        self.reached: dict[str, Place] = dict.fromkeys(hosts, (False, 0))
        self.waiting: defaultdict[Place, list[Progress]] = defaultdict(list)
        self.last: Place = (False, 0)
        self.t_ns = 0

    def add(self, host: str, progress: Progress) -> Iterator[Progress]:
        """What is complete now."""
        place = self._place(progress)
        self.waiting[place].append(progress)
        self.reached[host] = max(place, self.reached[host])
        yield from self._due(min(self.reached.values()))

    def _place(self, progress: Progress) -> Place:
        """Backends tell at about the same times, not at the same ns.

        The last interval may be short, and is a place of its own.
        """
        usual_ns = self.job.interval_ns
        middle_ns = progress.t_ns - min(progress.interval_ns, usual_ns) // 2
        return (not progress.warmup, middle_ns // usual_ns + 1)

    def rest(self) -> Iterator[Progress]:
        """What is left when all have ended."""
        yield from self._due(max(self.waiting, default=(False, 0)))

    def _due(self, until: Place) -> Iterator[Progress]:
        for place in sorted(one for one in self.waiting if one <= until):
            yield self._added(place, self.waiting.pop(place))

    def _added(self, place: Place, parts: list[Progress]) -> Progress:
        if place[0] != self.last[0]:
            self.t_ns = 0
        t_ns = max(self.t_ns + 1, *(one.t_ns for one in parts))
        interval_ns, self.t_ns, self.last = t_ns - self.t_ns, t_ns, place
        return Progress(
            t_ns=t_ns,
            interval_ns=interval_ns,
            warmup=not place[0],
            streams=added_streams(self.job, [one.streams for one in parts]),
        )
