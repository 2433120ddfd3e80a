"""`ioplan participant`: this host's part of a session that several hosts do together.

It opens the target as `ioplan run` here would, with all checks of the guard. When the
coordinator ends, its link is cut or it falls silent, the I/O ends: nobody wants it any
more.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, suppress
from functools import partial
from queue import SimpleQueue
from threading import Thread
from typing import Any, Self

from ioplan.backends import BackendError
from ioplan.cli import UsageError, prepared_for, resolved_request, usable_backend
from ioplan.core import Cause, ExplainedError
from ioplan.job import SECOND_NS, Event, Job, Progress, Result, Started
from ioplan.results.store import default_path
from ioplan.results.store.session_folder import session_folder
from ioplan.runner import (
    Instruments,
    Interrupt,
    Lab,
    Limits,
    format_error,
    host_facts,
    other_use,
    placement_of,
    read_lab,
)
from ioplan.runner.execute.execute import RunOutcome, execute
from ioplan_lab.together.messages import Call, Message, Opened, Part, Writer, messages

NAME = "participant"
"""The word of the command line by which the guard knows those of one session."""
END_S = 30.0
"""How long a run may take to end once it was stopped."""
MACHINE = ("hostname", "kernel", "cpu", "cpus", "memory_bytes")
"""The facts of each host that a record keeps."""


def participant(session: str) -> None:
    """Do what the messages on stdin say, until they end."""
    if not re.fullmatch(r"[0-9a-z-]{1,64}", session):
        raise UsageError(f"{session!r} is no session's id")
    send = Writer(os.fdopen(os.dup(1), "wb"))
    os.dup2(2, 1)  # whatever else is printed is no message, and goes to stderr
    Participant(session, send).serve(messages(0))
    os._exit(0)  # a thread may hang in the kernel


def own_lab() -> Lab:
    """The lab file of this host: what is here, whoever else has it, too."""
    lab = read_lab(None)
    here = {
        name: entry.model_copy(update={"hosts": ()})
        for name, entry in lab.targets.items()
        if not entry.host
    }
    return lab.model_copy(update={"targets": here})


class GatedExecution:
    """It says when its I/O can begin, and waits until it is told to."""

    def __init__(self, execution: Any, on_ready: Callable[[str], None]) -> None:
        self.execution, self.on_ready = execution, on_ready
        self.start_ns: SimpleQueue[int] = SimpleQueue()

    def __enter__(self) -> Self:
        self.execution.__enter__()
        return self

    def __exit__(self, *raised: Any) -> None:
        self.execution.__exit__(*raised)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.execution, name)

    def __iter__(self) -> Iterator[Event]:
        for event in self.execution:
            if isinstance(event, Started):
                self.on_ready(event.mode)
                wait_ns = self.start_ns.get() - time.time_ns()
                time.sleep(max(0, wait_ns) / SECOND_NS)
            yield event

    def begin(self, at_ns: int) -> None:
        """Begin at that time; in virtual time, then give the events."""
        if go := getattr(self.execution, "go", None):
            go(at_ns)
        self.start_ns.put(at_ns)

    def stop(self) -> None:
        """End it, also if it waits."""
        self.start_ns.put(0)
        self.execution.stop()


class Participant:
    """What can take long is done by one thread, in the order of the messages."""

    def __init__(self, session: str, send: Writer) -> None:
        self.session, self.send = session, send
        self.folder = session_folder(default_path(), session)
        self.orders: SimpleQueue[Message | None] = SimpleQueue()
        self.execution: GatedExecution | None = None
        self.interrupt = Interrupt()
        self.runs = 0
        self.stack = ExitStack()

    def serve(self, received: Iterator[Message]) -> None:
        """Do what the messages say, and leave no I/O behind when they end."""
        thread = Thread(target=self._work, daemon=True)
        thread.start()
        try:
            for message in received:
                self._take(message)
        except BackendError as error:
            self._say_failure(error)
        except OSError as error:
            print(f"the coordinator is gone: {error}", flush=True)
        finally:
            self.orders.put(None)
            self._stop()
            thread.join(END_S)

    def _say(self, what: str, text: str = "", **more: Any) -> None:
        self.send(Message(what=what, text=text, **more))

    def _say_failure(self, error: Exception) -> None:
        kind = error.kind if isinstance(error, ExplainedError) else ""
        self._say("failed", text=format_error(error), error=kind)

    def _take(self, message: Message) -> None:
        """Do at once what must not wait for what was ordered before."""
        match message:
            case Message(what="clock"):
                self._say("clock", sent_ns=message.sent_ns, at_ns=time.time_ns())
            case Message(what="go") if self.execution:
                self.execution.begin(message.at_ns)
            case Message(what="stop"):
                self._stop()
            case _:
                if message.job:  # a stop that comes before its I/O begins ends it, too
                    self.interrupt = Interrupt()
                self.orders.put(message)

    def _stop(self) -> None:
        """End the run, also if its I/O has not begun, or it is not there yet."""
        self.interrupt.end("stopped by the coordinator")

    def _work(self) -> None:
        with self.stack:
            for order in iter(self.orders.get, None):
                try:
                    self._do(order)
                except Exception as error:  # a stranger's code: anything may come
                    self._say_failure(error)

    def _do(self, order: Message) -> None:
        """Raises ExplainedError."""
        if order.call:
            self._open(order.call)
        elif order.job:
            self._run(order.job)
        elif order.what == "purge":
            self._check_use()
            text = self.drive.purge(lambda done: self._say("share", share=done))
            self._say("done", text)
        elif order.what == "idle":
            self.drive.idle(order.pause_ns)
            self._say("done")

    # ---- the target

    def _open(self, call: Call) -> None:
        """Open the target as this host's lab file has it."""
        choice = usable_backend(call.backend, own_lab(), call.options)
        own = {"options": choice.options, "folder": str(self.folder)}
        session = {"together": self.session, "participant_program": NAME}
        request = call.request.model_copy(update=own | session)
        request = resolved_request(request, choice, None)
        self.drive = self.stack.enter_context(closing(choice.backend.open(request)))
        lab, facts, virtual = choice.lab, self.drive.facts, choice.backend.virtual_time
        note = partial(print, flush=True)
        prepared = prepared_for(choice, facts, self.session, note)
        set_here = self.stack.enter_context(prepared)
        self.limits = Limits() if lab.silence_s is None else Limits(lab.silence_s)
        cpus, meter = lab.cpus_of(request.entry), lab.meter_of(request.entry)
        self.placement = placement_of(choice.backend, facts, cpus)
        self.instruments = None if virtual else Instruments(facts, meter)
        host = host_facts() if virtual else host_facts(facts, meter)
        opened = Opened(
            facts=facts,
            version=choice.backend.availability(choice.options).version,
            options=choice.options,
            machine={name: host.get(name) for name in MACHINE} | {"prepared": set_here},
        )
        self._say("opened", opened=opened)

    def _check_use(self) -> None:
        """Raises BackendError where something else uses the target."""
        if taken := other_use(self.drive):
            raise BackendError(taken.message, taken.cause)

    # ---- a run

    def start(self, job: Job) -> GatedExecution:
        """For the runner, to which this is the drive."""
        started = self.drive.start(job)
        self.execution = GatedExecution(started, partial(self._say, "ready"))
        return self.execution

    def _on_interval(self, progress: Progress, _: object) -> bool:
        self._say("progress", progress=progress)
        return False

    def _run(self, job: Job) -> None:
        """Run it to its end; raises BackendError where something uses the target."""
        watch = self.interrupt, self._on_interval, self.limits, self.instruments
        self._check_use()
        drive: Any = self
        job = job.model_copy(update={"target": self.drive.facts.path})
        with self.placement.placed(job) as (placed, shared):
            outcome = execute(drive, placed, *watch)
        if outcome.cause != Cause.STUCK:
            self._check_use()
        result = outcome.measurement.result
        own = result.warnings if result else ()
        part = Part(
            cause=outcome.cause,
            text=outcome.message,
            result=result,
            warnings=(*own, *outcome.warnings, *outcome.telemetry.warnings, *shared),
            facts=facts_of(outcome) | self._kept(result),
        )
        self._say("part", part=part)

    def _kept(self, result: Result | None) -> dict[str, str]:
        """This host's own result is also written to a file here, if it can be."""
        self.runs += 1
        file = self.folder / f"part-{self.runs:04}.json"
        with suppress(OSError):
            self.folder.mkdir(parents=True, exist_ok=True)
            file.write_text(result.model_dump_json() if result else "")
            return {"kept": str(file)}
        return {}


def facts_of(outcome: RunOutcome) -> dict[str, Any]:
    """What a record has of this host alone."""
    measured, means = outcome.measurement, outcome.telemetry.means
    return {
        "run_ns": measured.run_ns,
        "streams": [one.model_dump(mode="json") for one in measured.streams],
        "total": measured.total.model_dump(mode="json"),
        "cpu_percent": measured.cpu_percent,
        "backend": measured.facts,
        "telemetry": means and means.model_dump(mode="json"),
    }
