"""Coordinates a run that several hosts do together, and merges it into one result."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from ioplan.backends import BackendError, Gap, JobStream
from ioplan.core import Cause, Closing
from ioplan.job import Event, Failure, Job, Progress, Result, Started
from ioplan.planner import digest
from ioplan_lab.together.link import END_S, Links
from ioplan_lab.together.merge import IntervalMerger, sum_results
from ioplan_lab.together.messages import SILENT_S, Message, Opened, Part

MAX_SKEW_NS = 2_000_000
LEAD_NS = 150_000_000
"""From sending the start time to the start: all hosts must have received it by then."""


def jobs_of_hosts(job: Job, leader: str) -> dict[str, Job]:
    """Each host's job, as if there were no other; it is told when to begin.

    A stream without hosts is the leader's. The seeds, and so the offsets, differ.
    """
    streams: defaultdict[str, list[JobStream]] = defaultdict(list)
    for stream in job.streams:
        for host in stream.hosts or (leader,):
            streams[host].append(_stream(stream, host))
    jobs: dict[str, Job] = {}
    for host, own in streams.items():
        seed = int(digest(job.seed, host), 16)
        change = {"streams": tuple(own), "seed": seed, "await_start": True}
        jobs[host] = job.model_copy(update=change)
    return jobs


def _stream(stream: JobStream, host: str) -> JobStream:
    """Sequential streams get disjoint parts of the region, as threads do."""
    change: dict[str, Any] = {"hosts": ()}
    count = len(stream.hosts)
    if count > 1 and stream.pattern != "random":
        sizes = (*stream.read_sizes, *stream.write_sizes)
        bytes_each = (size.size_bytes for size in sizes)
        unit_bytes = max(*bytes_each, stream.align_bytes or 0)
        part_bytes = stream.region_bytes // count // unit_bytes * unit_bytes
        start = stream.region_start_bytes + stream.hosts.index(host) * part_bytes
        change["region_start_bytes"] = start
        change["region_end_bytes"] = start + part_bytes
    return stream.model_copy(update=change)


def region_gaps(part: Job) -> list[Gap]:
    """A gap for each stream whose region is too small to be split."""
    reason = "its region has no room for a part of each host"
    return [
        Gap(stream=stream.name, field="region", reason=reason)
        for stream in part.streams
        if stream.region_end_bytes <= stream.region_start_bytes
    ]


class CoordinatedExecution(Closing):
    """A run in progress on its hosts."""

    def __init__(
        self, links: Links, job: Job, opened: Mapping[str, Opened], never_waits: bool
    ) -> None:
        """Raises BackendError where a host is lost."""
        self.links, self.job, self.opened = links, job, opened
        self.never_waits, leader = never_waits, next(iter(opened))
        jobs = jobs_of_hosts(job, leader)
        self.hosts = list(jobs)
        self.merger = IntervalMerger(job, self.hosts)
        self.ready: dict[str, str] = {}
        self.parts: dict[str, Part] = {}
        self.starts: dict[str, dict[str, int]] = {}
        self.failure: Failure | None = None
        for host, own in jobs.items():
            links[host].order(Message(what="start", job=own))

    def __iter__(self) -> Iterator[Event]:
        while len(self.ready) < len(self.hosts) and self.under_way:
            yield from self._next()
        if self.under_way and not self.failure:
            self._set_start()
            yield Started(mode=self.ready[self.hosts[0]])
        while self.under_way:
            yield from self._next()
        yield self.failure or self._result()

    @property
    def under_way(self) -> list[str]:
        """The hosts that have not ended."""
        return [host for host in self.hosts if host not in self.parts]

    def _next(self) -> Iterator[Progress]:
        """Take the next message; yields the intervals that are complete with it."""
        host, message = self.links.receive()
        if host not in self.under_way:
            return
        match message:
            case Message(what="ready"):
                self.ready[host] = message.text
            case Message(progress=Progress() as progress):
                yield from self.merger.add(host, progress)
            case Message(part=Part() as part):
                yield from self._end(host, part)
            case Message(what="lost" | "failed"):
                alone = f"; its I/O ends by itself within {SILENT_S:g} s"
                text = message.text + alone * (message.what == "lost")
                cause = message.error or Cause.BACKEND_ERROR
                yield from self._end(host, Part(cause=cause, text=text))

    def _end(self, host: str, part: Part) -> Iterator[Progress]:
        """One host that fails ends the run on all."""
        self.parts[host] = part
        yield from self.merger.end(host)
        if part.cause and not (part.cause == Cause.INTERRUPTED and part.result):
            rest = "; the other hosts were stopped" * (len(self.hosts) > 1)
            self._fail(part.cause, f"{host}: {part.text}{rest}")

    def _fail(self, cause: str, text: str) -> None:
        self.failure = self.failure or Failure(cause=cause, message=text)
        self.stop()

    def _set_start(self) -> None:
        """Give all hosts one instant, each by its own clock."""
        try:
            clocks = self.links.offsets(self.hosts)
        except BackendError as error:
            self._fail(error.kind, str(error))
            return
        at_ns = time.time_ns() + LEAD_NS
        for host, clock in clocks.items():
            agreed_ns = at_ns + clock.offset_ns
            self.links[host].send(Message(what="go", at_ns=agreed_ns))
            known = {f"clock_{name}": value for name, value in clock._asdict().items()}
            self.starts[host] = {"agreed_ns": agreed_ns, **known}

    def _begin(self, host: str) -> dict[str, int] | None:
        """When a host was to begin, and when it did, by its own clock; None on a
        simulated drive."""
        actual_ns = self.parts[host].facts["backend"].get("started_ns")
        if not actual_ns or host not in self.starts:
            return None
        start = self.starts[host]
        late_ns = actual_ns - start["agreed_ns"]
        return {**start, "actual_ns": actual_ns, "late_ns": late_ns}

    def _result(self) -> Result:
        begins, hosts, warnings = dict[str, dict[str, int]](), {}, list[str]()
        for host in self.hosts:
            part, own = self.parts[host], self.opened[host]
            if begin := self._begin(host):
                begins[host] = begin
            machine = own.model_dump(include={"options", "machine"})
            hosts[host] = {"start": begin, **part.facts, **machine}
            warnings += [f"{host}: {text}" for text in part.warnings]
        skew, late = skew_of(begins) if len(begins) > 1 else ({}, [])
        facts = {"hosts": hosts, **skew}
        change = {"facts": facts, "warnings": (*warnings, *late)}
        results = [part.result for part in self.parts.values() if part.result]
        return sum_results(self.job, results).model_copy(update=change)

    def stop(self) -> None:
        """End the I/O on all hosts; their results still come."""
        for host in self.under_way:
            self.links[host].send(Message(what="stop"))

    kill = stop
    """Each host kills by itself what does not end when it is stopped."""

    def close(self) -> None:
        """Stop all hosts; the links to those that do not end in time are cut."""
        self.stop()
        deadline_s = time.monotonic() + END_S
        while self.under_way and time.monotonic() < deadline_s:
            list(self._next())
        for host in self.under_way:
            self.links[host].cut()


def skew_of(
    begins: Mapping[str, dict[str, int]],
) -> tuple[dict[str, int], list[str]]:
    """From the first host's start to the last one's, for a record; and warnings.

    Its uncertainty is the sum of the two largest ones of the clocks.
    """
    first, *_, last = sorted(begins, key=lambda host: begins[host]["late_ns"])
    skew_ns = begins[last]["late_ns"] - begins[first]["late_ns"]
    uncertain_ns = sorted(one["clock_uncertainty_ns"] for one in begins.values())
    known_ns = sum(uncertain_ns[-2:])
    facts = {"start_skew_ns": skew_ns, "start_skew_uncertainty_ns": known_ns}
    late = (
        f"{last} began {skew_ns / 1e6:.1f} ms after {first} (known to "
        f"{known_ns / 1e6:.1f} ms); more than {MAX_SKEW_NS / 1e6:g} ms"
    )
    return facts, [late] if skew_ns > MAX_SKEW_NS else []
