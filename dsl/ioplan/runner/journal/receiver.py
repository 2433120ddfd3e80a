"""Keeps the journals of other hosts: `ioplan journal serve`.

What it has answered survives its own death (`kill -9`): the kernel has it. A link that
is opened later ends the earlier one to the same journal: a host that lost its power has
left its own half open.
"""

from __future__ import annotations

import errno
import fcntl
import hmac
import os
import secrets
import socket
import threading
from contextlib import suppress
from pathlib import Path
from socketserver import BaseRequestHandler, ThreadingTCPServer

from ioplan.runner.guard.purge.kernel import punch_hole
from ioplan.runner.journal.wire import (
    ANSWER,
    EMPTY,
    FETCH,
    FRAME,
    KEY_BYTES,
    MOST_BYTES,
    NAME,
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

CHUNK_BYTES = 1 << 20


class Receiver(ThreadingTCPServer):
    """Listens; each link is served by a thread."""

    allow_reuse_address = daemon_threads = True

    def __init__(self, place: tuple[str, int], folder: Path, key: bytes) -> None:
        """Raises OSError."""
        if ":" in place[0]:
            self.address_family = socket.AF_INET6
        self.folder, self.key = folder, key
        self.lock = threading.Lock()
        self.links: dict[str, socket.socket] = {}
        super().__init__(place, Link)

    def only(self, name: str, link: socket.socket) -> None:
        """End the earlier link to the same journal."""
        with self.lock:
            earlier = self.links.get(name)
            self.links[name] = link
        if earlier:
            with suppress(OSError):
                earlier.shutdown(socket.SHUT_RDWR)


class Link(BaseRequestHandler):
    """One connection, and the file that it writes."""

    server: Receiver
    request: socket.socket

    def handle(self) -> None:
        """Serve it to its end, whatever that is."""
        with suppress(OSError, JournalError):
            set_options(self.request)
            name = self._shake_hands()
            self.server.only(name, self.request)
            self.request.settimeout(None)
            flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
            self.fd = os.open(self.server.folder / name, flags, 0o600)
            try:
                fcntl.flock(self.fd, fcntl.LOCK_EX)  # the earlier link's last frame
                self._serve()
            finally:
                os.close(self.fd)

    def _shake_hands(self) -> str:
        """The journal's name, of one who has the key. Raises JournalError."""
        self.request.settimeout(TIMEOUT_S)
        nonce, key = secrets.token_bytes(NONCE_BYTES), self.server.key
        self.request.sendall(nonce)
        said = received(self.request, NONCE_BYTES + NAME_BYTES + PROOF_BYTES)
        own, name = said[:NONCE_BYTES], said[NONCE_BYTES:-PROOF_BYTES]
        wanted = proof(key, b"client", nonce, own, name)
        text = name.decode("ascii", "replace").strip()
        known = hmac.compare_digest(said[-PROOF_BYTES:], wanted)
        self.request.sendall(proof(key if known else nonce, b"server", own, nonce))
        if not known or not NAME.fullmatch(text):
            raise JournalError("it has another key")
        return text

    def _serve(self) -> None:
        """All whole frames that have come are done, and answered at once."""
        waiting = bytearray()
        while part := self.request.recv(CHUNK_BYTES):
            waiting += part
            at, number = 0, 0
            while len(waiting) - at >= FRAME.size:
                kind, length, offset, one = FRAME.unpack_from(waiting, at)
                end = at + FRAME.size + length
                if length > MOST_BYTES:
                    return
                if len(waiting) < end:
                    break
                data = bytes(waiting[at + FRAME.size : end])
                wrong = self._do(kind, offset, data)
                if kind == FETCH:
                    self.request.sendall(FRAME.pack(0, wrong, 0, one))
                elif wrong:
                    return self.request.sendall(ANSWER.pack(wrong, 0, one))
                else:
                    number = one
                at = end
            del waiting[:at]
            if number:
                self.request.sendall(ANSWER.pack(0, 0, number))

    def _do(self, kind: int, offset: int, data: bytes) -> int:
        """The errno of what went wrong, or 0."""
        try:
            if kind == WRITE:
                os.pwrite(self.fd, data, offset)
            elif kind == PUNCH:
                punch_hole(self.fd, offset, int.from_bytes(data, "little"))
            elif kind == EMPTY:
                os.truncate(self.fd, 0)
            elif kind == FETCH:
                self._send_all()
            else:
                return errno.EPROTO
        except OSError as error:
            return error.errno or errno.EIO
        return 0

    def _send_all(self) -> None:
        """All parts of the file that are not holes."""
        at, size = 0, os.fstat(self.fd).st_size
        while at < size:
            try:
                at = os.lseek(self.fd, at, os.SEEK_DATA)
            except OSError:
                return
            length = os.lseek(self.fd, at, os.SEEK_HOLE) - at
            data = os.pread(self.fd, min(length, CHUNK_BYTES), at)
            self.request.sendall(FRAME.pack(WRITE, len(data), at, 0) + data)
            at += len(data)


def key_at(path: Path) -> bytes:
    """The key in a file, which is made where there is none. Raises JournalError."""
    with suppress(FileExistsError):
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        os.write(fd, secrets.token_hex(KEY_BYTES).encode() + b"\n")
        os.close(fd)
    return read_key(path)
