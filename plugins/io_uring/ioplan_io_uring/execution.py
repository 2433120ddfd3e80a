"""One run of the engine: a job goes in, events come out."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from ioplan.core.child import OwnedProcess
from ioplan.job import Event, Failure, Result, Started, events
from ioplan_io_uring.engine import clock_reading

SHOWN = 300


def read_event(text: bytes) -> Event:
    """An event of the engine. Raises ValueError.

    The first of a run is read without pydantic, as that would delay its I/O.
    """
    found = json.loads(text) if text.startswith(STARTED) else None
    if isinstance(found, dict) and found.keys() <= KNOWN and _is_sound(found):
        return Started(**found)
    return events().validate_json(text)


STARTED = b'{"event":"started",'
KNOWN = frozenset(Started.model_fields)


def _is_sound(found: dict[str, Any]) -> bool:
    """Whether its fields are of the types that it has."""
    texts = found.get("mode"), found.get("reason", "")
    facts = found.get("facts", {})
    return all(isinstance(one, str) for one in texts) and isinstance(facts, dict)


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
        for line in self.popen.stdout:
            try:
                last = read_event(line)
            except ValueError:
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
