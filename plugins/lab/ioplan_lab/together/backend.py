"""A target that several hosts share, as one backend: each does its part of a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from ioplan.backends import (
    Availability,
    Backend,
    Gap,
    LabTarget,
    ProgressCallback,
    TargetFacts,
    TargetRequest,
    default_backend,
    find,
    ignore_progress,
)
from ioplan.cli import Choice, UsageError, option_pairs
from ioplan.core import TargetFault, did_you_mean
from ioplan.job import Job
from ioplan.planner import PlanSummary
from ioplan.records import RunRequest
from ioplan.runner import Lab, gaps_of, read_lab
from ioplan.runner.guard import TargetError
from ioplan_lab.together.coordinator import (
    CoordinatedExecution,
    jobs_of_hosts,
    region_gaps,
)
from ioplan_lab.together.link import Links
from ioplan_lab.together.messages import Call, Message, Opened

COMMON_IDENTITY = ("serial", "wwid", "nsid", "partition", "backing_file")
"""What identifies a device on every host."""


def backend_on_hosts(plan: PlanSummary, asked: RunRequest, session: str) -> Choice:
    """The hosts of a plan or of a target as one backend.

    Raises UsageError before anything is touched, LabError.
    """
    lab = read_lab(asked.lab)
    entry = _shared(plan.hosts, lab, asked.target)
    if asked.create:
        raise UsageError("--create is for one host; create the shared target yourself")
    inner = _starting_backend(asked.backend or lab.backend)
    commands = {
        host: lab.hosts[host].command(
            host, (lab.hosts[host].program, "participant", session)
        )
        for host in (entry.hosts[0], *plan.hosts)
    }
    options = {**lab.options_of(inner.name), **option_pairs(asked.options)}
    backend = MultiHostBackend(inner, asked.options, commands, options)
    return Choice(backend, options, lab)


def _shared(wanted: Sequence[str], lab: Lab, target: str | None) -> LabTarget:
    """The target's entry, if it is right for these hosts."""
    entry = lab.targets.get(target or "")
    if entry is None or not entry.hosts:
        listed = ", ".join(f'"{host}"' for host in wanted)
        raise UsageError(
            f"the plan has streams on the hosts {', '.join(wanted)}: use a --target "
            f"that has hosts = [{listed}] in the lab file"
        )
    for host in sorted(set(wanted) - set(entry.hosts)):
        raise UsageError(
            f"the plan has streams on the host {host!r}, on which {target} is not"
            f"{did_you_mean(host, entry.hosts)}; its hosts are: "
            f"{', '.join(entry.hosts)}"
        )
    return entry


def _starting_backend(named: str) -> Backend:
    """A backend that can begin at a given time."""
    backend = find(default_backend(named))
    if not (backend.virtual_time or getattr(backend, "synchronised", False)):
        raise UsageError(
            f"the backend {backend.name!r} cannot start at a given time, which a run "
            "on several hosts requires; use io_uring or fio"
        )
    return backend


class MultiHostBackend:
    """A backend on several hosts, the first of which leads.

    No I/O is done by this process, so this machine's devices and telemetry do not
    matter, just as in virtual time.
    """

    virtual_time = True

    def __init__(
        self,
        inner: Backend,
        settings: tuple[str, ...],
        commands: dict[str, tuple[str, ...]],
        options: dict[str, Any],
    ) -> None:
        """`commands` run the participants, which take `settings` for the backend;
        `options` hold until hosts say theirs."""
        self.inner, self.settings, self.commands = inner, settings, commands
        self.options = dict.fromkeys(commands, options)
        self.leader = next(iter(commands))
        self.name, self.version = inner.name, ""
        self.measures_commits = getattr(inner, "measures_commits", False)
        self.speaks = (inner.speaks - {"errors allowed", "retry"}) | {"on hosts"}

    def availability(self, options: dict[str, Any]) -> Availability:
        """The version is that of the hosts, once the target is open."""
        return Availability(usable=True, version=self.version)

    def gaps(self, job: Job, options: dict[str, Any]) -> list[Gap]:
        """The gaps of each host's part, with its own options."""
        gaps: list[Gap] = []
        for host, own in jobs_of_hosts(job, self.leader).items():
            gaps += region_gaps(own) or gaps_of(self.inner, own, self.options[host])
        return list(dict.fromkeys(gaps))

    def native(self, job: Job, options: dict[str, Any]) -> str:
        """What each host's program would get, but for the job's split."""
        return self.inner.native(job, options)

    def open(self, request: TargetRequest) -> MultiHostDrive:
        """Open it on each host in turn. Raises TargetError, BackendError."""
        links = Links()
        try:
            links.start(self.commands)
            opened = {host: self._open(links, host, request) for host in self.commands}
            facts = common_facts(opened)
        except BaseException:
            links.close()
            raise
        self.version = opened[self.leader].version
        self.options = {host: there.options for host, there in opened.items()}
        return MultiHostDrive(links, opened, facts, self.inner.virtual_time)

    def _open(self, links: Links, host: str, request: TargetRequest) -> Opened:
        request = request.model_copy(update={"leads": host == self.leader})
        call = Call(backend=self.name, options=self.settings, request=request)
        opened = links.ask(host, Message(what="call", call=call)).opened
        assert opened
        return opened


class MultiHostDrive(Struct):
    """The target, open on all hosts. In virtual time it never waits."""

    links: Links
    opened: dict[str, Opened]
    facts: TargetFacts
    never_waits: bool

    def start(self, job: Job) -> CoordinatedExecution:
        """Start a run. Raises BackendError."""
        return CoordinatedExecution(self.links, job, self.opened, self.never_waits)

    def purge(self, on_progress: ProgressCallback = ignore_progress) -> str:
        """The leading host does it. Raises BackendError."""
        leader = next(iter(self.opened))
        return self.links.ask(leader, Message(what="purge"), on_progress).text

    def idle(self, pause_ns: int) -> None:
        """Each host waits, as one in virtual time advances only its own clock."""
        for host in self.opened:
            self.links.ask(host, Message(what="idle", pause_ns=pause_ns))

    def close(self) -> None:
        """Close it on all hosts."""
        self.links.close()


def common_facts(opened: dict[str, Opened]) -> TargetFacts:
    """The facts on which all hosts agree. Raises TargetError if they do not."""
    leader, *others = opened
    first = opened[leader].facts
    for host in others:
        if wrong := _differences(first, opened[host].facts):
            raise TargetError(
                f"the target is not the same on {leader} and {host}: {wrong}; "
                "identify it in their lab files by a key that both see, such as its "
                "wwid",
                TargetFault.HOSTS_DISAGREE,
            )
    return first.model_copy(update={"path": f"{first.path} on {', '.join(opened)}"})


def _differences(first: TargetFacts, other: TargetFacts) -> str:
    sizes = {"kind", "capacity_bytes", "block_bytes"}
    ours, theirs = (
        {name: facts.identity.get(name) for name in COMMON_IDENTITY}
        | facts.model_dump(include=sizes)
        for facts in (first, other)
    )
    differing = [name for name in ours if ours[name] != theirs[name]]
    return "; ".join(f"{name} {ours[name]} and {theirs[name]}" for name in differing)
