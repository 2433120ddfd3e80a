"""A target that several hosts share, as one backend: each does its part of a run."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from msgspec import Struct

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
from ioplan.core import Cause, TargetFault
from ioplan.job import Job
from ioplan.runner import gaps_of
from ioplan.runner.guard import TargetError
from ioplan_lab.cluster.sync.channel import Channels
from ioplan_lab.cluster.sync.coordinator import (
    CoordinatedExecution,
    hosts_of,
    job_of_host,
    region_gaps,
)
from ioplan_lab.cluster.sync.messages import Message, ParticipantCall

OPEN_S = 60.0
POLL_S = 1.0
COMMON_IDENTITY = ("serial", "wwid", "nsid", "partition", "backing_file")
"""What identifies a device on every host."""

MACHINE = ("hostname", "kernel", "cpu", "cpus", "memory_bytes", "prepared")
"""The facts of each host that a record keeps."""

Connect = Callable[[list[str], str], Channels]
"""Connects to these hosts for this session. Raises ClusterError."""


class HostTarget(Struct, frozen=True):
    """The target as one host has opened it."""

    facts: TargetFacts
    version: str
    machine: dict[str, Any]


class MultiHostDrive:
    """The target, open on all hosts. The first host leads."""

    def __init__(
        self, channels: Channels, opened: dict[str, HostTarget], facts: TargetFacts
    ) -> None:
        self.channels, self.opened, self.facts = channels, opened, facts
        self.leader = next(iter(opened))

    def start(self, job: Job) -> CoordinatedExecution:
        """Start a run. Raises BackendError."""
        for host in hosts_of(job, self.leader):
            if host in self.channels.lost:
                raise BackendError(
                    f"{host} is lost; when it is back, continue with `ioplan resume`"
                )
        names = {host: one.facts.path for host, one in self.opened.items()}
        machines = {host: one.machine for host, one in self.opened.items()}
        return CoordinatedExecution(self.channels, job, self.leader, names, machines)

    def purge(self, on_progress: ProgressCallback = ignore_progress) -> str:
        """The leading host does it. Raises BackendError."""
        return self._ask(self.leader, on_progress, do="purge")

    def idle(self, pause_ns: int) -> None:
        """Each host waits, as one in virtual time advances only its own clock."""
        for host in self.opened:
            self._ask(host, ignore_progress, do="idle", pause_ns=pause_ns)

    def _ask(self, host: str, on_progress: ProgressCallback, **message: Any) -> str:
        """Send a message, and wait until it is done. Raises BackendError."""
        self.channels.send(host, **message)
        while True:
            received = self.channels.receive(POLL_S)
            if host in self.channels.lost:
                raise BackendError(f"{host} is lost")
            if not received or received[0] != host:
                continue
            answer = received[1]
            if answer["said"] == "share":
                on_progress(answer["done"])
            if answer["said"] == "failed":
                raise BackendError(f"{host}: {answer['text']}")
            if answer["said"] == "done":
                return str(answer["text"])

    def close(self) -> None:
        """Close it on all hosts."""
        self.channels.close()


class MultiHostBackend:
    """A backend on several hosts.

    No I/O is done by this process, so this machine's devices and telemetry do not
    matter, just as in virtual time.
    """

    virtual_time = True

    def __init__(
        self,
        inner: Backend,
        calls: dict[str, ParticipantCall],
        options: dict[str, dict[str, Any]],
        connect: Connect,
    ) -> None:
        """`calls` has a call for each host, the first of which leads.

        `options` has the backend's options on each host.
        """
        self.inner, self.calls, self.connect = inner, calls, connect
        self.options = options
        self.name, self.version = inner.name, ""
        self.measures_commits = getattr(inner, "measures_commits", False)
        self.speaks = (inner.speaks - {"errors allowed", "retry"}) | {"on hosts"}

    def availability(self, options: dict[str, Any]) -> Availability:
        """The version is that of the hosts, once the target is open."""
        return Availability(usable=True, version=self.version)

    def gaps(self, job: Job, options: dict[str, Any]) -> list[Gap]:
        """The gaps of each host's part, with its own options."""
        leader = next(iter(self.calls))
        found: list[Gap] = []
        for host in hosts_of(job, leader):
            part = job_of_host(job, host, leader)
            found += region_gaps(part) or gaps_of(
                self.inner, _without_hosts(part), self.options[host]
            )
        return list(dict.fromkeys(found))

    def native(self, job: Job, options: dict[str, Any]) -> str:
        """What each host's program would get, but for the job's split."""
        return self.inner.native(job, options)

    def open(self, request: TargetRequest) -> MultiHostDrive:
        """Open it on all hosts, one after the other. Raises TargetError."""
        session = next(iter(self.calls.values())).session
        channels = self.connect(list(self.calls), session)
        try:
            opened = {host: self._open(channels, host, request) for host in self.calls}
            facts = common_facts(opened)
        except BaseException:
            channels.close()
            raise
        self.version = next(iter(opened.values())).version
        return MultiHostDrive(channels, opened, facts)

    def _open(
        self, channels: Channels, host: str, request: TargetRequest
    ) -> HostTarget:
        change = {
            "overwrite": request.overwrite,
            "overwrite_data": request.overwrite_data,
            "cannot_see_users": request.cannot_see_users,
            "writes": request.writes,
        }
        call = self.calls[host].model_copy(update=change)
        channels.send(host, call=call.model_dump(mode="json"))
        answer = _answer(channels, host)
        if answer["said"] != "open":
            text = f"{host}: {answer['text']}"
            raise TargetError(text, answer.get("kind", ""))
        facts = TargetFacts.model_validate(answer["facts"])
        machine = {name: answer["host"].get(name) for name in MACHINE}
        return HostTarget(facts, answer["version"], machine)


def _answer(channels: Channels, host: str) -> Message:
    deadline_s = time.monotonic() + OPEN_S
    while time.monotonic() < deadline_s:
        received = channels.receive(POLL_S)
        if received and received[1]["said"] == "lost":
            text = f"{received[0]} is lost: {received[1]['text']}; see worker.log"
            raise TargetError(text, Cause.HOST_LOST)
        if received and received[0] == host:
            return received[1]
    text = f"{host} has not opened the target within {OPEN_S:.0f} s"
    raise TargetError(text, Cause.HOST_LOST)


def common_facts(opened: dict[str, HostTarget]) -> TargetFacts:
    """The facts on which all hosts agree. Raises TargetError if they do not."""
    leader, *others = opened
    first = opened[leader].facts
    for host in others:
        if wrong := _differences(first, opened[host].facts):
            raise TargetError(
                f"the target is not the same on {leader} and {host}: {wrong}; "
                "identify it in the lab by a key that both see, such as its wwid",
                TargetFault.HOSTS_DISAGREE,
            )
    change = {"path": f"{first.path} on {', '.join(opened)}"}
    return first.model_copy(update=change)


def _differences(one: TargetFacts, other: TargetFacts) -> str:
    found = {
        name: (one.identity.get(name), other.identity.get(name))
        for name in COMMON_IDENTITY
    }
    for name in ("kind", "capacity_bytes", "block_bytes"):
        found[name] = (str(getattr(one, name)), str(getattr(other, name)))
    return "; ".join(f"{n} {a} and {b}" for n, (a, b) in found.items() if a != b)


def _without_hosts(part: Job) -> Job:
    """A host's part as the backend of that host gets it: there is no other host, and
    it is told when to begin."""
    streams = tuple(one.model_copy(update={"hosts": ()}) for one in part.streams)
    return part.model_copy(update={"streams": streams, "await_start": True})
