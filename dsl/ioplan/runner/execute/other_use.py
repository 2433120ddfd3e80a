"""Whether something else began to use the target during a session."""

from __future__ import annotations

from ioplan.backends.backend import Drive, WatchedDrive
from ioplan.core.error_kinds import Cause, ExplainedError
from ioplan.job import Failure


def other_use(drive: Drive) -> Failure | None:
    """What uses it; None if nothing does, or if nobody can tell."""
    if isinstance(drive, WatchedDrive):
        try:
            drive.check_use()
        except ExplainedError as error:
            return Failure(cause=Cause.TAKEN, message=str(error))
    return None
