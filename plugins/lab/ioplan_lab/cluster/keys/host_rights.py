"""What a host may ask of the scheduler: to be a worker, under its own name.

By its certificate, which TLS has checked. A host does not need what clients may do,
such as to have a program run on another host.
"""

from __future__ import annotations

from typing import Any

from distributed.comm import Comm

from ioplan_lab.cluster.hosts.service_log import log
from ioplan_lab.cluster.keys.certificates import facts_of

REGISTER = "register-worker"
CLOCK = "ioplan_clock"
"""What the scheduler's clock says, which workers compare with their own."""
OPERATIONS = frozenset(
    {
        *(REGISTER, "heartbeat_worker", "unregister", "close", "close-stream"),
        *("task-finished", "task-erred", "release-worker-data", "add-keys"),
        *("long-running", "reschedule", "keep-alive", "log-event", "log_event"),
        *("worker-status-change", "request-refresh-who-has", CLOCK),
    }
)
"""All that dask's workers send to their scheduler; `who_has` and `gather` they do not
need, as no lane depends on another one's result."""


class NotItsRightError(OSError):
    """A host asked for what is not a host's; dask ends the connection."""


def restrict(comm: Comm) -> None:
    """Let a host's connection do what a host may; others are left alone."""
    shown = comm.stream.socket.getpeercert(binary_form=True)
    facts = facts_of(shown or b"")
    if facts.role == "host":
        _filter(comm, facts.name)


def _filter(comm: Any, name: str) -> None:
    unchecked = comm.read

    async def read(*arguments: Any, **more: Any) -> Any:
        found = await unchecked(*arguments, **more)
        try:
            for one in found if isinstance(found, list | tuple) else (found,):
                check(one, name)
        except NotItsRightError as error:
            log(f"refused: {error}")
            comm.abort()
            raise
        return found

    comm.read = read


def check(message: Any, name: str) -> None:
    """Raises NotItsRightError."""
    asked = message.get("op") if isinstance(message, dict) else None
    if asked is not None and asked not in OPERATIONS:
        raise NotItsRightError(f"the host {name} may not {asked!r}")
    if asked == REGISTER and message.get("name") != name:
        other = message.get("name")
        raise NotItsRightError(f"the host {name} calls itself {other!r}")
