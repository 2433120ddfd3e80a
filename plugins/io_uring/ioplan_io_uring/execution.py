"""One run of the engine: a job goes in, events come out."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from pydantic import TypeAdapter, ValidationError

from ioplan.job import Event, Failure, Job, Result

EVENTS: TypeAdapter[Event] = TypeAdapter(Event)
GRACE_S = 5.0
"""How long the engine may take to end after it was told to."""
SHOWN = 300


class EngineExecution:
    """A running engine."""

    def __init__(self, program: Path, job: Job) -> None:
        self.errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115, see __exit__
        self.process = subprocess.Popen(
            [program, "run", "-"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            # ioplan holds a block device exclusively while the engine runs on it.
            env={**os.environ, "IOPLAN_TARGET_HELD": "1"},
            # Ctrl-C reaches the runner, which then stops the engine in order.
            start_new_session=True,
        )
        self._send(job)

    def _send(self, job: Job) -> None:
        assert self.process.stdin
        try:
            with self.process.stdin as stdin:
                stdin.write(job.model_dump_json().encode())
        except BrokenPipeError:
            pass  # it has ended already; its events or its exit code tell why

    def __iter__(self) -> Iterator[Event]:
        """Events up to Result or Failure. An engine that dies is a Failure."""
        assert self.process.stdout
        last: Event | None = None
        for line in self.process.stdout:
            try:
                last = EVENTS.validate_json(line)
            except ValidationError:
                yield self._garbage(line)
                return
            yield last
        code = self.process.wait()
        if not isinstance(last, Result | Failure) or (
            code != 0 and isinstance(last, Result)
        ):
            yield self._died(code)

    def stop(self) -> None:
        """SIGTERM: the engine ends its I/O and gives its result."""
        if self.process.poll() is None:
            self.process.terminate()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()
        try:
            self.process.wait(GRACE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(GRACE_S)
        if self.process.stdout:
            self.process.stdout.close()
        self.errors.close()

    def _garbage(self, line: bytes) -> Failure:
        shown = line[:SHOWN].decode(errors="replace").strip()
        return Failure(
            cause="backend-garbage",
            message=f"the engine printed what is no event: {shown!r}",
        )

    def _died(self, code: int) -> Failure:
        how = f"was ended by signal {-code}" if code < 0 else f"exited with code {code}"
        said = self._said()
        return Failure(
            cause="backend-died",
            message=f"the engine {how} before its result{said}; run it again, and "
            f"report it if it happens again",
        )

    def _said(self) -> str:
        self.errors.seek(0)
        text = self.errors.read()[-SHOWN:].decode(errors="replace").strip()
        return f", and said: {text}" if text else ""
