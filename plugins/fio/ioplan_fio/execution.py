"""One run of fio: a job file goes in, documents come out and become events."""

from __future__ import annotations

import os
import select
import signal
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from math import inf
from pathlib import Path
from typing import Any

from ioplan.backends import (
    SECOND_NS,
    BackendError,
    Closing,
    Event,
    Failure,
    Job,
    OwnedProcess,
    Progress,
    Started,
    Target,
    counted,
)
from ioplan_fio.document import GarbledError, Splitter
from ioplan_fio.faults import (
    STOPPED_EMPTY,
    EmptyReads,
    removal,
    run_failure,
    thread_mismatch,
    unreadable_output,
)
from ioplan_fio.jobfile import (
    Settings,
    arguments,
    environment,
    job_file,
    section_names,
    target_of,
)
from ioplan_fio.program import Program
from ioplan_fio.replayed import lateness
from ioplan_fio.run_files import RunFiles, StartGate
from ioplan_fio.timeline import Timeline

# fio as a child process: its output line by line, up to a deadline.

POLL_MS = 200
MOST_LINE_BYTES = 1 << 20
CHUNK_BYTES = 1 << 16


class FioProcess(OwnedProcess):
    """fio under way. `hung` says that it had to be killed."""

    def __init__(
        self,
        command: Sequence[str],
        stdin_text: str,
        folder: Path,
        environment: Mapping[str, str],
        held_fds: Sequence[int] = (),
    ) -> None:
        """`held_fds` are locks: whoever finds them held knows that fio still runs."""
        self.hung = False
        self.stopped = False
        self.deadline_s = inf
        with tempfile.TemporaryFile() as stdin:
            stdin.write(stdin_text.encode())
            stdin.seek(0)
            super().__init__(
                command,
                stdin=stdin,
                folder=folder,
                environment={"LC_ALL": "C", **environment},
                kept_fds=held_fds,
            )

    def lines(self) -> Iterator[str]:
        """What fio prints, line by line, until it ends or has to be killed."""
        assert self.popen.stdout
        fd, left = self.popen.stdout.fileno(), b""
        poll = select.poll()
        poll.register(fd, select.POLLIN | select.POLLHUP)
        while self._goes_on():
            if not poll.poll(POLL_MS):
                continue
            chunk = os.read(fd, CHUNK_BYTES)
            if not chunk:
                break
            *whole, left = (left + chunk).split(b"\n")
            yield from (_text(line) + "\n" for line in whole)
            if len(left) > MOST_LINE_BYTES:
                yield _text(left)
                left = b""
        if left:
            yield _text(left)

    def _goes_on(self) -> bool:
        """Whether there is more to wait for; kills fio when it is overdue.

        What hangs in the kernel survives even that, and is not waited for.
        """
        if time.monotonic() < self.deadline_s:
            return True
        if self.hung:
            return False
        self.hung, self.deadline_s = True, time.monotonic() + self.grace_s
        self.kill()
        return True

    def stop(self) -> None:
        """SIGTERM: fio ends its I/O and prints its last document."""
        if not self.stopped:
            self.stopped = True
            self.deadline_s = min(self.deadline_s, time.monotonic() + self.grace_s)
        super().stop()

    def exit_code(self) -> int:
        """Wait for its end; of what has to be killed, the code of SIGKILL."""
        code = self.finish()
        self.hung |= code is None
        return -signal.SIGKILL if code is None else code


def _text(line: bytes) -> str:
    return line.decode(errors="replace")


POLL_S = 0.01
OVERDUE_S = 60.0
"""A run that is over by so much is taken to hang."""


def _job_on_descriptor(job: Job, settings: Settings, held_fd: int | None) -> Job:
    """The job on the descriptor that fio inherits, wherever the name leads by now."""
    by_name = held_fd is None or target_of(job.target, settings) != job.target
    path = job.target if by_name else f"/proc/self/fd/{held_fd}"
    return job.model_copy(update={"target": path})


