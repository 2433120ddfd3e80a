"""Coordinates a run that several hosts do together, and merges it into one result."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct, field

from ioplan.backends import Gap, JobStream
from ioplan.core import Closing
from ioplan.job import (
    Event,
    Failure,
    Job,
    Progress,
    Result,
    Started,
    events,
)
from ioplan.planner import digest
from ioplan.results.measure import Measurement
from ioplan.runner import device_failure, errors_in
from ioplan_lab.cluster.errors import ClusterError
from ioplan_lab.cluster.sync.channel import Channels
from ioplan_lab.cluster.sync.merge import IntervalMerger, sum_results
from ioplan_lab.cluster.sync.messages import SILENT_S
from ioplan_lab.cluster.sync.participant import END_S
from ioplan_lab.cluster.sync.start_skew import (
    LEAD_NS,
    Offset,
    Start,
    skew_of,
    skew_warning,
)

# Splits a job between several hosts.


def hosts_of(job: Job, leader: str) -> list[str]:
    """The hosts of its streams, each once; a stream without hosts is the leader's."""
    return list(dict.fromkeys(h for s in job.streams for h in s.hosts or (leader,)))


def job_of_host(job: Job, host: str, leader: str) -> Job:
    """One host's job. Its seed, and so its offsets, differ from the other hosts'."""
    streams = tuple(
        _stream(stream, host) for stream in job.streams if host in _of(stream, leader)
    )
    seed = int(digest(job.seed, host), 16)
    return job.model_copy(update={"streams": streams, "seed": seed})


def region_gaps(part: Job) -> list[Gap]:
    """A gap for each stream whose region is too small to be split."""
    reason = "its region has no room for a part of each host"
    return [
        Gap(stream=stream.name, field="region", reason=reason)
        for stream in part.streams
        if stream.region_end_bytes <= stream.region_start_bytes
    ]


def _of(stream: JobStream, leader: str) -> Sequence[str]:
    return stream.hosts or (leader,)


def _stream(stream: JobStream, host: str) -> JobStream:
    """Sequential streams get disjoint parts of the region, as threads do."""
    count = len(stream.hosts)
    if count < 2 or stream.pattern == "random":
        return stream
    number, unit_bytes = stream.hosts.index(host), _unit_bytes(stream)
    part_bytes = stream.region_bytes // count // unit_bytes * unit_bytes
    start = stream.region_start_bytes + number * part_bytes
    change = {"region_start_bytes": start, "region_end_bytes": start + part_bytes}
    return stream.model_copy(update=change)


def _unit_bytes(stream: JobStream) -> int:
    sizes = (*stream.read_sizes, *stream.write_sizes)
    return max(*(one.size_bytes for one in sizes), stream.align_bytes or 0)


UNKNOWN = Offset(0, 0)
POLL_S = 0.5
DISCONNECT_S = END_S + 5


class HostRun(Struct):
    """What is known of one host's part of the run."""

    host: str
    measurement: Measurement = field(default_factory=Measurement)
    errors: int = 0
    over: bool = False
    agreed_ns: int = 0
    clock: Offset = UNKNOWN
    more: dict[str, Any] = {}

    def add(self, event: Event) -> None:
        """Count what this host has done."""
        self.measurement.add(event)
        if isinstance(event, Progress):
            self.errors += errors_in(event)

    @property
    def is_ready(self) -> bool:
        return self.measurement.started is not None

    @property
    def result(self) -> Result | None:
        return self.measurement.result

    def problem(self, target: str, stopped: bool) -> Failure | None:
        """Why this host's part cannot be used; `stopped` says that it was told to."""
        found = self.measurement.failure
        found = found or device_failure(target, self.errors, self.measurement)
        if found:
            return found
        if self.over and self.result is None:
            return Failure(cause="no-result", message="it ended without a result")
        if self.result and self.result.stopped and not stopped:
            return Failure(cause="short", message="something stopped the run there")
        return None

    def start(self) -> Start | None:
        """When it started; None if it did not report that."""
        actual_ns = self.measurement.facts.get("started_ns")
        return Start(self.agreed_ns, actual_ns, self.clock) if actual_ns else None

    def facts(self) -> dict[str, Any]:
        """What a record has of this host alone."""
        start, measured = self.start(), self.measurement
        return {
            "start": start.facts() if start else None,
            "run_ns": measured.run_ns,
            "streams": [one.model_dump(mode="json") for one in measured.streams],
            "total": measured.total.model_dump(mode="json"),
            "cpu_percent": measured.cpu_percent,
            "backend": measured.facts,
            **self.more,
        }


