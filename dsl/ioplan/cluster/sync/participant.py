"""A host's part of a session that several hosts do together, told by lines of JSON.

Each line that comes says what to `do`, each that goes out what is `said`. No line for
a while, or the end of them, ends the I/O: nobody is there who wants it.
"""

from __future__ import annotations

import json
import os
import select
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event as Flag
from threading import Lock, Thread, Timer
from typing import Any

from ioplan.backends import Drive, Execution
from ioplan.core.model import Model
from ioplan.job import SECOND_NS, Event, Failure, Job, Result, Started
from ioplan.lab.lab import Lab
from ioplan.runner.execute.execute import format_error
from ioplan.runner.execute.watchdog import Limits, Watchdog
from ioplan.telemetry.instruments import InstrumentedRun, Instruments

SILENT_S = 10.0
"""The desk is heard of every second."""
LEAVING_S = 30.0
CHUNK_BYTES = 1 << 16

Told = dict[str, Any]


def lines_of(fd: int, silent_s: float = SILENT_S) -> Iterator[Told]:
    """What comes, until the other side has gone, or has been silent for too long."""
    poll, left = select.poll(), b""
    poll.register(fd, select.POLLIN | select.POLLHUP)
    while poll.poll(silent_s * 1000):
        chunk = os.read(fd, CHUNK_BYTES)
        if not chunk:
            return
        *whole, left = (left + chunk).split(b"\n")
        yield from (json.loads(line) for line in whole)


class Voice:
    """Says lines, whole ones from any thread."""

    def __init__(self, fd: int) -> None:
        self.file, self.lock = os.fdopen(fd, "wb", buffering=0), Lock()

    def __call__(self, said: str, **more: Any) -> None:
        line = json.dumps({"said": said, **more}).encode() + b"\n"
        with self.lock:
            view = memoryview(line)
            while view:
                view = view[self.file.write(view) or 0 :]


class Lazy:
    """An execution that does nothing until it is asked for more: asking is its start.

    That is so in virtual time, where no clock goes on meanwhile.
    """

    def __init__(self, execution: Execution) -> None:
        self.execution, self.opened = execution, Flag()
        self.at_ns = self.started_ns = 0
        self.stop, self.kill = execution.stop, execution.kill
        self.__exit__ = execution.__exit__

    def go(self, at_ns: int) -> None:
        """Begin at that time."""
        self.at_ns = at_ns
        self.opened.set()

    def __enter__(self) -> Execution:
        self.execution.__enter__()
        return self  # type: ignore[return-value]

    def __iter__(self) -> Iterator[Event]:
        for event in self.execution:
            if isinstance(event, Result):
                facts = event.facts | {"started_ns": self.started_ns}
                yield event.model_copy(update={"facts": facts})
                continue
            yield event
            if isinstance(event, Started):
                self.opened.wait()
                time.sleep(max(0, self.at_ns - time.time_ns()) / SECOND_NS)
                self.started_ns = time.time_ns()


