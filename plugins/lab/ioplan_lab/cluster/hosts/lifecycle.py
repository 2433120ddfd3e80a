"""Starting and stopping a lab: the scheduler here, a worker on each host."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ioplan.core import ClusterFault, did_you_mean
from ioplan.runner import Lab, LabHost
from ioplan_lab.cluster.errors import ClusterError
from ioplan_lab.cluster.hosts.programs import Programs
from ioplan_lab.cluster.hosts.service import Service, worker_words
from ioplan_lab.cluster.hosts.ssh import call_host
from ioplan_lab.cluster.hosts.worker_api import check_versions
from ioplan_lab.cluster.jobs.lane_folder import lane_folders, lanes_root
from ioplan_lab.cluster.keys.authority import Authority
from ioplan_lab.cluster.keys.certificates import facts_of
from ioplan_lab.cluster.keys.enrolment import addresses_of, enrol
from ioplan_lab.cluster.keys.handshake import shake_hands
from ioplan_lab.cluster.keys.identity import Identity
from ioplan_lab.cluster.keys.tls import check_address

# Starting the scheduler with its keys, on the coordinator.

START_S = 30


def start_scheduler(
    address: str, programs: Programs, on_progress: Callable[[str], None]
) -> None:
    """Give it and this desk their keys, and wait until it uses them.

    One that runs with other keys starts anew by itself. Raises ClusterError.
    """
    _start(address, programs, on_progress, is_changed=_equip(address))


def _equip(address: str, *, renew: bool = False) -> bool:
    authority, place = Authority.open_or_make(), urlsplit(address).hostname or ""
    authority.equip("desk", renew=renew)
    return authority.equip("scheduler", [place, *addresses_of(place)], renew=renew)


def _start(
    address: str,
    programs: Programs,
    on_progress: Callable[[str], None],
    is_changed: bool,
) -> None:
    service = Service("scheduler")
    started = service.start(programs.cli, ["lab", "scheduler", "--at", address])
    deadline_s = time.monotonic() + START_S
    while not _uses_its_keys(address):
        if not service.is_up() or time.monotonic() > deadline_s:
            raise ClusterError(
                f"the scheduler at {address} does not start; its address must be one "
                f"of this host; its log ends with:\n{service.log_end()}",
                ClusterFault.SCHEDULER_FAILED,
            )
        time.sleep(0.1)
    said = "started" if started else "has new keys" if is_changed else "is up"
    on_progress(f"the scheduler: {said}, {address}")


def renew_own_keys(
    address: str, programs: Programs, on_progress: Callable[[str], None]
) -> None:
    """New keys for the desk and the scheduler, and what was revoked until now.

    A scheduler that runs starts anew with them, and so ends the connections that it
    has; lanes go on. Raises ClusterError.
    """
    _equip(address, renew=True)
    if Service("scheduler").is_up():
        _start(address, programs, on_progress, is_changed=True)


def _uses_its_keys(address: str) -> bool:
    found = shake_hands(address, Identity("desk"))
    own = facts_of(Identity("scheduler").certificate())
    return bool(found.accepted and found.peer and found.peer.serial == own.serial)


# Why a worker does not report: what it says itself, here and over ssh.

REFUSED = "certificate"
"""What the worker says has this word if its keys, or the scheduler's, are why."""


def why_unseen(
    name: str, host: LabHost, address: str, programs: Programs
) -> ClusterError:
    """For a worker that does not reach the scheduler at this address."""
    at = f"tls://{host.address or name}:{host.worker_port}"
    found, last = shake_hands(at, Identity("desk")), _last_words(name, host, programs)
    is_refused = found.is_refused or REFUSED in last
    reasons = [f"It says: {last}."] if last else []
    if found.is_refused:
        reasons.append(f"At {at}: {found.reason}.")
    elif not reasons:
        reasons.append("Check that no firewall is in the way.")
    return ClusterError(
        f"the worker of {name} does not reach {address}. {' '.join(reasons)} Its log "
        f"there is ~/.local/state/ioplan/worker.log, or systemd's",
        ClusterFault.KEYS_REFUSED if is_refused else ClusterFault.NO_WORKER,
    )


def _last_words(name: str, host: LabHost, programs: Programs) -> str:
    request = {"address": host.address or name}
    with suppress(ClusterError):
        return str(call_host(name, host, programs, "greet", request)["worker"])
    return ""


PARALLEL_HOSTS = 64
PUT_BACK_S, CLOCK_S = 60, 5

Faults = dict[str, ClusterError]
"""By host."""
if TYPE_CHECKING:
    from ioplan_lab.cluster.hosts.dask_client import DaskClient

ProgressCallback = Callable[[str], None]
"""Called with a line for each host and for the scheduler."""


def up(lab: Lab, programs: Programs, on_progress: ProgressCallback) -> Faults:
    """Start what does not run yet.

    Returns the hosts that are left out, and why: they do not answer, have another
    version, or belong to another desk. Raises ClusterError, and before anything is
    changed if all do not answer or have another version.
    """
    address = scheduler_of(lab)
    check_address(address)

    def check(name: str, host: LabHost) -> None:
        check_versions(name, call_host(name, host, programs, "versions"))

    faults = on_each_host(lab, check)
    lab = without(lab, faults)
    if not lab.hosts:
        _raise(faults)
    start_scheduler(address, programs, on_progress)

    def join(name: str, host: LabHost) -> None:
        made = enrol(name, host, programs)
        request: dict[str, Any] = {"words": worker_words(name, host, address)}
        answer = call_host(name, host, programs, "join", request)
        said = "started" if answer["started"] else "is up"
        on_progress(f"{name}: {said}{made.text and f'; {made.text}'}")

    faults |= on_each_host(lab, join)
    joined = without(lab, faults)
    return faults | _await_workers(joined, address, programs, on_progress)


