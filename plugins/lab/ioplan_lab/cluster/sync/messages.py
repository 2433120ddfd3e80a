"""Messages between the coordinator and a participant: lines of JSON.

A message to the participant says what to `do`, one from it what is `said`.
"""

from __future__ import annotations

import json
import os
import select
from collections.abc import Iterator
from threading import Lock
from typing import Any

from ioplan.core import Model
from ioplan.runner import Lab

SILENT_S = 10.0
"""The coordinator sends something every second."""
CHUNK_BYTES = 1 << 16

Message = dict[str, Any]


class ParticipantCall(Model):
    """The first message: a host's part of a session; `lab` is from `lab_file`.

    The host that `leads` opens the target first, prepares it, and admits the others.
    """

    session: str
    target: str
    backend: str
    lab: Lab
    lab_file: str
    options: tuple[str, ...] = ()
    overwrite: tuple[str, ...] = ()
    overwrite_data: tuple[str, ...] = ()
    cannot_see_users: bool = False
    writes: bool = False
    leads: bool = False


def read_messages(fd: int, silent_s: float = SILENT_S) -> Iterator[Message]:
    """All messages, until the other side disconnects or is silent for too long."""
    poll, rest = select.poll(), b""
    poll.register(fd, select.POLLIN | select.POLLHUP)
    while poll.poll(silent_s * 1000):
        chunk = os.read(fd, CHUNK_BYTES)
        if not chunk:
            return
        *lines, rest = (rest + chunk).split(b"\n")
        yield from (json.loads(line) for line in lines)


class MessageWriter:
    """Writes messages, each as a whole, from any thread."""

    def __init__(self, fd: int) -> None:
        self.file, self.lock = os.fdopen(fd, "wb", buffering=0), Lock()

    def __call__(self, said: str, **more: Any) -> None:
        line = json.dumps({"said": said, **more}).encode() + b"\n"
        with self.lock:
            view = memoryview(line)
            while view:
                view = view[self.file.write(view) or 0 :]
