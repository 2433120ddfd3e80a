"""The lock on an open target, which the hosts of one session can share.

The host that leads locks the target exclusively, checks that nothing uses it, and
only then shares the lock with the other hosts. Other sessions ask for an exclusive
lock, and do not get it. Hosts that are containers of one kernel also see each other's
open files on the target: those of the session's own participants are no obstacle.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from ioplan.backends.backend import TargetRequest
from ioplan.core.error_kinds import TargetFault
from ioplan.core.system import fcntl
from ioplan.runner.devices.open_files import Opener, openers
from ioplan.runner.devices.proc import lineage
from ioplan.runner.guard.errors import TargetError

LOCK_WAIT_S = 5.0
"""What a killed ioplan left behind needs a moment to end."""


class Participants(NamedTuple):
    """The processes of a session on all hosts: each runs `program` with its id."""

    program: str = ""
    session: str = ""
    own: int = 0
    """This process, once it may have started others that use the target for it."""

    def include(self, pid: int) -> bool:
        """Whether a process is one of them, or was started by one."""
        return any(map(self._has, lineage(pid)))

    def _has(self, pid: int) -> bool:
        if pid == self.own:
            return True
        if not (self.program and self.session):
            return False
        try:
            command = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except OSError:
            return False
        return {os.fsencode(self.program), os.fsencode(self.session)} <= {*command}


NO_PARTICIPANTS = Participants()
"""The participants of a session of one host."""


def participants_of(request: TargetRequest) -> Participants:
    """The participants of the request's session, besides this process."""
    return Participants(request.participant_program, request.together)


def unrelated_openers(
    found: Iterable[Opener], participants: Participants
) -> list[Opener]:
    """The openers that do not take part in the session."""
    return [one for one in found if not participants.include(one.pid)]


def try_lock(fd: int, request: TargetRequest) -> bool:
    """Lock the target exclusively, or shared if another host leads."""
    alone = request.leads or not request.together
    how = fcntl.LOCK_EX if alone else fcntl.LOCK_SH
    try:
        fcntl.flock(fd, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def lock(path: Path, fd: int, request: TargetRequest) -> None:
    """As `try_lock`, for a while. Raises TargetError."""
    for _ in tries():
        if try_lock(fd, request):
            return
    raise locked(path, fd)


def tries() -> Iterator[None]:
    """Again and again, for as long as what a killed ioplan left behind may need."""
    deadline_s = time.monotonic() + LOCK_WAIT_S
    yield
    while time.monotonic() <= deadline_s:
        time.sleep(0.01)
        yield


def share_lock(path: Path, fd: int, request: TargetRequest) -> None:
    """Admit the other hosts of the session, now that all is checked.

    Raises TargetError where another session got the lock in between.
    """
    if not (request.together and request.leads):
        return
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        raise locked(path, fd) from None


def locked(path: Path, fd: int) -> TargetError:
    """It is locked: by an ioplan, or by the backend of one that ended or gave up."""
    text = f"another ioplan uses {path} now"
    if found := openers(os.fstat(fd)):
        text += f", or a process that one left behind: {', '.join(map(str, found))}"
    return TargetError(f"{text}; wait until it ends", TargetFault.LOCKED)
