"""Ctrl-C and SIGTERM: stop the I/O at once, keep what is finished."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any, Protocol, Self

WAITING, RUNNING, HOLDING = 0, 1, 2
"""How many signals are borne while the target rests, while a run goes on, and
while a run is started, left or stored. One more breaks off whatever it is."""


class Stoppable(Protocol):
    """A run, as far as a signal concerns it."""

    def stop(self) -> None:
        """End the I/O at once."""


class Interrupt:
    """Signals while a plan runs. The first one stops the current run in order."""

    def __init__(self) -> None:
        self.asked = 0
        self.patience = RUNNING
        self.current: Stoppable | None = None
        self.before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        for number in (signal.SIGINT, signal.SIGTERM):
            self.before[number] = signal.signal(number, self._handle)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for number, handler in self.before.items():
            signal.signal(number, handler)

    @contextmanager
    def patient(self, patience: int) -> Iterator[None]:
        """Bear so many signals meanwhile; with none, also not one from before."""
        before, self.patience = self.patience, patience
        try:
            if not patience:
                self.check()
            yield
        finally:
            self.patience = before

    @contextmanager
    def stopping(self, run: Stoppable) -> Iterator[None]:
        """The run that a signal stops; it may have come while the run was started."""
        self.current = run
        try:
            with self.patient(RUNNING):
                if self.asked:
                    run.stop()
                yield
        finally:
            self.current = None

    def check(self) -> None:
        """Raise KeyboardInterrupt if a signal has come."""
        if self.asked:
            raise KeyboardInterrupt

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self.asked += 1
        if self.asked > self.patience:
            raise KeyboardInterrupt
        if self.current:
            self.current.stop()
