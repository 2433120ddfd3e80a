"""TCP over one stream of bytes, by which a machine without a network reaches a port.

Each part of a connection has the connection's number before it. A part of no bytes of a
new number opens one, and of a known one ends it.
"""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from threading import Lock, Thread

HEAD = struct.Struct("<IH")
MOST_BYTES = 1 << 14


class Carrier:
    """One end of the stream; `reach` makes the connections that the other end opens.

    The stream has a descriptor of its own, never closed: connections outlive a machine,
    and would write to whatever got the same number.
    """

    def __init__(self, fd: int, reach: Callable[[], socket.socket] | None) -> None:
        self.fd, self.reach = os.dup(fd), reach
        self.ends: dict[int, socket.socket] = {}
        self.lock = Lock()
        Thread(target=self._deliver, daemon=True).start()

    def serve(self, listening: socket.socket) -> None:
        """Open one at the other end for each that is opened here."""
        for number in count():
            end, _ = listening.accept()
            self._send(number, b"")
            self._add(number, end)

    def _add(self, number: int, end: socket.socket) -> None:
        end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.ends[number] = end
        Thread(target=self._carry, args=(number, end), daemon=True).start()

    def _carry(self, number: int, end: socket.socket) -> None:
        part = b"-"
        while part:
            try:
                part = end.recv(MOST_BYTES)
            except OSError:
                part = b""
            if part or self.ends.pop(number, None):
                self._send(number, part)

    def _send(self, number: int, part: bytes) -> None:
        left = HEAD.pack(number, len(part)) + part
        with self.lock, suppress(ConnectionError):  # the machine has died
            while left:
                left = left[os.write(self.fd, left) :]

    def _deliver(self) -> None:
        with suppress(ConnectionError):  # the machine has died
            while head := self._exactly(HEAD.size):
                number, size = HEAD.unpack(head)
                self._hand_over(number, self._exactly(size))

    def _hand_over(self, number: int, part: bytes) -> None:
        with suppress(OSError):
            if part and number in self.ends:
                self.ends[number].sendall(part)
            elif not part and (end := self.ends.pop(number, None)):
                end.shutdown(socket.SHUT_RDWR)
            elif not part and self.reach:
                self._add(number, self.reach())

    def _exactly(self, size: int) -> bytes:
        """Fewer only at the end of the stream."""
        found = b""
        while len(found) < size and (part := os.read(self.fd, size - len(found))):
            found += part
        return found
