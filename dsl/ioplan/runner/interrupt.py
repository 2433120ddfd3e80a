"""Ctrl-C and SIGTERM: stop the I/O at once, keep what is finished."""

from __future__ import annotations

import signal
from types import FrameType, TracebackType
from typing import Any, Self

from ioplan.backends import Execution


class Interrupt:
    """While active, a signal stops the current execution, or raises outside one."""

    def __init__(self) -> None:
        self.asked = False
        self.current: Execution | None = None
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

    def _handle(self, number: int, frame: FrameType | None) -> None:
        again, self.asked = self.asked, True
        if self.current is None or again:
            raise KeyboardInterrupt
        self.current.stop()
