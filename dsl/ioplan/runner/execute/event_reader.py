"""Takes events from an execution, in a thread of its own where it may hang."""

from __future__ import annotations

import time
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Thread

from ioplan.backends import BackendError, Execution
from ioplan.job import Event

JOIN_S = 1.0


class InPlace:
    """The pump of what never waits: two threads that take turns cost a third more."""

    waited_s = 0.0

    def __init__(self, execution: Execution) -> None:
        self.events = iter(execution)

    def start(self) -> None:
        """There is nothing to begin."""

    def ask(self) -> None:
        """It is taken when it is waited for."""

    def wait(self, wait_s: float) -> bool:
        """It has always come."""
        return True

    def take(self) -> Event | None:
        """The next event; None at the end. Raises what the backend raises."""
        return next(self.events, None)

    def end(self) -> None:
        """There is nothing to let go."""


class Pump:
    """One event at a time, and only when asked: a backend is never run ahead.

    Waiting for it takes signals at once, unlike waiting for a pipe in a thread.
    """

    def __init__(self, execution: Execution) -> None:
        self.execution = execution
        self.asked: SimpleQueue[bool] = SimpleQueue()
        self.given: SimpleQueue[Event | Exception | None] = SimpleQueue()
        self.got: Event | Exception | None = None
        self.waited_s = 0.0
        self.thread = Thread(target=self._run, daemon=True, name="ioplan pump")

    def start(self) -> None:
        """Begin, without taking anything yet."""
        self.thread.start()

    def ask(self) -> None:
        """Have the next event taken."""
        self.asked.put(True)

    def wait(self, wait_s: float) -> bool:
        """Whether it has come; `waited_s` is then how long that took."""
        began_s = time.monotonic()
        try:
            self.got = self.given.get(timeout=wait_s)
        except Empty:
            return False
        finally:
            self.waited_s = time.monotonic() - began_s
        return True

    def take(self) -> Event | None:
        """What has come; None at the end. Raises what the backend raised."""
        if isinstance(self.got, Exception):
            raise self.got
        return self.got

    def end(self) -> None:
        """Let the thread go; one that hangs stays, and dies with ioplan."""
        self.asked.put(False)
        with suppress(RuntimeError):  # it was never started
            self.thread.join(JOIN_S)

    def _run(self) -> None:
        try:
            events = iter(self.execution)
            while self.asked.get():
                self.given.put(next(events, None))
        except Exception as error:  # a stranger's code: anything may come
            self.given.put(error)
        except BaseException as error:
            self.given.put(BackendError(f"the backend ended by {error!r}"))


def pump_of(execution: Execution) -> Pump | InPlace:
    """How its events are taken."""
    never_waits = getattr(execution, "never_waits", False)
    return InPlace(execution) if never_waits else Pump(execution)
