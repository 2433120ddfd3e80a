"""Messages between the coordinator and a participant: a line of JSON each.

The first is a call, which a participant answers with `opened` or `failed`.
"""

from __future__ import annotations

import json
import os
import select
from collections.abc import Iterator
from threading import Lock
from typing import IO, Annotated, Any

from pydantic import Field, ValidationError

from ioplan.backends import BackendError, TargetFacts, TargetRequest
from ioplan.core import ClusterFault, Model, __version__
from ioplan.job import Job, Progress, Result

SCHEMA = 1
SILENT_S = 10.0
"""Both sides send something every second."""
CHUNK_BYTES = 1 << 16

COORDINATOR = "clock|call|start|go|stop|purge|idle"
PARTICIPANT = "opened|ready|progress|part|share|done|failed|lost"
"""What they say; `lost` is never sent, but what a link says of a host that is gone."""


class Call(Model):
    """A host's part of a session. Its own lab file says what may be written to.

    The host that `leads` opens the target first, prepares it, and admits the others.
    """

    backend: str
    options: tuple[str, ...] = ()
    request: TargetRequest


class Opened(Model):
    """The target as a host sees it."""

    facts: TargetFacts
    version: str
    options: dict[str, Any]
    machine: dict[str, Any]


class Part(Model):
    """What a host did of a run. `facts` are for the record."""

    cause: str
    text: str
    result: Result | None = None
    warnings: tuple[str, ...] = ()
    facts: dict[str, Any] = {}


class Message(Model):
    """`what` says which of the others count."""

    schema_version: int = SCHEMA
    what: Annotated[str, Field(pattern=f"^({COORDINATOR}|{PARTICIPANT})$")]
    call: Call | None = None
    opened: Opened | None = None
    job: Job | None = None
    progress: Progress | None = None
    part: Part | None = None
    sent_ns: int = 0
    at_ns: int = 0
    pause_ns: int = 0
    share: float = 0
    text: str = ""
    error: str = ""


def message_of(line: bytes) -> Message:
    """The message of a line. Raises BackendError where this version knows none."""
    try:
        fields = json.loads(line)
        schema = fields["schema_version"]
        if schema == SCHEMA:
            return Message.model_validate(fields)
        why = f"ioplan {__version__} has messages of schema {SCHEMA}, not {schema}"
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        why = f"ioplan {__version__} does not know {where}: {first['msg']}"
    except (ValueError, KeyError, TypeError):
        why = f"{line[:80].decode(errors='replace')!r} is no message of ioplan"
    text = f"{why}; install the same ioplan"
    raise BackendError(text, ClusterFault.VERSION_MISMATCH)


def messages(fd: int, first_s: float = SILENT_S) -> Iterator[Message]:
    """All messages until the other side ends; the first may take a while.

    Raises TimeoutError when it is silent, BackendError.
    """
    poll, rest, silent_s = select.poll(), b"", first_s
    poll.register(fd, select.POLLIN | select.POLLHUP)
    while poll.poll(silent_s * 1000):
        chunk = os.read(fd, CHUNK_BYTES)
        if not chunk:
            return
        *whole, rest = (rest + chunk).split(b"\n")
        silent_s = SILENT_S
        yield from map(message_of, whole)
    raise TimeoutError(f"it was silent for {silent_s:.0f} s")


class Writer:
    """Writes messages, each as a whole, from any thread."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file, self.lock, self.poll = file, Lock(), select.poll()
        self.poll.register(file, select.POLLOUT)
        os.set_blocking(file.fileno(), False)

    def __call__(self, message: Message) -> None:
        """Raises OSError, also if nobody reads it for long; ValueError once closed."""
        view = memoryview(message.model_dump_json().encode() + b"\n")
        with self.lock:
            while view:
                if not self.poll.poll(SILENT_S * 1000):
                    raise TimeoutError("nobody reads what is sent")
                view = view[os.write(self.file.fileno(), view) :]

    def close(self) -> None:
        """What is sent ends here, between two messages."""
        with self.lock:
            self.file.close()
