"""The process that drive jobs of this host are children of, and share memory with.

It imports once what a drive job needs, and forks: a drive job takes a few MiB of its
own, and begins at once. It is killed without harm to them, and another one is started
for those that are still to come.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from select import select
from typing import IO, NamedTuple

PROGRAM = "ioplan_lab.host.process"
MESSAGE_BYTES = 8192
TITLE_ROOM = " " * 4096
"""An argument that drive jobs write their names over."""
READY = b"r"
IDLE_S = 2.0
"""Without drive jobs, and without a new one for so long, it ends."""


class JobParent:
    """As those see it who start drive jobs."""

    def __init__(self, errors: IO[bytes]) -> None:
        """Start it. What it says of itself goes to `errors`. Raises OSError."""
        self.is_ready = False
        self.socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, "-m", PROGRAM, str(theirs.fileno()), TITLE_ROOM],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
                cwd="/",
            )

    def start(self, folder: Path, lock: int) -> None:
        """Have it run the drive job of a folder, which takes the lock over.

        It is waited for until it receives: a descriptor that waits in a socket is a
        use of a file that nobody can see, and the guard refuses all targets then.
        Raises OSError once it has ended.
        """
        if not self.is_ready and not self.socket.recv(1):
            raise BrokenPipeError("the parent of drive jobs has ended")
        self.is_ready = True
        socket.send_fds(self.socket, [os.fsencode(folder)], [lock])

    @property
    def has_ended(self) -> bool:
        """Whether it has; it is no zombie then."""
        return self.process.poll() is not None

    def close(self) -> None:
        """There is nothing more to start; it ends with its last drive job."""
        self.socket.close()


PARENTS: list[JobParent] = []
"""Parents of this process that have not ended; the last one takes new drive jobs."""


def start_process(folder: Path, lock: int, errors: IO[bytes]) -> None:
    """Have a drive job run by a child of the parent, which is started if missing."""
    forget_ended()
    if PARENTS:
        with suppress(OSError):
            PARENTS[-1].start(folder, lock)
            return
    PARENTS.append(JobParent(errors))
    PARENTS[-1].start(folder, lock)


def forget_ended() -> None:
    """Wait for parents that have ended, so that they are no zombies."""
    for parent in [one for one in PARENTS if one.has_ended]:
        parent.close()
        PARENTS.remove(parent)


class Begun(NamedTuple):
    """A drive job as its process gets it: its folder, and the lock that it holds."""

    folder: Path
    lock: int


def requests(asked: socket.socket) -> Iterator[Begun]:
    """In the parent, the drive jobs to fork for, until there are none and nobody asks.

    Who asks once it has closed the socket starts another parent; what was asked just
    before is still done.
    """
    closed = False
    with suppress(OSError):  # who started it has gone
        asked.send(READY)
    while True:
        if not closed and not select([asked], [], [], IDLE_S)[0]:
            if _has_children():
                continue
            asked.shutdown(socket.SHUT_RD)
            closed = True
        message, fds, _, _ = socket.recv_fds(asked, MESSAGE_BYTES, 1)
        if not message:
            return
        os.set_inheritable(fds[0], False)  # a backend's process must not keep it
        yield Begun(Path(os.fsdecode(message)), fds[0])


def _has_children() -> bool:
    """While SIGCHLD is ignored, the kernel itself waits for them."""
    try:
        return os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG) is None
    except ChildProcessError:
        return False
