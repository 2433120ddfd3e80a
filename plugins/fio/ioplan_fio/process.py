"""fio as a child process: its output line by line, up to a deadline."""

from __future__ import annotations

import os
import select
import signal
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from math import inf
from pathlib import Path

from ioplan.core.child import OwnedProcess

POLL_MS = 200
MOST_LINE_BYTES = 1 << 20
CHUNK_BYTES = 1 << 16


class FioProcess(OwnedProcess):
    """fio under way. `hung` says that it had to be killed."""

    def __init__(
        self,
        command: Sequence[str],
        stdin_text: str,
        folder: Path,
        environment: Mapping[str, str],
        held_fds: Sequence[int] = (),
    ) -> None:
        """`held_fds` are locks: whoever finds them held knows that fio still runs."""
        self.hung = False
        self.stopped = False
        self.deadline_s = inf
        with tempfile.TemporaryFile() as stdin:
            stdin.write(stdin_text.encode())
            stdin.seek(0)
            super().__init__(
                command,
                stdin=stdin,
                folder=folder,
                environment={"LC_ALL": "C", **environment},
                kept_fds=held_fds,
            )

    def lines(self) -> Iterator[str]:
        """What fio prints, line by line, until it ends or has to be killed."""
        assert self.popen.stdout
        fd, left = self.popen.stdout.fileno(), b""
        poll = select.poll()
        poll.register(fd, select.POLLIN | select.POLLHUP)
        while self._goes_on():
            if not poll.poll(POLL_MS):
                continue
            chunk = os.read(fd, CHUNK_BYTES)
            if not chunk:
                break
            *whole, left = (left + chunk).split(b"\n")
            yield from (_text(line) + "\n" for line in whole)
            if len(left) > MOST_LINE_BYTES:
                yield _text(left)
                left = b""
        if left:
            yield _text(left)

    def _goes_on(self) -> bool:
        """Whether there is more to wait for; kills fio when it is overdue.

        What hangs in the kernel survives even that, and is not waited for.
        """
        if time.monotonic() < self.deadline_s:
            return True
        if self.hung:
            return False
        self.hung, self.deadline_s = True, time.monotonic() + self.grace_s
        self.kill()
        return True

    def stop(self) -> None:
        """SIGTERM: fio ends its I/O and prints its last document."""
        if not self.stopped:
            self.stopped = True
            self.deadline_s = min(self.deadline_s, time.monotonic() + self.grace_s)
        super().stop()

    def exit_code(self) -> int:
        """Wait for its end; of what has to be killed, the code of SIGKILL."""
        code = self.finish()
        self.hung |= code is None
        return -signal.SIGKILL if code is None else code


def _text(line: bytes) -> str:
    return line.decode(errors="replace")
