"""Why a worker does not report: what it says itself, here and over ssh."""

from __future__ import annotations

from contextlib import suppress

from ioplan.core.error_kinds import ClusterFault
from ioplan.runner.lab.hosts import LabHost
from ioplan_lab.cluster.errors import ClusterError
from ioplan_lab.cluster.hosts.programs import Programs
from ioplan_lab.cluster.hosts.ssh import call_host
from ioplan_lab.cluster.keys.handshake import shake_hands
from ioplan_lab.cluster.keys.identity import Identity

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