class FioExecution(Closing):
    """A running fio. `reason` is why fio does it, where something else might have."""

    reason = ""

    def __init__(
        self,
        program: Program,
        job: Job,
        settings: Settings,
        files: RunFiles,
        target: Target | None = None,
    ) -> None:
        """`target` was checked and is locked. fio opens its descriptor, by a job file
        on its stdin; the one that is kept has the name in its place."""
        held_fd = target.fd if target else None
        self.program, self.job, self.settings = program, job, settings
        self.files, self.target, self._limit_reached = files, target, False
        self._empty_reads = EmptyReads(job)
        self.opened = _job_on_descriptor(job, settings, held_fd)
        self.gate: StartGate | None = None
        self.fua_left_out: dict[str, int] = {}
        try:
            self.gate = files.gate(job) if job.await_start else None
            prerun = self.gate.command if self.gate else ""
            files.write(".fio", job_file(job, settings, prerun))
            self.fua_left_out = files.write_logs(job)
            self.process = FioProcess(
                [program.path, *arguments(job), "-"],
                job_file(self.opened, settings, prerun),
                files.folder,
                environment(job, settings),
                [held_fd] if held_fd is not None else [],
            )
        except BaseException:
            self._clean()
            raise
        if not self.gate:
            self._limit_time()

    def _limit_time(self) -> None:
        """From now on."""
        if self.job.run_ns is not None:
            pause_ns = max((s.pause_ns for s in self.job.streams), default=0)
            asked_s = (self.job.run_ns + self.job.warmup_ns + pause_ns) / SECOND_NS
            self.process.deadline_s = time.monotonic() + asked_s + OVERDUE_S

    def go(self, at_ns: int) -> None:
        """Begin at that time of CLOCK_REALTIME; for a job that awaits its start."""
        assert self.gate
        self._limit_time()
        self.gate.open_at(at_ns)

    def __iter__(self) -> Iterator[Event]:
        """Events up to Result or Failure. Whatever ends fio early is a Failure."""
        while self.gate and not self.gate.is_reached and self.process.is_running:
            time.sleep(POLL_S)
        mode, facts = self.settings.engine_name, self._facts()
        yield Started(mode=mode, reason=self.reason, facts=facts)
        splitter, timeline = Splitter(), Timeline(self.job)
        try:
            for line in self.process.lines():
                progress = self._progress(line, splitter, timeline)
                if progress:
                    yield progress
        except GarbledError as error:
            self.process.stop()
            yield self._unreadable(str(error))
            return
        yield from self._end(splitter, timeline)

    def _progress(
        self, line: str, splitter: Splitter, timeline: Timeline
    ) -> Progress | None:
        report = splitter.feed(line)
        if report is None:
            return None
        if wrong := thread_mismatch(self.job, report):
            raise GarbledError(wrong)
        if self._empty_reads.add(report):
            self.process.stop()
        progress = timeline.add(report)
        limit = self.job.limit_bytes
        if limit and len(self.job.streams) > 1 and timeline.moved_bytes >= limit:
            self._limit_reached = True
            self.process.stop()
        return progress

    def _end(self, splitter: Splitter, timeline: Timeline) -> Iterator[Event]:
        code = self.process.exit_code()
        messages = splitter.messages + self.process.error_text()
        messages = messages.replace(self.opened.target, self.job.target)
        unkept = self._keep(splitter.last_document, messages)
        failure = self._failure(splitter, timeline, code, messages)
        last = timeline.finish()
        if last:
            yield last
        stopped = (self.process.stopped or code != 0) and not self._limit_reached
        late = lateness(section_names(self.job), self.job, self.files.folder)
        facts = {**self._facts(), **({"lateness": late} if late else {})}
        result = timeline.result(stopped, facts)
        warnings = (*result.warnings, *unkept, *self._left_out())
        yield failure or result.model_copy(update={"warnings": warnings})

    def _left_out(self) -> Iterator[str]:
        for name, count in self.fua_left_out.items():
            if count:
                yield (
                    f"{counted(count, 'I/O')} of the trace of {name} had FUA, which "
                    "fio's log cannot say: done without it"
                )

    def _failure(
        self, splitter: Splitter, timeline: Timeline, code: int, messages: str
    ) -> Failure | None:
        if self.process.hung and not self.process.stopped:
            text = (
                f"fio did not end within {OVERDUE_S:.0f} s of its time and was killed"
            )
            return Failure(cause="hung", message=f"{text}; look at the target")
        if splitter.is_inside and not self.process.stopped:
            return self._unreadable("its last document is cut off")
        stopped = self.process.stopped
        found = run_failure(self.job, timeline.last, code, messages, stopped)
        found = found or (STOPPED_EMPTY if self._empty_reads.found else None)
        is_error = found and found.cause == "device-error"
        if is_error and self.target and self.target.is_gone:
            return removal(self.job.target)
        return found

    def _unreadable(self, reason: str) -> Failure:
        return unreadable_output(f"fio {self.program.version_text}", reason)

    def _keep(self, document: str, messages: str) -> tuple[str, ...]:
        """Keep what fio printed; warnings of what could not be. The run counts."""
        if not self.files.kept:
            return ()
        try:
            self.files.write(".json", document)
            self.files.write(".txt", messages)
        except BackendError as error:
            return (f"fio's own output is not kept: {error}",)
        return ()

    def _facts(self) -> dict[str, Any]:
        facts: dict[str, Any] = {
            "fio_version": self.program.version_text,
            "fio_engine": self.settings.engine_name,
        }
        if self.job.cpus:
            facts["cpus"] = list(self.job.cpus[: self.job.threads])
        if self.gate and (began_ns := self.gate.began_ns):
            facts["started_ns"] = began_ns
        if self.files.kept:
            facts["job_file"] = f"{self.files.name}.fio"
        return facts

    def stop(self) -> None:
        """End the I/O at once; what was done is still told."""
        self.process.stop()
        if self.gate:
            self.gate.open()  # fio ends its threads, and first these have to come

    def kill(self) -> None:
        """End fio by force."""
        self.process.kill()

    def close(self) -> None:
        """End fio, and leave no files but those that are to stay."""
        if self.gate and self.process.is_running:
            self.stop()
        self.process.close()
        self._clean()

    def _clean(self) -> None:
        if self.gate:
            self.gate.close()
        self.files.remove_logs(self.job)
        self.files.close()
