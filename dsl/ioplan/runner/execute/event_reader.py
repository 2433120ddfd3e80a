"""Reads events from an execution, in a thread of its own where it may hang."""

from __future__ import annotations

import time
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Thread

from ioplan.backends.backend import BackendError, Execution
from ioplan.job import Event

JOIN_S = 1.0


class DirectReader:
    """Reads what never waits: two threads that take turns cost a third more."""

    waited_s = 0.0

    def __init__(self, execution: Execution) -> None:
        self.events = iter(execution)

    def start(self) -> None:
        """Nothing to do."""

    def request(self) -> None:
        """Nothing to do: `result` reads it."""

    def wait(self, wait_s: float) -> bool:
        """Always true: the event is read without waiting."""
        return True

    def result(self) -> Event | None:
        """The next event; None at the end. Raises what the backend raises."""
        return next(self.events, None)

    def close(self) -> None:
        """Nothing to do."""


class ThreadReader:
    """One event at a time, and only on request: a backend is never run ahead.

    A signal interrupts the wait at once, unlike a wait for a pipe.
    """

    def __init__(self, execution: Execution) -> None:
        self.execution = execution
        self.requests: SimpleQueue[bool] = SimpleQueue()
        self.replies: SimpleQueue[Event | Exception | None] = SimpleQueue()
        self.reply: Event | Exception | None = None
        self.waited_s = 0.0
        self.thread = Thread(target=self._run, daemon=True, name="ioplan event reader")

    def start(self) -> None:
        """Start the thread; nothing is read yet."""
        self.thread.start()

    def request(self) -> None:
        """Have the next event read."""
        self.requests.put(True)

    def wait(self, wait_s: float) -> bool:
        """Whether the event has come; `waited_s` is how long that took."""
        started_s = time.monotonic()
        try:
            self.reply = self.replies.get(timeout=wait_s)
        except Empty:
            return False
        finally:
            self.waited_s = time.monotonic() - started_s
        return True

    def result(self) -> Event | None:
        """The event; None at the end. Raises what the backend raised."""
        if isinstance(self.reply, Exception):
            raise self.reply
        return self.reply

    def close(self) -> None:
        """End the thread; one that hangs stays, and dies with ioplan."""
        self.requests.put(False)
        with suppress(RuntimeError):  # it was never started
            self.thread.join(JOIN_S)

    def _run(self) -> None:
        try:
            events = iter(self.execution)
            while self.requests.get():
                self.replies.put(next(events, None))
        except Exception as error:  # a stranger's code: anything may come
            self.replies.put(error)
        except BaseException as error:
            self.replies.put(BackendError(f"the backend ended by {error!r}"))


def never_waits(execution: Execution) -> bool:
    """Whether it computes its events, in virtual time."""
    return bool(getattr(execution, "never_waits", False))


def reader_of(execution: Execution) -> ThreadReader | DirectReader:
    """The reader that fits an execution."""
    return (
        DirectReader(execution) if never_waits(execution) else ThreadReader(execution)
    )
