"""A target that several hosts share, as one backend: each does its part of a run."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ioplan.backends import (
    Availability,
    Backend,
    BackendError,
    Gap,
    ProgressCallback,
    TargetFacts,
    TargetRequest,
    ignore_progress,
)
from ioplan.cluster.sync.channel import Links
from ioplan.cluster.sync.coordinator import TogetherExecution
from ioplan.cluster.sync.job_split import hosts_of, no_room, share_of
from ioplan.cluster.sync.participant import PartCall, Told
from ioplan.guard.errors import TargetError
from ioplan.job import SECOND_NS, Job
from ioplan.runner.fit import gaps_of

OPEN_S = 60.0
SAME = ("serial", "wwid", "nsid", "partition", "backing_file")
"""What names a device wherever it is looked at from."""

MACHINE = ("hostname", "kernel", "cpu", "cpus", "memory_bytes")
"""What a record keeps of each host beside its figures."""

Connect = Callable[[list[str], str], Links]
"""To these hosts, for this session. Raises ClusterError."""


@dataclass(frozen=True)
class Opened:
    """What a host says of its target."""

    facts: TargetFacts
    version: str
    machine: dict[str, Any]


class SpreadDrive:
    """The target, open on all hosts."""

    def __init__(self, links: Links, opened: dict[str, Opened], facts: TargetFacts):
        self.links, self.opened, self.facts = links, opened, facts
        self.leader = next(iter(opened))

    def start(self, job: Job) -> TogetherExecution:
        """Begin a run. Raises BackendError."""
        for host in hosts_of(job, self.leader):
            if host in self.links.lost:
                raise BackendError(
                    f"{host} is lost; once it is back, go on with `ioplan resume`"
                )
        names = {host: one.facts.path for host, one in self.opened.items()}
        machines = {host: one.machine for host, one in self.opened.items()}
        return TogetherExecution(self.links, job, self.leader, names, machines)

    def purge(self, tell: ProgressCallback = ignore_progress) -> str:
        """The host that leads does it. Raises BackendError."""
        return self._asked(self.leader, tell, do="purge")

    def idle(self, pause_ns: int) -> None:
        """Hosts in virtual time let it pass by themselves."""
        for host in self.opened:
            self._asked(host, ignore_progress, do="idle", pause_ns=pause_ns)

    def _asked(self, host: str, tell: ProgressCallback, **what: Any) -> str:
        self.links.say(host, **what)
        while True:
            heard = self.links.next(SECOND_NS / 1e9)
            if host in self.links.lost:
                raise BackendError(f"{host} is lost")
            if not heard or heard[0] != host:
                continue
            if heard[1]["said"] == "share":
                tell(heard[1]["done"])
            if heard[1]["said"] in ("done", "failed"):
                text = str(heard[1]["text"])
                if heard[1]["said"] == "failed":
                    raise BackendError(f"{host}: {text}")
                return text

    def close(self) -> None:
        """Give it back on all hosts."""
        self.links.close()


class SpreadBackend:
    """Some backend on several hosts. Nothing of it happens here: neither is there a
    device to look at, nor is this machine worth measuring, as in virtual time."""

    virtual_time = True

    def __init__(
        self,
        inner: Backend,
        calls: dict[str, PartCall],
        options: dict[str, dict[str, Any]],
        connect: Connect,
    ) -> None:
        """`calls` lack what the target is asked for; the first host leads. `options`
        are the backend's on each host."""
        self.inner, self.calls, self.connect = inner, calls, connect
        self.options = options
        self.name, self.version = inner.name, ""
        self.speaks = inner.speaks | {"on hosts"}

    def availability(self, options: dict[str, Any]) -> Availability:
        """As the hosts have said once the target is open."""
        return Availability(usable=True, version=self.version)

    def gaps(self, job: Job, options: dict[str, Any]) -> list[Gap]:
        """Those of each host's part, by the options of each."""
        leader = next(iter(self.calls))
        found: list[Gap] = []
        for host in hosts_of(job, leader):
            part = share_of(job, host, leader)
            found += no_room(part) or gaps_of(
                self.inner, _alone(part), self.options[host]
            )
        return list(dict.fromkeys(found))

    def native(self, job: Job, options: dict[str, Any]) -> str:
        """What each host's program would be told, but for its part."""
        return self.inner.native(job, options)

    def open(self, request: TargetRequest) -> SpreadDrive:
        """Open it on all hosts, one after the other. Raises TargetError."""
        session = next(iter(self.calls.values())).session
        links = self.connect(list(self.calls), session)
        try:
            opened = {host: self._opened(links, host, request) for host in self.calls}
            facts = agreed(opened)
        except BaseException:
            links.close()
            raise
        self.version = next(iter(opened.values())).version
        return SpreadDrive(links, opened, facts)

    def _opened(self, links: Links, host: str, request: TargetRequest) -> Opened:
        change = {"overwrite": request.overwrite, "writes": request.writes}
        call = self.calls[host].model_copy(update=change)
        links.say(host, call=call.model_dump(mode="json"))
        said = _answer(links, host)
        if said["said"] != "open":
            raise TargetError(f"{host}: {said['text']}")
        facts = TargetFacts.model_validate(said["facts"])
        machine = {name: said["host"].get(name) for name in MACHINE}
        return Opened(facts, said["version"], machine)


def _answer(links: Links, host: str) -> Told:
    deadline_s = time.monotonic() + OPEN_S
    while time.monotonic() < deadline_s:
        heard = links.next(1.0)
        if heard and heard[1]["said"] == "lost":
            raise TargetError(f"{heard[0]} is lost: {heard[1]['text']}; see worker.log")
        if heard and heard[0] == host:
            return heard[1]
    raise TargetError(f"{host} has not opened the target within {OPEN_S:.0f} s")


def agreed(opened: dict[str, Opened]) -> TargetFacts:
    """What all hosts say of the target. Raises TargetError where it is not one."""
    leader, *others = opened
    first = opened[leader].facts
    for host in others:
        if wrong := _differences(first, opened[host].facts):
            raise TargetError(
                f"the target is not the same on {leader} and {host}: {wrong}; name it "
                f"in the lab by what both see, such as its wwid"
            )
    change = {"path": f"{first.path} on {', '.join(opened)}"}
    return first.model_copy(update=change)


def _differences(one: TargetFacts, other: TargetFacts) -> str:
    found = {name: (one.identity.get(name), other.identity.get(name)) for name in SAME}
    for name in ("kind", "capacity_bytes", "block_bytes"):
        found[name] = (str(getattr(one, name)), str(getattr(other, name)))
    return "; ".join(f"{n} {a} and {b}" for n, (a, b) in found.items() if a != b)


def _alone(part: Job) -> Job:
    """A host's part as the backend of that host sees it: there is no other host."""
    streams = tuple(one.model_copy(update={"hosts": ()}) for one in part.streams)
    return part.model_copy(update={"streams": streams})
