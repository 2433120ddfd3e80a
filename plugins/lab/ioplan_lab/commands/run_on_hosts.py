"""A plan on a target that several hosts share: who does what, or why it cannot be."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from ioplan.backends import Backend, LabTarget, default_backend, find
from ioplan.cli import Choice, UsageError, option_pairs
from ioplan.core import did_you_mean
from ioplan.language import CheckedPlan
from ioplan.planner import PlanSummary, summary_of
from ioplan.records import RunRequest
from ioplan.runner import Lab, default_path, for_host, read_lab
from ioplan_lab.cluster.sync.messages import ParticipantCall
from ioplan_lab.commands.lab import lab_errors
from ioplan_lab.programs import PROGRAMS

if TYPE_CHECKING:
    from ioplan_lab.cluster.sync.channel import Channels


def backend_on_hosts(plan: PlanSummary, asked: RunRequest, session: str) -> Choice:
    """The hosts of a plan or of a target as one backend.

    Raises UsageError before anything is touched, LabError.
    """
    lab, wanted = read_lab(asked.lab), plan.hosts
    entry = _shared(wanted, lab, asked.target)
    if asked.create:
        raise UsageError("--create is for one host; create the shared target yourself")
    hosts = list(dict.fromkeys((entry.hosts[0], *wanted)))
    name = _one_backend(hosts, lab, asked.backend)
    calls = {host: _call(host, hosts[0], name, lab, asked, session) for host in hosts}
    pairs = option_pairs(asked.options)
    options_of = {host: {**calls[host].lab.options_of(name), **pairs} for host in hosts}
    here = lab.model_copy(update={"prepare": None})  # it does no I/O
    return Choice(_backend(name, calls, options_of, lab), options_of[hosts[0]], here)


def check_lanes(plan: CheckedPlan, lab: Lab, targets: Sequence[str]) -> None:
    """Check that lanes of a plan with hosts share a target.

    Each lane would make the events anew. Raises UsageError before any lane begins.
    """
    summary = summary_of(plan)
    if summary.events and len(targets) > 1:
        raise UsageError(
            f"the plan has events, which each of {len(targets)} targets would have "
            "made for itself; name one target"
        )
    if wanted := summary.hosts:
        for target in targets:
            _shared(wanted, lab, target)


def _shared(wanted: Sequence[str], lab: Lab, target: str | None) -> LabTarget:
    """The target's entry, if it is right for these hosts."""
    entry = lab.targets.get(target or "")
    if not lab.hosts:
        raise UsageError(_refusal(wanted, "there is no lab file; add --lab FILE"))
    for host in wanted:
        if host not in lab.hosts:
            near = did_you_mean(host, lab.hosts)
            known = f"{near}; it has: {', '.join(lab.hosts)}"
            raise UsageError(_refusal(wanted, f"the lab has no host {host!r}{known}"))
    listed = ", ".join(f'"{host}"' for host in wanted)
    if entry is None or not entry.hosts:
        which = f"target {target!r}" if target else "target"
        text = (
            f"the {which} is not shared by them; use a --target of the lab that has "
            f"hosts = [{listed}]"
        )
        raise UsageError(_refusal(wanted, text))
    if away := [host for host in wanted if host not in entry.hosts]:
        text = f"{target} is not on {', '.join(away)} according to its `hosts`"
        raise UsageError(_refusal(wanted, text))
    if lab.scheduler is None:
        raise UsageError(
            "the lab has hosts but no scheduler; add at its beginning for "
            'example scheduler = "tls://10.0.0.1:8786", and run `ioplan lab up` there'
        )
    return entry


def _refusal(hosts: Iterable[str], why: str) -> str:
    return f"the plan has streams on the hosts {', '.join(hosts)}: {why}"


def _one_backend(hosts: list[str], lab: Lab, asked: str | None) -> str:
    """All hosts use one, and it can begin at a given time."""
    known = {host: for_host(lab, host).backend for host in hosts}
    names = {host: asked or default_backend(name) for host, name in known.items()}
    if len(set(names.values())) > 1:
        named = ", ".join(f"{host}: {name}" for host, name in names.items())
        raise UsageError(
            f"the hosts of a run must use the same backend, but the lab has {named}; "
            "choose with --backend"
        )
    name = names[hosts[0]]
    inner = find(name)
    if not (inner.virtual_time or getattr(inner, "synchronised", False)):
        raise UsageError(
            f"the backend {name!r} cannot start at a given time, which a run on "
            "several hosts requires; use io_uring or fio"
        )
    return name


def _call(
    host: str, leader: str, backend: str, lab: Lab, request: RunRequest, session: str
) -> ParticipantCall:
    assert request.target
    return ParticipantCall(
        session=session,
        target=request.target,
        backend=backend,
        lab=for_host(lab, host),
        lab_file=str(request.lab or default_path()),
        options=request.options,
        leads=host == leader,
    )


def _backend(
    name: str,
    calls: dict[str, ParticipantCall],
    options_of: dict[str, dict[str, Any]],
    lab: Lab,
) -> Backend:
    with lab_errors():
        from ioplan_lab.cluster.sync.backend import MultiHostBackend  # noqa: PLC0415  a second

        connect = partial(_channels, lab)
        return MultiHostBackend(find(name), calls, options_of, connect)


def _channels(lab: Lab, hosts: list[str], session: str) -> Channels:
    with lab_errors():
        from ioplan_lab.cluster.hosts.dask_client import DaskClient  # noqa: PLC0415

        client = DaskClient(str(lab.scheduler), PROGRAMS)
        try:
            return client.channels(hosts, session)
        except BaseException:
            client.close()
            raise
