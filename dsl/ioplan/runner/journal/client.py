"""The link to a journal on another host."""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ioplan.runner.journal.wire import (
    ANSWER,
    EMPTY,
    FETCH,
    FRAME,
    NAME_BYTES,
    NONCE_BYTES,
    PROOF_BYTES,
    PUNCH,
    TIMEOUT_S,
    WRITE,
    JournalError,
    proof,
    read_key,
    received,
    set_options,
)
from ioplan.target_entry import JournalPlace


class JournalLink:
    """One connection; a later one to the same journal ends it."""

    def __init__(self, place: JournalPlace, name: str) -> None:
        """Connect. Raises JournalError."""
        self.at, self.number = place.at, 0
        key = read_key(Path(place.key))
        host, _, port = place.at.rpartition(":")
        with self._explained():
            self.link = socket.create_connection(
                (host.strip("[]"), int(port)), TIMEOUT_S
            )
            set_options(self.link)
            try:
                self._shake_hands(key, name)
            except BaseException:
                self.link.close()
                raise

    def fileno(self) -> int:
        """For the engine, which goes on with frame number 1."""
        return self.link.fileno()

    def write(self, offset: int, data: bytes) -> None:
        """Bytes at a place. Raises JournalError."""
        self._done(WRITE, offset, data)

    def punch(self, start: int, length: int) -> None:
        """Nothing is known of a part. Raises JournalError."""
        self._done(PUNCH, start, length.to_bytes(8, "little"))

    def empty(self) -> None:
        """Nothing is known any more. Raises JournalError."""
        self._done(EMPTY)

    def fetch(self, path: Path) -> None:
        """All that is known, as a file. Raises JournalError, OSError of the file."""
        with open(path, "wb", opener=_private) as file, self._explained():
            self._send(FETCH)
            while True:
                kind, length, offset, number = FRAME.unpack(
                    received(self.link, FRAME.size)
                )
                if kind != WRITE:
                    return self._check(length, number)
                os.pwrite(file.fileno(), received(self.link, length), offset)

    def close(self) -> None:
        """End the link."""
        self.link.close()

    def _shake_hands(self, key: bytes, name: str) -> None:
        nonce = received(self.link, NONCE_BYTES)
        own, said = secrets.token_bytes(NONCE_BYTES), name.encode().ljust(NAME_BYTES)
        self.link.sendall(own + said + proof(key, b"client", nonce, own, said))
        if received(self.link, PROOF_BYTES) != proof(key, b"server", own, nonce):
            raise JournalError(
                f"the journal at {self.at} has another key; copy the receiver's"
            )

    def _done(self, kind: int, offset: int = 0, data: bytes = b"") -> None:
        with self._explained():
            self._send(kind, offset, data)
            errno, _, number = ANSWER.unpack(received(self.link, ANSWER.size))
            self._check(errno, number)

    def _send(self, kind: int, offset: int = 0, data: bytes = b"") -> None:
        self.number += 1
        self.link.sendall(FRAME.pack(kind, len(data), offset, self.number) + data)

    def _check(self, errno: int, number: int) -> None:
        if errno:
            raise JournalError(f"the journal at {self.at}: {os.strerror(errno)}")
        if number != self.number:
            raise JournalError(f"the journal at {self.at} answers something else")

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except (OSError, ValueError) as error:
            why = (error.strerror if isinstance(error, OSError) else "") or error
            raise JournalError(
                f"the journal at {self.at} cannot be reached: {why}; is "
                "`ioplan journal serve` running there?"
            ) from error


def _private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