class CoordinatedExecution(Closing):
    """A run in progress on its hosts."""

    def __init__(
        self,
        channels: Channels,
        job: Job,
        leader: str,
        names: dict[str, str],
        machines: dict[str, dict[str, Any]],
    ) -> None:
        """`names` has each host's name of the target, `machines` each host's facts."""
        self.channels, self.job, self.names = channels, job, names
        self.machines = machines
        self.runs = {host: HostRun(host) for host in hosts_of(job, leader)}
        self.merger = IntervalMerger(job, self.runs)
        self.stopped = self.ending = False
        self.failure: Failure | None = None
        self.failed_host = ""
        for host in self.runs:
            part = job_of_host(job, host, leader)
            channels.send(host, do="start", job=part.model_dump(mode="json"))

    def __iter__(self) -> Iterator[Event]:
        yield from self._until_ready()
        if self._all_ready():
            self._set_start()
            yield self._started()
        while not self._all_over():
            yield from self._next()
        yield from self.merger.rest()
        yield self.failure or self._result()

    # ---- what the hosts report

    def _until_ready(self) -> Iterator[Event]:
        while not self._all_ready() and not self._all_over():
            yield from self._next()

    def _all_ready(self) -> bool:
        return all(run.is_ready and not run.over for run in self.runs.values())

    def _all_over(self) -> bool:
        return all(run.over for run in self.runs.values())

    def _next(self) -> Iterator[Event]:
        received = self.channels.receive(POLL_S)
        if received is None or received[0] not in self.runs:
            return
        run, message = self.runs[received[0]], received[1]
        match message["said"]:
            case "event":
                event = events().validate_python(message["event"])
                run.add(event)
                if isinstance(event, Progress):
                    yield from self.merger.add(run.host, event)
            case "over":
                run.over = True
                run.more = {k: message[k] for k in ("telemetry", "warnings")}
                yield from self.merger.end(run.host)
            case "lost":
                run.over = True
                text = (
                    f"it is lost ({message['text']}); its I/O ends by itself after "
                    f"{SILENT_S:.0f} s without a word from here"
                )
                run.add(Failure(cause="host-lost", message=text))
        self._check(run)

    def _check(self, run: HostRun) -> None:
        """One host that fails ends the run on all."""
        found = run.problem(self.names[run.host], self.stopped or self.ending)
        if found and (self.failure is None or run.host == self.failed_host):
            self.failed_host = run.host
            text = f"{run.host}: {found.message}"
            others = len(self.runs) > 1
            text += "; the other hosts were stopped" * others
            self._fail(Failure(cause=found.cause, message=text))

    def _fail(self, failure: Failure) -> None:
        self.failure, self.ending = failure, True
        self._send_all("stop")

    def _send_all(self, what: str) -> None:
        for host, run in self.runs.items():
            if not run.over:
                self.channels.send(host, do=what)

    # ---- the start

    def _set_start(self) -> None:
        """Give all hosts one instant, each by its own clock."""
        try:
            offsets = self.channels.offsets(list(self.runs))
        except ClusterError as error:
            self._fail(Failure(cause="host-lost", message=str(error)))
            return
        at_ns = time.time_ns() + LEAD_NS
        for host, run in self.runs.items():
            run.clock = offsets[host]
            run.agreed_ns = at_ns + offsets[host].offset_ns
            self.channels.send(host, do="go", at_ns=run.agreed_ns)

    def _started(self) -> Started:
        """That of the first host; all are alike."""
        first = next(iter(self.runs.values())).measurement.started
        assert first
        return first.model_copy(update={"facts": {}})

    # ---- the result

    def _result(self) -> Result:
        results = [run.result for run in self.runs.values() if run.result]
        whole = sum_results(self.job, results)
        facts: dict[str, Any] = {}
        facts["hosts"] = {
            host: run.facts() | {"machine": self.machines[host]}
            for host, run in self.runs.items()
        }
        starts = {h: start for h, run in self.runs.items() if (start := run.start())}
        warnings = [
            f"{h}: {one}" for h, run in self.runs.items() for one in _warnings(run)
        ]
        if len(starts) > 1:
            skew = skew_of(starts)
            facts["start_skew_ns"] = skew.skew_ns
            facts["start_skew_uncertainty_ns"] = skew.uncertainty_ns
            warnings += filter(None, [skew_warning(skew, self.job)])
        change = {"facts": facts, "warnings": tuple(warnings)}
        return whole.model_copy(update=change)

    # ---- the end

    def stop(self) -> None:
        """End the I/O on all hosts; their results still come."""
        self.stopped = True
        self._send_all("stop")

    def kill(self) -> None:
        """End it by force."""
        self._send_all("kill")

    def close(self) -> None:
        """Stop all hosts; disconnect those that do not end in time, which ends them."""
        self.stop()
        deadline_s = time.monotonic() + DISCONNECT_S
        while not self._all_over() and time.monotonic() < deadline_s:
            for _ in self._next():
                pass
        for host, run in self.runs.items():
            if not run.over:
                self.channels.disconnect(host)


def _warnings(run: HostRun) -> tuple[str, ...]:
    own = run.result.warnings if run.result else ()
    return (*own, *run.more.get("warnings", ()))
