"""Ctrl-C and SIGTERM: stop the I/O at once, keep what is finished."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Protocol, Self

from ioplan.core.context import Closing

IDLE, RUNNING, CRITICAL = 0, 1, 2
"""How many signals are tolerated while the target rests, while a run goes on, and
while a run is started, ended or stored. One more raises KeyboardInterrupt."""


class Stoppable(Protocol):
    """A run, as far as a signal concerns it."""

    def stop(self) -> None:
        """End the I/O at once."""


class Interrupt(Closing):
    """Signals while a plan runs. The first one stops the current run cleanly."""

    def __init__(self) -> None:
        self.signals, self.why = 0, "stopped by the user"
        self.tolerance = RUNNING
        self.current: Stoppable | None = None
        self.before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        for number in (signal.SIGINT, signal.SIGTERM):
            self.before[number] = signal.signal(number, self._handle)
        return self

    def close(self) -> None:
        """Give the signals back to whom they belonged."""
        for number, handler in self.before.items():
            signal.signal(number, handler)

    @contextmanager
    def tolerating(self, tolerance: int) -> Iterator[None]:
        """Raise only after so many signals; with 0, also for one from before."""
        before, self.tolerance = self.tolerance, tolerance
        try:
            if not tolerance:
                self.check()
            yield
        finally:
            self.tolerance = before

    @contextmanager
    def stopping(self, run: Stoppable) -> Iterator[None]:
        """Have a signal stop this run, also one that came while it was started."""
        self.current = run
        try:
            with self.tolerating(RUNNING):
                if self.signals:
                    run.stop()
                yield
        finally:
            self.current = None

    def end(self, why: str) -> None:
        """Stop as a signal does, for another reason."""
        if not self.signals:
            self.signals, self.why = 1, why
            if self.current:
                self.current.stop()

    def check(self) -> None:
        """Raise KeyboardInterrupt if a signal has come."""
        if self.signals:
            raise KeyboardInterrupt

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self.signals += 1
        if self.signals > self.tolerance:
            raise KeyboardInterrupt
        if self.current:
            self.current.stop()
