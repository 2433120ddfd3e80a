"""A process of fio's: started so that it cannot outlive ioplan, read, and ended."""

from __future__ import annotations

import ctypes
import os
import select
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from math import inf
from pathlib import Path
from typing import IO

GRACE_S = 5.0
"""How long fio may take to end after it was told to."""
POLL_MS = 200
CHUNK_BYTES = 1 << 16
PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)


def _die_with(parent: int) -> Callable[[], None]:
    """Called in the child before fio: from then on it dies with `parent`."""

    def ask() -> None:
        _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it died in between
            os._exit(1)

    return ask


class FioProcess:
    """fio under way. `hung` says that it had to be killed."""

    def __init__(
        self,
        command: Sequence[str],
        told: str,
        folder: Path,
        environment: Mapping[str, str] | None = None,
        held_fds: Sequence[int] = (),
    ) -> None:
        """`told` is its stdin. `held_fds` are locks: whoever finds them held knows that
        fio still runs."""
        self.hung = False
        self.stopped = False
        self.deadline_s = inf
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115, see close
        with tempfile.TemporaryFile() as stdin:
            stdin.write(told.encode())
            stdin.seek(0)
            self._process = subprocess.Popen(
                command,
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                cwd=folder,
                pass_fds=held_fds,
                env={**os.environ, "LC_ALL": "C", **(environment or {})},
                # Ctrl-C reaches the runner, which then stops fio in order.
                start_new_session=True,
                # Two system calls and no lock, so that threads do not matter to it.
                preexec_fn=_die_with(os.getpid()),  # noqa: PLW1509
            )

    def lines(self) -> Iterator[str]:
        """What fio prints, line by line, until it ends or has to be killed."""
        assert self._process.stdout
        fd, left = self._process.stdout.fileno(), b""
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
        self.hung, self.deadline_s = True, time.monotonic() + GRACE_S
        self._signal(signal.SIGKILL)
        return True

    @property
    def is_running(self) -> bool:
        """Whether it has not ended yet."""
        return self._process.poll() is None

    def stop(self) -> None:
        """SIGTERM: fio ends its I/O and prints its last document."""
        if not self.stopped:
            self.stopped = True
            self.deadline_s = min(self.deadline_s, time.monotonic() + GRACE_S)
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        """SIGKILL: no last document comes."""
        self._signal(signal.SIGKILL)

    def _signal(self, number: signal.Signals) -> None:
        if self._process.poll() is None:
            with suppress(ProcessLookupError):  # it may just have ended
                os.killpg(self._process.pid, number)

    def wait(self) -> int:
        """The exit code; of what cannot even be killed, that of SIGKILL."""
        for _ in range(2):
            try:
                return self._process.wait(GRACE_S)
            except subprocess.TimeoutExpired:
                self.hung = True
                self._signal(signal.SIGKILL)
        return -signal.SIGKILL

    def said(self) -> str:
        """Standard error."""
        self._errors.seek(0)
        return _text(self._errors.read())

    def close(self) -> None:
        """Leave no I/O behind."""
        if self._process.poll() is None:
            self.stop()
        self.wait()
        if self._process.stdout:
            self._process.stdout.close()
        self._errors.close()


def _text(line: bytes) -> str:
    return line.decode(errors="replace")
