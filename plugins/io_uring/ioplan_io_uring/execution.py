"""One run of the engine: a job goes in, events come out."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from ioplan.core.child import OwnedProcess
from ioplan.job import Event, Failure, Result
from ioplan_io_uring.engine import clock_reading

SHOWN = 300


@cache
def events() -> TypeAdapter[Event]:
    """What reads an event; made while the engine starts, which takes longer."""
    return TypeAdapter(Event)


class EngineExecution(OwnedProcess):
    """A running engine; SIGTERM ends its I/O, and it gives its result.

    Its stdin stays open for as long as it runs: the kernel closes it however ioplan
    ends, and that ends the engine, whichever thread has started it.
    """

    def __init__(self, program: Path, job: str, held_fd: int) -> None:
        """`job` is JSON in one line. `held_fd` is the locked target, which the engine
        holds as well: nobody else takes it while there still is an engine."""
        super().__init__(
            [program, "run", "--lifeline"],
            stdin=subprocess.PIPE,
            # What was checked is what is opened, and it is held exclusively meanwhile.
            environment={"IOPLAN_TARGET_HELD": str(held_fd), **clock_reading(program)},
            kept_fds=[held_fd],
            dies_with_parent=False,
        )
        self._send(job)

    def _send(self, job: str) -> None:
        assert self.popen.stdin
        # An engine that has ended already tells why by its events or its exit code.
        with suppress(BrokenPipeError):
            self.popen.stdin.write(job.encode() + b"\n")
            self.popen.stdin.flush()

    def __iter__(self) -> Iterator[Event]:
        """Events up to Result or Failure. An engine that dies is a Failure."""
        assert self.popen.stdout
        last: Event | None = None
        read = events().validate_json
        for line in self.popen.stdout:
            try:
                last = read(line)
            except ValidationError:
                yield _garbage(line)
                return
            yield last
        code = self.popen.wait()
        if not isinstance(last, Result | Failure) or (
            code != 0 and isinstance(last, Result)
        ):
            yield self._death(code)

    def go(self, at_ns: int) -> None:
        """Begin at that time of CLOCK_REALTIME; for a job that awaits its start."""
        self._send(json.dumps({"start_at_ns": at_ns}))

    def _death(self, code: int) -> Failure:
        how = f"was ended by signal {-code}" if code < 0 else f"exited with code {code}"
        text = self.error_text()[-SHOWN:].strip()
        reason = f", and said: {text}" if text else ""
        return Failure(
            cause="backend-died",
            message=f"the engine {how} before its result{reason}; run it again, and "
            f"report it if it happens again",
        )


def _garbage(line: bytes) -> Failure:
    shown = line[:SHOWN].decode(errors="replace").strip()
    return Failure(
        cause="backend-garbage",
        message=f"the engine printed what is no event: {shown!r}",
    )