def without(lab: Lab, names: Collection[str]) -> Lab:
    """The lab without these hosts."""
    hosts = {name: host for name, host in lab.hosts.items() if name not in names}
    return lab.model_copy(update={"hosts": hosts})


def some_hosts(lab: Lab, names: Sequence[str]) -> Lab:
    """The lab with only these hosts; with all if none is named. Raises ClusterError."""
    for name in names:
        if name not in lab.hosts:
            near = did_you_mean(name, lab.hosts)
            text = f"the lab has no host {name!r}{near}"
            raise ClusterError(text, ClusterFault.UNKNOWN_HOST)
    hosts = {name: lab.hosts[name] for name in names or lab.hosts}
    return lab.model_copy(update={"hosts": hosts})


def down(lab: Lab, programs: Programs, on_progress: ProgressCallback) -> None:
    """Stop the workers and the scheduler; running lanes go on. Raises ClusterError."""

    def leave(name: str, host: LabHost) -> None:
        answer = call_host(name, host, programs, "leave", {"store": host.store})
        lanes = f"; {answer['lanes']} lanes continue there" if answer["lanes"] else ""
        on_progress(f"{name}: {'ended' if answer['ended'] else 'was not up'}{lanes}")

    try:
        _raise(on_each_host(lab, leave))
    finally:
        if Service("scheduler").stop():
            on_progress("the scheduler: ended")


def put_back(lab: Lab, programs: Programs, on_progress: ProgressCallback) -> None:
    """Have each host undo what killed sessions have set there. Raises ClusterError."""

    def one(name: str, host: LabHost) -> None:
        answer = call_host(name, host, programs, "put-back", timeout_s=PUT_BACK_S)
        for note in answer["notes"]:
            on_progress(f"{name}: {note}")

    _raise(on_each_host(lab, one))


def scheduler_of(lab: Lab, hosts: Sequence[str] = ()) -> str:
    """Its address. Raises ClusterError if the lab has none, or no host."""
    if lab.scheduler is None or not (hosts or lab.hosts):
        raise ClusterError(
            "the lab needs hosts and a scheduler; write into its file for example\n"
            'scheduler = "tls://10.0.0.1:8786"\n[hosts.h1]\naddress = "10.0.0.2"',
            ClusterFault.NO_SCHEDULER,
        )
    return lab.scheduler


def on_each_host(lab: Lab, do: Callable[[str, LabHost], None]) -> Faults:
    """In parallel; returns those where it failed."""
    with ThreadPoolExecutor(PARALLEL_HOSTS) as pool:
        hosts = lab.hosts.items()
        waiting = {name: pool.submit(do, name, host) for name, host in hosts}
    faults: Faults = {}
    for name, one in waiting.items():
        error = one.exception()
        if isinstance(error, ClusterError):
            faults[name] = error
        elif error:
            raise error
    return faults


def _raise(faults: Faults) -> None:
    """The kind of several errors is that of the first."""
    if faults:
        found = list(faults.values())
        raise ClusterError("\n".join(map(str, found)), found[0].kind)


def _await_workers(
    lab: Lab, address: str, programs: Programs, on_progress: ProgressCallback
) -> Faults:
    """Until all of them have reported to the scheduler; returns those that do not."""
    from ioplan_lab.cluster.hosts.dask_client import DaskClient  # noqa: PLC0415  takes a second to import

    client = DaskClient(address, programs)
    try:
        deadline_s = time.monotonic() + START_S
        while missing := set(lab.hosts) - client.hosts():
            if time.monotonic() > deadline_s:
                break
            time.sleep(0.2)
        _tell_clocks(client, set(lab.hosts) - missing, on_progress)
    finally:
        client.close()
    with ThreadPoolExecutor(PARALLEL_HOSTS) as pool:
        names = sorted(missing)
        found = pool.map(
            lambda name: why_unseen(name, lab.hosts[name], address, programs), names
        )
        return dict(zip(names, found, strict=True))


def _tell_clocks(
    client: DaskClient, hosts: set[str], on_progress: ProgressCallback
) -> None:
    """How far they are from the scheduler's, once each has measured it."""
    deadline_s = time.monotonic() + CLOCK_S
    while hosts - set(found := client.clocks()) and time.monotonic() < deadline_s:
        time.sleep(0.2)
    clocks = {name: found[name] for name in sorted(hosts) if name in found}
    for name, one in clocks.items():
        if one.warning:
            on_progress(f"warning: {name}: {one.warning}")
    if clocks:
        worst = max(clocks, key=lambda name: abs(clocks[name].offset_ns))
        on_progress(f"clocks: {worst} is the farthest off, {clocks[worst]}")


# ---- on the host


def join(request: dict[str, Any], programs: Programs) -> dict[str, Any]:
    """Start this host's worker."""
    return {"started": Service("worker").start(programs.cli, request["words"])}


def leave(request: dict[str, Any]) -> dict[str, Any]:
    """Stop this host's worker."""
    ended = Service("worker").stop()
    lanes = lane_folders(lanes_root(request["store"]))
    return {"ended": ended, "lanes": sum(lane.is_running() for lane in lanes)}
