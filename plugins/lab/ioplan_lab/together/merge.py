"""The exact sum of several hosts' counts, histogram bins included."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from ioplan.job import Counts, Cpu, Job, Progress, Result, StreamCounts
from ioplan.results.measure import CountsBuilder
from ioplan.workload import COUNTED

STREAM_SUMS = ("sync_ios", "backlog_ios", "verified_bytes", "verify_errors")
Streams = tuple[StreamCounts, ...]
IntervalKey = tuple[bool, int]
"""Whether the interval is measured, not warm-up; and its number."""


def sum_counts(parts: Sequence[Counts]) -> Counts:
    """The sum; minimum and maximum are of the parts that did any I/O."""
    return CountsBuilder.merged(parts).counts()


def sum_streams(job: Job, hosts: Sequence[Progress | Result]) -> Streams:
    """Adds up the streams of the same name; in the job's order."""
    parts = [part for host in hosts for part in host.streams]
    return tuple(sum_stream(stream.name, parts) for stream in job.streams)


def sum_stream(name: str, all_parts: Sequence[StreamCounts]) -> StreamCounts:
    """One stream on its hosts, none of which may be there; the time is the longest."""
    parts = [part for part in all_parts if part.name == name]
    directions = {
        one: [part.directions[one] for part in parts if one in part.directions]
        for one in COUNTED
    }
    return StreamCounts(
        name=name,
        run_ns=max((part.run_ns for part in parts if part.run_ns), default=None),
        directions={n: sum_counts(found) for n, found in directions.items() if found},
        **{key: sum(getattr(part, key) for part in parts) for key in STREAM_SUMS},
    )


def sum_results(job: Job, results: Sequence[Result]) -> Result:
    """The sum, in the time of the slowest; CPU time only where all have it."""
    cpus = [one.cpu for one in results if one.cpu]
    cpu = Cpu(
        user_ns=sum(one.user_ns for one in cpus),
        system_ns=sum(one.system_ns for one in cpus),
    )
    return Result(
        run_ns=max(one.run_ns for one in results),
        stopped=any(one.stopped for one in results),
        streams=sum_streams(job, results),
        cpu=cpu if len(cpus) == len(results) else None,
    )


class IntervalMerger:
    """Adds up the intervals of hosts that started together, as they come in."""

    def __init__(self, job: Job, hosts: Iterable[str]) -> None:
        self.job = job
        self.reached: dict[str, IntervalKey] = dict.fromkeys(hosts, (False, 0))
        self.waiting: defaultdict[IntervalKey, list[Progress]] = defaultdict(list)
        self.t_ns = {True: 0, False: 0}

    def add(self, host: str, progress: Progress) -> Iterator[Progress]:
        """Add a host's interval; yields the sums that are complete with it.

        Backends report at about the same times, not at the same nanosecond; the last
        interval may be short, and has a number of its own.
        """
        usual_ns = self.job.interval_ns
        middle_ns = progress.t_ns - min(progress.interval_ns, usual_ns) // 2
        key = (not progress.warmup, middle_ns // usual_ns + 1)
        self.waiting[key].append(progress)
        self.reached[host] = max(key, self.reached[host])
        yield from self._sums()

    def end(self, host: str) -> Iterator[Progress]:
        """A host is done, whose streams may end before those of others."""
        self.reached[host] = (True, sys.maxsize)
        yield from self._sums()

    def _sums(self) -> Iterator[Progress]:
        until = min(self.reached.values())
        for key in sorted(one for one in self.waiting if one <= until):
            yield self._sum(key, self.waiting.pop(key))

    def _sum(self, key: IntervalKey, parts: list[Progress]) -> Progress:
        is_measured, before_ns = key[0], self.t_ns[key[0]]
        t_ns = max(before_ns + 1, *(part.t_ns for part in parts))
        self.t_ns[is_measured] = t_ns
        return Progress(
            t_ns=t_ns,
            interval_ns=t_ns - before_ns,
            warmup=not is_measured,
            streams=sum_streams(self.job, parts),
        )
