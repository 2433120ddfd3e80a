"""What is wrong with a target on the network, by what SPDK wrote of it."""

from __future__ import annotations

import os
import re

from ioplan.core.error_kinds import Cause
from ioplan.job import Failure
from ioplan_spdk.target_spec import TargetSpec

FAULTS: tuple[tuple[str, Cause, str], ...] = (
    (
        # A controller is reset only once it was there.
        r"Resetting controller failed|controller reinitialization failed",
        Cause.TARGET_LOST,
        "the NVMe target at {place} was there, and does not answer any more; see "
        "whether it still runs and its network is up",
    ),
    (
        r"Connect command completed with error: sct 1, sc 130",
        Cause.MISSING_TARGET,
        "the NVMe target at {place} answers, and has no subsystem {nqn}; "
        "`nvme discover -t tcp -a {address} -s {port}` lists those that it has",
    ),
    (
        r"Connect command completed with error: sct 1, sc 132",
        Cause.PERMISSION,
        "the NVMe target at {place} does not permit this host to use {nqn}; add it "
        "to the subsystem's hosts there",
    ),
    (
        r"getaddrinfo failed: (.*) \(",
        Cause.MISSING_TARGET,
        "there is no host {address}: {0}",
    ),
    (
        r"connect\(\) failed, errno = (\d+)",
        Cause.MISSING_TARGET,
        "no NVMe target answers at {place}: {error}; start it, or name another",
    ),
)
"""The first that is found counts: a fault has others in its wake."""


def fabric_fault(target: TargetSpec, messages: str) -> Failure | None:
    """None for a target that is not on the network, and where SPDK says nothing."""
    if target.kind != "tcp":
        return None
    for pattern, cause, text in FAULTS:
        if found := re.search(pattern, messages):
            return Failure(cause=cause, message=_told(text, target, found))
    return None


def no_namespace(target: TargetSpec) -> str:
    """That a controller is there without the namespace."""
    return f"it has no namespace {target.nsid}; the address ends with another as /NSID"


def _told(text: str, target: TargetSpec, found: re.Match[str]) -> str:
    address = f"[{target.address}]" if ":" in target.address else target.address
    groups = found.groups()
    number = int(groups[0]) if groups and groups[0].isdecimal() else 0
    return text.format(
        *groups,
        place=f"{address}:{target.port}",
        address=target.address,
        port=target.port,
        nqn=target.nqn,
        error=os.strerror(number),
    )
