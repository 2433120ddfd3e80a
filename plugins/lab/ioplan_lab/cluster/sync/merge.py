"""The exact sum of several hosts' counts, histogram bins included."""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence

from ioplan.job import Counts, Cpu, Job, Progress, Result, StreamCounts
from ioplan.workload import COUNTED, Direction

IntervalKey = tuple[bool, int]
"""Whether the interval is measured, not warm-up; and its number."""


def sum_counts(parts: Sequence[Counts]) -> Counts:
    """The sum; minimum and maximum are of the parts that did any I/O."""
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


def sum_streams(
    job: Job, parts: Iterable[Sequence[StreamCounts]]
) -> tuple[StreamCounts, ...]:
    """Adds up the streams of the same name; in the job's order."""
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
    for direction in COUNTED:
        found = [p.directions[direction] for p in parts if direction in p.directions]
        if found:
            yield direction, sum_counts(found)


def sum_results(job: Job, results: Sequence[Result]) -> Result:
    """The sum, in the time of the slowest."""
    return Result(
        run_ns=max(one.run_ns for one in results),
        stopped=any(one.stopped for one in results),
        streams=sum_streams(job, [one.streams for one in results]),
        cpu=_sum_cpu([one.cpu for one in results]),
    )


def _sum_cpu(parts: Sequence[Cpu | None]) -> Cpu | None:
    known = [one for one in parts if one]
    if len(known) < len(parts):
        return None
    return Cpu(
        user_ns=sum(one.user_ns for one in known),
        system_ns=sum(one.system_ns for one in known),
    )


class IntervalMerger:
    """Adds up the intervals of hosts that started together, as they come in."""

    def __init__(self, job: Job, hosts: Iterable[str]) -> None:
        self.job = job
        self.reached: dict[str, IntervalKey] = dict.fromkeys(hosts, (False, 0))
        self.waiting: defaultdict[IntervalKey, list[Progress]] = defaultdict(list)
        self.last: IntervalKey = (False, 0)
        self.t_ns = 0

    def add(self, host: str, progress: Progress) -> Iterator[Progress]:
        """Add a host's interval; yields the sums that are complete with it."""
        key = self._key(progress)
        self.waiting[key].append(progress)
        self.reached[host] = max(key, self.reached[host])
        yield from self._sums(min(self.reached.values()))

    def _key(self, progress: Progress) -> IntervalKey:
        """Backends report at about the same times, not at the same nanosecond.

        The last interval may be short, and has a number of its own.
        """
        usual_ns = self.job.interval_ns
        middle_ns = progress.t_ns - min(progress.interval_ns, usual_ns) // 2
        return (not progress.warmup, middle_ns // usual_ns + 1)

    def end(self, host: str) -> Iterator[Progress]:
        """A host is done, whose streams may end before those of others."""
        self.reached[host] = (True, sys.maxsize)
        yield from self._sums(min(self.reached.values()))

    def rest(self) -> Iterator[Progress]:
        """The sums that are left when all hosts have ended."""
        yield from self._sums(max(self.waiting, default=(False, 0)))

    def _sums(self, until: IntervalKey) -> Iterator[Progress]:
        for key in sorted(one for one in self.waiting if one <= until):
            yield self._sum(key, self.waiting.pop(key))

    def _sum(self, key: IntervalKey, parts: list[Progress]) -> Progress:
        if key[0] != self.last[0]:
            self.t_ns = 0
        t_ns = max(self.t_ns + 1, *(one.t_ns for one in parts))
        interval_ns, self.t_ns, self.last = t_ns - self.t_ns, t_ns, key
        return Progress(
            t_ns=t_ns,
            interval_ns=interval_ns,
            warmup=not key[0],
            streams=sum_streams(self.job, [one.streams for one in parts]),
        )