class Part:
    """What a host does, run by run. `keep` writes a run's result down there."""

    def __init__(
        self,
        drive: Drive,
        lazy: bool,
        limits: Limits,
        instruments: Instruments | None,
        voice: Voice,
        folder: Path,
    ) -> None:
        self.drive, self.lazy, self.limits = drive, lazy, limits
        self.instruments, self.voice, self.folder = instruments, voice, folder
        self.dog: Watchdog | None = None
        self.execution: Any = None
        self.thread: Thread | None = None
        self.watched: InstrumentedRun | None = None
        self.stopped = False
        self.runs = 0

    def serve(self, lines: Iterator[Told]) -> None:
        """Do what the lines say, and leave no I/O behind when they end."""
        does: dict[str, Callable[[Told], None]] = {
            "clock": self._clock,
            "start": self._start,
            "go": lambda line: self._go(line["at_ns"]),
            "stop": lambda _: self._stop(),
            "kill": lambda _: self._kill(),
            "purge": lambda _: self._begin(self._purge),
            "idle": lambda line: self._begin(self._idle, line["pause_ns"]),
        }
        try:
            for line in lines:
                does[line["do"]](line)
        finally:
            self._stop()
            if self.thread:
                self.thread.join(LEAVING_S)

    def _clock(self, line: Told) -> None:
        self.voice("clock", sent_ns=line["sent_ns"], at_ns=time.time_ns())

    def _begin(self, what: Callable[..., None], *with_: Any) -> None:
        self.thread = Thread(target=what, args=with_, daemon=True)
        self.thread.start()

    def _purge(self) -> None:
        try:
            self.voice("done", text=self.drive.purge(self._purged))
        except Exception as error:  # a stranger's code: anything may come
            self.voice("failed", text=format_error(error))

    def _purged(self, share: float) -> None:
        self.voice("share", done=share)

    def _idle(self, pause_ns: int) -> None:
        self.drive.idle(pause_ns)
        self.voice("done", text="")

    # ---- a run

    def _start(self, line: Told) -> None:
        change = {"target": self.drive.facts.path, "await_start": True}
        job = Job.model_validate(line["job"]).model_copy(update=change)
        self.dog, self.stopped = None, False
        self.runs += 1
        self._begin(self._run, job)

    def _run(self, job: Job) -> None:
        watched = self.watched = InstrumentedRun(self.instruments, job)
        try:
            with watched:
                for event in self._events(job):
                    if not isinstance(event, Started):
                        watched.on_event(event)
                    self._tell(event)
        except Exception as error:  # a stranger's code: anything may come
            self._tell(Failure(cause="backend-error", message=format_error(error)))
        gathered = watched.telemetry
        telemetry = gathered.means and gathered.means.model_dump(mode="json")
        self.dog = self.execution = None
        self.voice("over", telemetry=telemetry, warnings=gathered.warnings)

    def _go(self, at_ns: int) -> None:
        """The instruments begin with the I/O, too."""
        if execution := self.execution:
            execution.go(at_ns)
        if self.watched:
            wait_s = max(0, at_ns - time.time_ns()) / SECOND_NS
            Timer(wait_s, self.watched.on_event, [Started(mode="")]).start()

    def _tell(self, event: Event) -> None:
        self.voice("event", event=event.model_dump(mode="json"))

    def _events(self, job: Job) -> Iterator[Event]:
        dog = Watchdog(lambda: self._started(job), job, self.limits)
        with dog:
            self.dog = dog
            if self.stopped:
                dog.stop()
            for event in dog:
                yield self._kept(event) if isinstance(event, Result) else event
        if hung := dog.failure():
            yield hung

    def _started(self, job: Job) -> Execution:
        execution: Any = self.drive.start(job)
        self.execution = Lazy(execution) if self.lazy else execution
        made: Execution = self.execution
        return made

    def _kept(self, result: Result) -> Result:
        """What this host alone has measured also stays here."""
        file = self.folder / f"part-{self.runs:04}.json"
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(result.model_dump_json())
        except OSError as error:
            text = f"the host's own result is not kept: {file}: {error.strerror}"
            return result.model_copy(update={"warnings": (*result.warnings, text)})
        facts = result.facts | {"kept": str(file)}
        return result.model_copy(update={"facts": facts})

    def _stop(self) -> None:
        """Also a run that waits at its gate, or has not come there yet."""
        self.stopped = True
        if dog := self.dog:
            dog.stop()
        if isinstance(self.execution, Lazy):
            self.execution.go(0)

    def _kill(self) -> None:
        if execution := self.execution:
            execution.kill()


class PartCall(Model):
    """One host's part; `lab` is the lab as this host sees it, from `lab_file`.

    The host that `leads` opens the target first, prepares it, and lets others in.
    """

    session: str
    target: str
    backend: str
    lab: Lab
    lab_file: str
    options: tuple[str, ...] = ()
    overwrite: tuple[str, ...] = ()
    writes: bool = False
    leads: bool = False
