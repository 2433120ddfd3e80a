"""A bdevperf process that does not outlive what started it."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from ioplan.job import SECOND_NS, Cpu

PR_SET_PDEATHSIG = 1
GRACE_S = 5.0
"""How long it may take to end after SIGTERM. Some hangs ignore it for ever."""
LIBC = ctypes.CDLL(None)


class Process:
    """In a process group of its own: Ctrl-C reaches the runner, which then stops
    it in order. What it prints goes to files, so that it never waits for a reader.
    """

    def __init__(self, arguments: list[str], folder: Path) -> None:
        """Raises OSError when it cannot be started."""
        self.stdout, self.stderr = folder / "stdout", folder / "stderr"
        with self.stdout.open("wb") as out, self.stderr.open("wb") as err:
            self.popen = subprocess.Popen(
                arguments,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
                # nothing is imported or locked between fork and exec
                preexec_fn=_dies_with(os.getpid()),  # noqa: PLW1509
            )

    @property
    def code(self) -> int | None:
        """The exit code, minus the signal, once it has ended."""
        return self.popen.poll()

    def terminate(self) -> None:
        """SIGTERM: a test ends, and the process with it."""
        self._signal(signal.SIGTERM)

    def end(self, grace_s: float = GRACE_S) -> int | None:
        """End it: TERM, then KILL. Returns the code if it ended by itself or TERM."""
        self.terminate()
        try:
            return self.popen.wait(grace_s)
        except subprocess.TimeoutExpired:
            self.kill()
            return None

    def kill(self) -> None:
        """End it and its children at once."""
        self._signal(signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):
            self.popen.wait(GRACE_S)

    def wait(self, wait_s: float) -> int | None:
        """Give it time to end by itself."""
        with suppress(subprocess.TimeoutExpired):
            self.popen.wait(wait_s)
        return self.code

    def _signal(self, number: signal.Signals) -> None:
        if self.code is None:
            with suppress(ProcessLookupError):
                os.killpg(self.popen.pid, number)

    def output(self) -> str:
        """What it printed so far."""
        return self.stdout.read_text(errors="replace")

    def said(self) -> str:
        """All that it said, its errors first."""
        return self.stderr.read_text(errors="replace") + self.output()

    def cpu(self) -> Cpu:
        """CPU time so far; nothing once it is gone."""
        try:
            stat = Path(f"/proc/{self.popen.pid}/stat").read_text()
        except OSError:
            return Cpu()
        user, system = stat.rpartition(")")[2].split()[11:13]
        tick_ns = SECOND_NS // os.sysconf("SC_CLK_TCK")
        return Cpu(user_ns=int(user) * tick_ns, system_ns=int(system) * tick_ns)


def _dies_with(parent: int) -> Callable[[], None]:
    """Have the kernel kill the child when its parent is gone, however it went.

    The parent is a thread here: the one that starts a run must outlive it.
    """

    def ask() -> None:
        LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it went before it could be asked
            os._exit(1)

    return ask
