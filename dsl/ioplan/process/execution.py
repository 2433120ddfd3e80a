"""One run of a program: a job goes in, events come out."""

from __future__ import annotations

import json
import os
import select
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from ioplan.core.child import OwnedProcess
from ioplan.job import PROTOCOL, Event, Failure, Job, Result, Started, events

# Lines of a program, of limited length, and the events in them.

MAX_LINE_BYTES = 16 << 20
"""The longest line of a job or event, as in `protocol.rs` of the engine."""
CHUNK_BYTES = 1 << 16
SHOWN = 300


class BadLineError(ValueError):
    """What a program printed is not of the protocol; the text says what it did."""

    cause = "backend-garbage"


class OtherProtocolError(BadLineError):
    """It speaks another version, or does not say which."""

    cause = "bad-backend"


class LineReader:
    """The lines of a pipe, without their ends."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self.held = bytearray()
        self.seen = 0

    def next(self, wait_s: float | None = None) -> bytes | None:
        """The next line; None at the end. Raises BadLineError, TimeoutError.

        What has no end of line at the end is left in `held`.
        """
        while (end := self.held.find(b"\n", self.seen)) < 0:
            self.seen = len(self.held)
            if self.seen > MAX_LINE_BYTES:
                raise BadLineError(
                    f"printed a line of more than {MAX_LINE_BYTES >> 20} MiB, "
                    f"which begins with {shown(bytes(self.held[:16]))}"
                )
            if not self._fill(wait_s):
                return None
        line = bytes(self.held[:end])
        del self.held[: end + 1]
        self.seen = 0
        return line

    def _fill(self, wait_s: float | None) -> bool:
        if wait_s is not None and not select.select([self.fd], [], [], wait_s)[0]:
            raise TimeoutError
        chunk = os.read(self.fd, CHUNK_BYTES)
        self.held += chunk
        return bool(chunk)


def shown(line: bytes) -> str:
    """Its first part, for a message."""
    return repr(line[:SHOWN].decode(errors="replace").strip())


class EventOrder:
    """Started, any number of Progress, and then Result, Failure, or both of them."""

    def __init__(self) -> None:
        self.last: Event | None = None

    def read(self, line: bytes) -> Event:
        """The next event. Raises BadLineError."""
        try:
            event = read_event(line)
        except ValueError:
            raise BadLineError(f"printed what is no event: {shown(line)}") from None
        if isinstance(event, Started):
            _check_protocol(event)
        if not self._may_follow(event):
            before = f"after {self.last.event!r}" if self.last else "as its first event"
            raise BadLineError(f"printed {event.event!r} {before}")
        self.last = event
        return event

    def _may_follow(self, event: Event) -> bool:
        if isinstance(event, Failure):
            return True
        if self.last is None or isinstance(event, Started):
            return self.last is None and isinstance(event, Started)
        return not isinstance(self.last, Result)


def _check_protocol(event: Started) -> None:
    if event.protocol == PROTOCOL:
        return
    spoken = f"speaks protocol {event.protocol}"
    if event.protocol is None:
        spoken = "does not say which protocol it speaks"
    raise OtherProtocolError(
        f"{spoken}, and ioplan speaks protocol {PROTOCOL}; install versions that match"
    )


def read_event(text: bytes) -> Event:
    """An event of a program. Raises ValueError.

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
    facts, protocol = found.get("facts", {}), found.get("protocol", 0)
    right = isinstance(facts, dict) and type(protocol) is int
    return right and all(isinstance(one, str) for one in texts)


HELD = "IOPLAN_TARGET_HELD"
"""In the environment, the descriptors of the targets, which are locked by them."""


def job_text(
    job: Job, more: Mapping[str, Any] | None = None, indent: int | None = None
) -> str:
    """The job as a program reads it: of one host, with the backend's own fields."""
    fields = {"protocol": PROTOCOL} | job.model_dump(mode="json")
    for stream in fields["streams"]:
        del stream["hosts"], stream["targets"]
    return json.dumps(fields | dict(more or {}), indent=indent)


class ProcessExecution(OwnedProcess):
    """A running program; SIGTERM ends its I/O, and it gives its result.

    Its stdin stays open for as long as it runs: the kernel closes it however ioplan
    ends, and that ends the program, whichever thread has started it.
    """

    def __init__(
        self,
        command: Sequence[str | Path],
        job: str,
        *,
        who: str,
        held_fds: Sequence[int] = (),
        kept_fds: Sequence[int] = (),
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """`job` is JSON in one line. `held_fds` are the locked targets, which the
        program holds as well: nobody else takes them while there still is one. `who`
        is what messages call the program; `kept_fds` are inherited.

        Raises OSError when it cannot be started."""
        self.who = who
        held = {HELD: ",".join(map(str, held_fds))} if held_fds else {}
        super().__init__(
            command,
            stdin=subprocess.PIPE,
            # What was checked is what is opened, and it is held exclusively meanwhile.
            environment={**held, **(environment or {})},
            kept_fds=(*held_fds, *kept_fds),
            dies_with_parent=False,
        )
        self._send(job)

    def _send(self, line: str) -> None:
        assert self.popen.stdin
        # One that has ended already tells why by its events or its exit code.
        with suppress(BrokenPipeError):
            self.popen.stdin.write(line.encode() + b"\n")
            self.popen.stdin.flush()

    def __iter__(self) -> Iterator[Event]:
        """Events up to Result or Failure. Whatever else the program does is a Failure:
        it dies, does not end, or prints what is not of the protocol."""
        assert self.popen.stdout
        lines, order = LineReader(self.popen.stdout.fileno()), EventOrder()
        try:
            while (line := lines.next(self._patience_s(order.last))) is not None:
                yield order.read(line)
                if isinstance(order.last, Failure):
                    return
        except BadLineError as error:
            yield Failure(cause=error.cause, message=f"{self.who} {error}")
            return
        except TimeoutError:
            yield self._endless()
            return
        yield from self._end(order.last)

    def _patience_s(self, last: Event | None) -> float | None:
        """Before its result, the runner's watchdog decides."""
        return self.grace_s if isinstance(last, Result) else None

    def _end(self, last: Event | None) -> Iterator[Failure]:
        code = self.wait()
        if code is None:
            yield self._endless()
        elif code or not isinstance(last, Result):
            yield self._death(code, "after" if isinstance(last, Result) else "before")

    def go(self, at_ns: int) -> None:
        """Begin at that time of CLOCK_REALTIME; for a job that awaits its start."""
        self._send(json.dumps({"start_at_ns": at_ns}))

    def _endless(self) -> Failure:
        return Failure(
            cause="backend-died",
            message=f"{self.who} printed its last event and did not exit within "
            f"{self.grace_s:g} s",
        )

    def _death(self, code: int, when: str) -> Failure:
        how = f"was ended by signal {-code}" if code < 0 else f"exited with code {code}"
        text = self.error_text()[-SHOWN:].strip()
        reason = f", and said: {text}" if text else ""
        return Failure(
            cause="backend-died",
            message=f"{self.who} {how} {when} its result{reason}; run it again, and "
            f"report it if it happens again",
        )
