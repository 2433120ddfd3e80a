"""How a journal is kept on another host: frames, answers, and who may write.

Both sides have the same key, and prove it before anything else. Then the client sends
frames, and the receiver answers them in order; one answer may be for several frames.
The engine sends frames as well (`engine/src/target/remote.rs`).
"""

from __future__ import annotations

import hmac
import re
import socket
import struct
from pathlib import Path

from ioplan.core.error_kinds import Cause, ExplainedError

FRAME = struct.Struct("<IIQQ")
"""Kind, bytes behind the frame, place in the file, number from 1."""
ANSWER = struct.Struct("<IIQ")
"""Errno or 0, 0, and the number of the last frame that is done."""
WRITE, PUNCH, EMPTY, FETCH = 1, 2, 3, 4
"""Bytes at a place; a hole of so many bytes (8 bytes behind the frame); nothing is
known; send all that is there, as WRITE frames before the answer."""
MOST_BYTES = 16 << 20
NONCE_BYTES, PROOF_BYTES, NAME_BYTES = 32, 32, 64
KEY_BYTES = 32
NAME = re.compile(rf"[0-9a-f]{{8,{NAME_BYTES}}}")
TIMEOUT_S = 10.0
"""How long the other side may take for anything."""


class JournalError(ExplainedError):
    """The journal on another host cannot be used."""

    kind = Cause.JOURNAL


def read_key(path: Path) -> bytes:
    """What both sides know. Raises JournalError."""
    try:
        key = path.expanduser().read_bytes().strip()
    except OSError as error:
        raise JournalError(
            f"the journal's key {path}: {error.strerror}; copy the receiver's"
        ) from error
    if len(key) < KEY_BYTES:
        raise JournalError(f"the journal's key {path} has less than {KEY_BYTES} bytes")
    return key


def proof(key: bytes, who: bytes, *said: bytes) -> bytes:
    """What only one with the key can answer; `who` so that none is sent back."""
    return hmac.digest(key, who + b"".join(said), "sha256")


def received(link: socket.socket, count: int) -> bytes:
    """So many bytes. Raises OSError, ConnectionError at the link's end."""
    parts, left = [], count
    while left:
        part = link.recv(left)
        if not part:
            raise ConnectionError("the other side has ended the link")
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def set_options(link: socket.socket) -> None:
    """Answers are not held back, and a host that is gone is noticed."""
    link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    link.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (("IDLE", 5), ("INTVL", 5), ("CNT", 2)):
        link.setsockopt(socket.IPPROTO_TCP, getattr(socket, f"TCP_KEEP{name}"), value)
