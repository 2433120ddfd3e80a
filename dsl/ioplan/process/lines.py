"""Lines of a program, of limited length, and the events in them."""

from __future__ import annotations

import json
import os
import select
from typing import Any

from ioplan.job import PROTOCOL, Event, Failure, Result, Started, events

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
