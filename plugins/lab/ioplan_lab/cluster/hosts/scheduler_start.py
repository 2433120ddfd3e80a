"""Starting the scheduler with its keys, on the coordinator."""

from __future__ import annotations

import time
from collections.abc import Callable
from urllib.parse import urlsplit

from ioplan.core.error_kinds import ClusterFault
from ioplan_lab.cluster.errors import ClusterError
from ioplan_lab.cluster.hosts.programs import Programs
from ioplan_lab.cluster.hosts.service import Service
from ioplan_lab.cluster.keys.authority import Authority
from ioplan_lab.cluster.keys.certificates import facts_of
from ioplan_lab.cluster.keys.enrolment import addresses_of
from ioplan_lab.cluster.keys.handshake import shake_hands
from ioplan_lab.cluster.keys.identity import Identity

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
