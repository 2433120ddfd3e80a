"""A program that runs for this process alone: it is ended by it, or dies with it."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from ioplan.core.context import Closing
from ioplan.core.system import libc

PR_SET_PDEATHSIG = 1


class OwnedProcess(Closing):
    """A child in a process group of its own.

    Ctrl-C reaches the owner only, which then ends the child in order. Signals go to
    the whole group, so that what the child has started ends with it.
    """

    grace_s = 5.0
    """How long it may take to end after a signal. What hangs in the kernel survives
    even SIGKILL, and is not waited for any longer."""

    def __init__(
        self,
        command: Sequence[str | Path],
        *,
        stdin: int | IO[bytes] = subprocess.DEVNULL,
        stdout: int | IO[bytes] = subprocess.PIPE,
        errors: IO[bytes] | None = None,
        folder: Path | None = None,
        environment: Mapping[str, str] | None = None,
        kept_fds: Sequence[int] = (),
        dies_with_parent: bool = True,
    ) -> None:
        """Raises OSError when it cannot be started.

        `errors` takes its standard error, a temporary file unless given.
        `environment` is added to this process's own; `kept_fds` are inherited.
        """
        self._errors = errors or tempfile.TemporaryFile()  # noqa: SIM115, see close
        try:
            self.popen = subprocess.Popen(
                command,
                stdin=stdin,
                stdout=stdout,
                stderr=self._errors,
                cwd=folder,
                env={**os.environ, **(environment or {})},
                pass_fds=kept_fds,
                start_new_session=True,
                # Two system calls and no lock, so that threads do not matter to it.
                preexec_fn=_die_with(os.getpid()) if dies_with_parent else None,  # noqa: PLW1509
            )
        except BaseException:
            self._errors.close()
            raise

    @property
    def code(self) -> int | None:
        """The exit code, minus the signal, once it has ended."""
        return self.popen.poll()

    @property
    def is_running(self) -> bool:
        """Whether it has not ended yet."""
        return self.code is None

    def stop(self) -> None:
        """SIGTERM: it ends in order."""
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        """SIGKILL, without waiting for its end."""
        self._signal(signal.SIGKILL)

    def _signal(self, number: signal.Signals) -> None:
        if self.is_running:
            with suppress(ProcessLookupError):  # it may just have ended
                os.killpg(self.popen.pid, number)

    def wait(self, wait_s: float | None = None) -> int | None:
        """The exit code, once it has ended by itself; None if it does not in time."""
        with suppress(subprocess.TimeoutExpired):
            self.popen.wait(self.grace_s if wait_s is None else wait_s)
        return self.code

    def finish(self) -> int | None:
        """Wait for its end, and kill it where that does not come: None then."""
        code = self.wait()
        if code is None:
            self.kill()
            self.wait()
        return code

    def end(self) -> int | None:
        """SIGTERM, and SIGKILL where that is of no use: None then, else the code."""
        self.stop()
        return self.finish()

    def error_text(self) -> str:
        """What it wrote to standard error so far."""
        fd = self._errors.fileno()
        return os.pread(fd, os.fstat(fd).st_size, 0).decode(errors="replace")

    def close(self) -> None:
        """End it; the pipes of one that hangs are left to whoever reads them."""
        self.end()
        if self.is_running:
            return
        for pipe in (self.popen.stdin, self.popen.stdout, self._errors):
            if pipe:
                with suppress(BrokenPipeError):  # what it was told may be left in it
                    pipe.close()


def _die_with(parent: int) -> Callable[[], None]:
    """Called in the child: from then on the kernel kills it when `parent` ends.

    The parent is the thread that starts it, which must outlive it.
    """

    prctl = libc().prctl

    def ask() -> None:
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it ended in between
            os._exit(1)

    return ask
