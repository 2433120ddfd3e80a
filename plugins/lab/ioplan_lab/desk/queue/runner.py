"""A desk's turn at the queue.

One runner has a desk's folder at a time, by a lock that the kernel releases when its
process ends, however it ends. So what is `starting` under its name when it begins was
cut off, and is started again.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ioplan.core.system import O_CLOEXEC, fcntl
from ioplan_lab.desk.errors import DeskError
from ioplan_lab.desk.queue.entry import Entry
from ioplan_lab.desk.queue.queue import Queue
from ioplan_lab.desk.queue.start import Starter, StartError
from ioplan_lab.desk.work import Said, Turn


def desk_name(folder: Path) -> str:
    """What tells this desk from others of the same database."""
    return f"{platform.node()}:{folder.absolute()}"


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """One runner has the folder. Raises DeskError where another one has it."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    fd = os.open(folder / "runner.lock", os.O_RDWR | os.O_CREAT | O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise DeskError(
            f"another desk already works on the queue, in {folder}; stop it first"
        ) from None
    finally:
        os.close(fd)


class Runner:
    """Starts what may be started, and follows it to its end.

    `checks` is what may take drives out of service before anything is started.
    """

    def __init__(
        self,
        queue: Queue,
        starter: Starter,
        desk: str,
        said: Said = lambda text: None,
        checks: Turn = lambda: None,
    ) -> None:
        self.queue, self.starter, self.desk, self.said = queue, starter, desk, said
        self.checks = checks

    def turn(self) -> None:
        """Once. Raises StoreError, LabError."""
        self.queue.give_up_lost()
        for entry in self.queue.of(self.desk):
            self._follow(entry)
        self.checks()
        while taken := self.queue.take(self.desk):
            self._start(taken)

    def _follow(self, entry: Entry) -> None:
        if entry.state != "running":  # cut off; a job that is there is not begun anew
            self._start(entry)
            return
        if entry.cancelled_by:
            self.starter.stop(entry)
        if (outcome := self.starter.outcome(entry)) is not None:
            self.queue.end(entry, outcome)
            self.said(f"#{entry.number} {entry.plan}: {outcome}")

    def _start(self, entry: Entry) -> None:
        try:
            self.starter.start(entry)
        except StartError as error:
            self.queue.end(entry, f"refused: {error}")
            self.said(f"#{entry.number} {entry.plan} was refused: {error}")
            return
        self.queue.started(entry)
        self.said(f"#{entry.number} {entry.plan} runs on {entry.target}: {entry.job}")
