"""A host's part of a session that several hosts do together, run by run.

If the coordinator disconnects or falls silent, the I/O ends: nobody wants it any more.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event as Flag
from threading import Thread, Timer
from typing import Any, Self

from ioplan.backends import BackendError, Drive, Execution
from ioplan.job import SECOND_NS, Event, Failure, Job, Result, Started
from ioplan.runner import (
    InstrumentedRun,
    Instruments,
    Limits,
    Placement,
    Watchdog,
    format_error,
    other_use,
)
from ioplan_lab.cluster.sync.messages import Message, MessageWriter

END_S = 30.0
"""How long a run may take to end once it was stopped."""


class GatedExecution:
    """An execution in virtual time, which starts when its events are asked for.

    Its clock stands still while nothing is asked, so the gate is before the second
    event.
    """

    def __init__(self, execution: Execution) -> None:
        self.execution, self.gate = execution, Flag()
        self.at_ns = self.started_ns = 0
        self.stop, self.kill = execution.stop, execution.kill

    def go(self, at_ns: int) -> None:
        """Start at that time."""
        self.at_ns = at_ns
        self.gate.set()

    def __enter__(self) -> Self:
        self.execution.__enter__()
        return self

    def __exit__(self, *raised: Any) -> None:
        self.execution.__exit__(*raised)

    def __iter__(self) -> Iterator[Event]:
        for event in self.execution:
            if isinstance(event, Result):
                facts = event.facts | {"started_ns": self.started_ns}
                yield event.model_copy(update={"facts": facts})
                continue
            yield event
            if isinstance(event, Started):
                self.gate.wait()
                time.sleep(max(0, self.at_ns - time.time_ns()) / SECOND_NS)
                self.started_ns = time.time_ns()


class Participant:
    """Does what the coordinator's messages say. `folder` gets each run's own result."""

    def __init__(
        self,
        drive: Drive,
        virtual_time: bool,
        limits: Limits,
        instruments: Instruments | None,
        send: MessageWriter,
        folder: Path,
        placement: Placement,
    ) -> None:
        self.drive, self.virtual_time, self.limits = drive, virtual_time, limits
        self.instruments, self.send, self.folder = instruments, send, folder
        self.placement = placement
        self.watchdog: Watchdog | None = None
        self.execution: Any = None
        self.thread: Thread | None = None
        self.watched: InstrumentedRun | None = None
        self.stopped = False
        self.late = ""
        self.runs = 0

    def serve(self, messages: Iterator[Message]) -> None:
        """Do what the messages say, and leave no I/O behind when they end."""
        actions: dict[str, Callable[[Message], None]] = {
            "clock": self._clock,
            "start": self._start,
            "go": lambda message: self._go(message["at_ns"]),
            "stop": lambda _: self._stop(),
            "kill": lambda _: self._kill(),
            "purge": lambda _: self._in_thread(self._purge),
            "idle": lambda message: self._in_thread(self._idle, message["pause_ns"]),
        }
        try:
            for message in messages:
                actions[message["do"]](message)
        finally:
            self._stop()
            if self.thread:
                self.thread.join(END_S)

    def _clock(self, message: Message) -> None:
        self.send("clock", sent_ns=message["sent_ns"], at_ns=time.time_ns())

    def _in_thread(self, function: Callable[..., None], *arguments: Any) -> None:
        self.thread = Thread(target=function, args=arguments, daemon=True)
        self.thread.start()

    def _purge(self) -> None:
        try:
            if taken := other_use(self.drive):
                raise BackendError(taken.message)
            self.send("done", text=self.drive.purge(self._on_progress))
        except Exception as error:  # a stranger's code: anything may come
            self.send("failed", text=format_error(error))

    def _on_progress(self, done: float) -> None:
        self.send("share", done=done)

    def _idle(self, pause_ns: int) -> None:
        self.drive.idle(pause_ns)
        self.send("done", text="")

    # ---- a run

    def _start(self, message: Message) -> None:
        change = {"target": self.drive.facts.path, "await_start": True}
        job = Job.model_validate(message["job"]).model_copy(update=change)
        self.watchdog, self.stopped, self.late = None, False, ""
        self.runs += 1
        self._in_thread(self._run, job)

    def _run(self, job: Job) -> None:
        watched = self.watched = InstrumentedRun(self.instruments, job)
        shared: tuple[str, ...] = ()
        try:
            with self.placement.placed(job) as (placed, shared), watched:
                for event in self._while_free(placed):
                    if not isinstance(event, Started):
                        watched.on_event(event)
                    self._send_event(event)
        except Exception as error:  # a stranger's code: anything may come
            self._send_event(
                Failure(cause="backend-error", message=format_error(error))
            )
        gathered = watched.telemetry
        telemetry = gathered.means and gathered.means.model_dump(mode="json")
        self.watchdog = self.execution = None
        warnings = (*gathered.warnings, *shared, *filter(None, [self.late]))
        self.send("over", telemetry=telemetry, warnings=warnings)

    def _go(self, at_ns: int) -> None:
        """The instruments start with the I/O, too."""
        if execution := self.execution:
            execution.go(at_ns)
        if self.watched:
            wait_s = max(0, at_ns - time.time_ns()) / SECOND_NS
            Timer(wait_s, self.watched.on_event, [Started(mode="")]).start()

    def _send_event(self, event: Event) -> None:
        self.send("event", event=event.model_dump(mode="json"))

    def _while_free(self, job: Job) -> Iterator[Event]:
        """Events of a run that nothing else on this host disturbs."""
        if taken := other_use(self.drive):
            yield taken
            return
        yield from self._events(job)
        if taken := other_use(self.drive):
            yield taken

    def _events(self, job: Job) -> Iterator[Event]:
        watchdog = Watchdog(lambda: self._execution(job), job, self.limits)
        with watchdog:
            self.watchdog = watchdog
            if self.stopped:
                watchdog.stop()
            for event in watchdog:
                yield self._stored(event) if isinstance(event, Result) else event
        self.late = watchdog.late()
        if hung := watchdog.failure():
            yield hung

    def _execution(self, job: Job) -> Execution:
        execution: Any = self.drive.start(job)
        self.execution = GatedExecution(execution) if self.virtual_time else execution
        made: Execution = self.execution
        return made

    def _stored(self, result: Result) -> Result:
        """This host's own result is also written to a file here."""
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
        """Stop the run, also one that waits at its gate, or is not there yet."""
        self.stopped = True
        if watchdog := self.watchdog:
            watchdog.stop()
        if isinstance(self.execution, GatedExecution):
            self.execution.go(0)

    def _kill(self) -> None:
        if execution := self.execution:
            execution.kill()
