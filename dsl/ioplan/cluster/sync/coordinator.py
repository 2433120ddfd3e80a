"""One run that several hosts do together, and its one result."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from pydantic import TypeAdapter

from ioplan.cluster.errors import ClusterError
from ioplan.cluster.sync.channel import Links
from ioplan.cluster.sync.job_split import hosts_of, share_of
from ioplan.cluster.sync.merge import Series, added_results
from ioplan.cluster.sync.participant import LEAVING_S, SILENT_S
from ioplan.cluster.sync.start_skew import LEAD_NS, Offset, Start, skew_of, warning
from ioplan.core.context import Closing
from ioplan.job import Event, Failure, Job, Progress, Result, Started
from ioplan.measure.measurement import Measurement
from ioplan.runner.execute.io_errors import device_failure, errors_in

EVENTS: TypeAdapter[Event] = TypeAdapter(Event)
UNKNOWN = Offset(0, 0)
LOOK_S = 0.5
LEFT_S = LEAVING_S + 5


@dataclass
class Side:
    """What is known of one host's part of the run."""

    host: str
    measurement: Measurement = field(default_factory=Measurement)
    errors: int = 0
    over: bool = False
    agreed_ns: int = 0
    clock: Offset = UNKNOWN
    more: dict[str, Any] = field(default_factory=dict)

    def take(self, event: Event) -> None:
        """Count what the host did by itself."""
        self.measurement.add(event)
        if isinstance(event, Progress):
            self.errors += errors_in(event)

    @property
    def is_ready(self) -> bool:
        return self.measurement.started is not None

    @property
    def result(self) -> Result | None:
        return self.measurement.result

    def trouble(self, target: str, asked: bool) -> Failure | None:
        """Why this host's part cannot be used."""
        found = self.measurement.failure
        found = found or device_failure(target, self.errors, self.measurement)
        if found:
            return found
        if self.over and self.result is None:
            return Failure(cause="no-result", message="it ended without a result")
        if self.result and self.result.stopped and not asked:
            return Failure(cause="short", message="something stopped the run there")
        return None

    def start(self) -> Start | None:
        """How it began; None where it does not say."""
        actual_ns = self.measurement.facts.get("started_ns")
        return Start(self.agreed_ns, actual_ns, self.clock) if actual_ns else None

    def facts(self) -> dict[str, Any]:
        """What a record keeps of this host alone."""
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


class TogetherExecution(Closing):
    """A run under way on its hosts."""

    def __init__(
        self,
        links: Links,
        job: Job,
        leader: str,
        names: dict[str, str],
        machines: dict[str, dict[str, Any]],
    ) -> None:
        """`names` has the target of each host in words, `machines` what each is."""
        self.links, self.job, self.names = links, job, names
        self.machines = machines
        self.sides = {host: Side(host) for host in hosts_of(job, leader)}
        self.series = Series(job, self.sides)
        self.asked = self.ending = False
        self.failure: Failure | None = None
        self.first = ""
        for host in self.sides:
            part = share_of(job, host, leader)
            links.say(host, do="start", job=part.model_dump(mode="json"))

    def __iter__(self) -> Iterator[Event]:
        yield from self._gathered()
        if self._all_ready():
            self._agree()
            yield self._started()
        while not self._all_over():
            yield from self._next()
        yield from self.series.rest()
        yield self.failure or self._result()

    # ---- what the hosts say

    def _gathered(self) -> Iterator[Event]:
        while not self._all_ready() and not self._all_over():
            yield from self._next()

    def _all_ready(self) -> bool:
        return all(side.is_ready and not side.over for side in self.sides.values())

    def _all_over(self) -> bool:
        return all(side.over for side in self.sides.values())

    def _next(self) -> Iterator[Event]:
        heard = self.links.next(LOOK_S)
        if heard is None or heard[0] not in self.sides:
            return
        side, message = self.sides[heard[0]], heard[1]
        match message["said"]:
            case "event":
                event = EVENTS.validate_python(message["event"])
                side.take(event)
                if isinstance(event, Progress):
                    yield from self.series.add(side.host, event)
            case "over":
                side.over = True
                side.more = {k: message[k] for k in ("telemetry", "warnings")}
            case "lost":
                side.over = True
                text = (
                    f"it is lost ({message['text']}); its I/O ends by itself after "
                    f"{SILENT_S:.0f} s without a word from here"
                )
                side.take(Failure(cause="host-lost", message=text))
        self._look_at(side)

    def _look_at(self, side: Side) -> None:
        """One host that fails ends the run on all."""
        found = side.trouble(self.names[side.host], self.asked or self.ending)
        if found and (self.failure is None or side.host == self.first):
            self.first = side.host
            text = f"{side.host}: {found.message}"
            others = len(self.sides) > 1
            text += "; the other hosts were stopped" * others
            self.failure = Failure(cause=found.cause, message=text)
            self.ending = True
            self._say("stop")

    def _say(self, what: str) -> None:
        for host, side in self.sides.items():
            if not side.over:
                self.links.say(host, do=what)

    # ---- the start

    def _agree(self) -> None:
        """One instant, told to each host by its own clock."""
        try:
            offsets = self.links.offsets(list(self.sides))
        except ClusterError as error:
            self.failure = Failure(cause="host-lost", message=str(error))
            self.ending = True
            self._say("stop")
            return
        at_ns = time.time_ns() + LEAD_NS
        for host, side in self.sides.items():
            side.clock = offsets[host]
            side.agreed_ns = at_ns + offsets[host].offset_ns
            self.links.say(host, do="go", at_ns=side.agreed_ns)

    def _started(self) -> Started:
        """As the first host says; all are of one kind."""
        first = next(iter(self.sides.values())).measurement.started
        assert first
        return first.model_copy(update={"facts": {}})

    # ---- the result

    def _result(self) -> Result:
        results = [side.result for side in self.sides.values() if side.result]
        whole = added_results(self.job, results)
        facts: dict[str, Any] = {}
        facts["hosts"] = {
            host: side.facts() | {"machine": self.machines[host]}
            for host, side in self.sides.items()
        }
        starts = {h: start for h, s in self.sides.items() if (start := s.start())}
        warnings = [f"{h}: {one}" for h, s in self.sides.items() for one in _told(s)]
        if len(starts) > 1:
            skew = skew_of(starts)
            facts["start_skew_ns"] = skew.skew_ns
            facts["start_skew_uncertainty_ns"] = skew.uncertainty_ns
            warnings += filter(None, [warning(skew, self.job)])
        change = {"facts": facts, "warnings": tuple(warnings)}
        return whole.model_copy(update=change)

    # ---- the end

    def stop(self) -> None:
        """End the I/O on all hosts; their results still come."""
        self.asked = True
        self._say("stop")

    def kill(self) -> None:
        """End it by force."""
        self._say("kill")

    def close(self) -> None:
        """No host goes on. Of one that does not say so, the link is cut: it ends."""
        self.stop()
        deadline_s = time.monotonic() + LEFT_S
        while not self._all_over() and time.monotonic() < deadline_s:
            for _ in self._next():
                pass
        for host, side in self.sides.items():
            if not side.over:
                self.links.drop(host)


def _told(side: Side) -> tuple[str, ...]:
    own = side.result.warnings if side.result else ()
    return (*own, *side.more.get("warnings", ()))
