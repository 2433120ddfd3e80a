"""A meter outside the machine, read by a command that the lab names."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from math import isfinite
from typing import IO

TIMEOUT_S, END_S = 10.0, 1.0
MAX_SHOWN, MAX_BYTES = 100, 4096


class Meter:
    """Polled again and again, never waited for.

    The answer of a command that is started in one interval is read in a later one.
    `problem` says what went wrong first, if anything did.
    """

    def __init__(self, command: Sequence[str]) -> None:
        self.command = list(command)
        self.process: subprocess.Popen[bytes] | None = None
        self.started_s = 0.0
        self.problem = ""

    def now(self) -> float | None:
        """Watts, if an answer has come since; starts the next command."""
        answer = self._poll()
        if self.process is None:
            self._start()
        return answer

    def close(self) -> None:
        """End the command that still runs, and its children."""
        if self.process:
            with suppress(OSError):
                os.killpg(self.process.pid, signal.SIGKILL)
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(END_S)
            for pipe in (self.process.stdout, self.process.stderr):
                _read_available(pipe)
            self.process = None

    def _start(self) -> None:
        try:
            self.process = subprocess.Popen(
                self.command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,  # Ctrl-C is the runner's
            )
        except (OSError, ValueError) as error:
            self._failed(f"cannot be started: {error}")
        self.started_s = time.monotonic()

    def _poll(self) -> float | None:
        if self.process is None:
            return None
        if self.process.poll() is None:
            if time.monotonic() - self.started_s > TIMEOUT_S:
                self._failed(f"did not answer within {TIMEOUT_S:.0f} s")
                self.close()
            return None
        stdout, stderr = (
            _read_available(self.process.stdout),
            _read_available(self.process.stderr),
        )
        code, self.process = self.process.returncode, None
        return self._watts(code, stdout, stderr)

    def _watts(self, code: int, stdout: str, stderr: str) -> float | None:
        if code:
            self._failed(
                f"ended with {code}: {(stderr or stdout).strip()[:MAX_SHOWN]!r}"
            )
            return None
        try:
            watts = float(stdout)
        except ValueError:
            watts = -1.0
        if not isfinite(watts) or watts < 0:
            self._failed(
                f"printed {stdout.strip()[:MAX_SHOWN]!r}, which is not a number of "
                "watts"
            )
            return None
        return watts

    def _failed(self, why: str) -> None:
        words = " ".join(self.command)
        self.problem = self.problem or f"the power meter `{words}` {why}"


def _read_available(pipe: IO[bytes] | None) -> str:
    """What is in a pipe now; its other writers are not waited for."""
    assert pipe
    with pipe:
        os.set_blocking(pipe.fileno(), False)
        try:
            return os.read(pipe.fileno(), MAX_BYTES).decode(errors="replace")
        except BlockingIOError:
            return ""
