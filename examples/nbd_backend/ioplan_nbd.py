"""NBD servers as targets: nbd://HOST:PORT/EXPORT, nbd+unix:///EXPORT?socket=PATH."""

import os
import socket
import struct
from urllib.parse import parse_qs, unquote, urlsplit

from ioplan_blocking import BlockingBackend

from ioplan.backends import BackendError


class NbdBackend(BlockingBackend):
    name, version = "nbd", "0.1"

    def connect(self, path, options):
        return NbdDevice(path)


def dial(uri):
    if uri.scheme == "nbd":
        return socket.create_connection((uri.hostname, uri.port or 10809), 30)
    if uri.scheme == "nbd+unix":
        unix = socket.socket(socket.AF_UNIX)
        unix.connect(parse_qs(uri.query).get("socket", ["missing"])[0])
        return unix
    raise BackendError("this is no NBD URI; write nbd://HOST/EXPORT")


class NbdDevice:
    def __init__(self, text):
        uri = urlsplit(text)
        name, self.socket = unquote(uri.path[1:]).encode(), dial(uri)
        self.replies = self.socket.makefile("rb")
        self.take(18)  # the server's greeting; ours is: fixed newstyle, no zeroes
        self.socket.sendall(struct.pack(">I8sII", 3, b"IHAVEOPT", 1, len(name)) + name)
        self.size_bytes, _ = struct.unpack(">QH", self.take(10))

    def take(self, size):
        data = self.replies.read(size)
        if len(data) < size:
            raise ConnectionError("the server hung up; is there such an export?")
        return data

    def ask(self, kind, offset, size, data=b"", returns=0):
        head = struct.pack(">IHHQQI", 0x25609513, 0, kind, 0, offset, size)
        self.socket.sendall(head + data)
        if error := struct.unpack(">IIQ", self.take(16))[1]:
            raise OSError(error, os.strerror(error))
        return self.take(returns)

    def read(self, offset, size):
        self.ask(0, offset, size, returns=size)

    def write(self, offset, data):
        self.ask(1, offset, len(data), data)

    def close(self):
        self.socket.shutdown(socket.SHUT_RDWR)  # an answer is waited for no more
        self.socket.close()
