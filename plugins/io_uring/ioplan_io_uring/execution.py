"""One run of the engine: a job goes in, events come out."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from pydantic import TypeAdapter, ValidationError

from ioplan.job import Event, Failure, Result

EVENTS: TypeAdapter[Event] = TypeAdapter(Event)
GRACE_S = 5.0
"""How long the engine may take to end after it was told to."""
SHOWN = 300


class EngineExecution:
    """A running engine.

    Its stdin stays open for as long as it runs: the kernel closes it however ioplan
    ends, and that ends the engine. `held_fd` is the locked target, which the engine
    holds as well, so that nobody else takes it while there still is an engine. `job` is
    JSON in one line.
    """

    def __init__(self, program: Path, job: str, held_fd: int) -> None:
        self.errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115, see __exit__
        self.process = subprocess.Popen(
            [program, "run", "--lifeline"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            pass_fds=(held_fd,),
            # What was checked is what is opened, and it is held exclusively meanwhile.
            env={**os.environ, "IOPLAN_TARGET_HELD": str(held_fd)},
            # Ctrl-C reaches the runner, which then stops the engine in order.
            start_new_session=True,
        )
        self._send(job)

    def _send(self, job: str) -> None:
        assert self.process.stdin
        try:
            self.process.stdin.write(job.encode() + b"\n")
            self.process.stdin.flush()
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

    def go(self, at_ns: int) -> None:
        """Begin at that time of CLOCK_REALTIME; for a job that awaits its start."""
        self._send(json.dumps({"start_at_ns": at_ns}))

    def stop(self) -> None:
        """SIGTERM: the engine ends its I/O and gives its result."""
        if self.process.poll() is None:
            self.process.terminate()

    def kill(self) -> None:
        """SIGKILL: no result comes."""
        if self.process.poll() is None:
            self.process.kill()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()
        if not self._ends():
            self.kill()
        if not self._ends():
            return  # it hangs in the kernel, and whoever reads its pipe with it
        for pipe in (self.process.stdin, self.process.stdout, self.errors):
            if pipe:
                with suppress(BrokenPipeError):
                    pipe.close()

    def _ends(self) -> bool:
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(GRACE_S)
        return self.process.returncode is not None

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
