"""Standard input without messages that are larger than any plan."""

from __future__ import annotations

import json
from typing import BinaryIO

MOST_BYTES = 64 << 20
MOST_HEADER_BYTES = 1 << 16
LENGTH = b"content-length:"
INVALID_REQUEST = -32600


class BoundedInput:
    """Headers and bodies; a message that is too large gets an error in place of its
    answer, and is not waited for."""

    def __init__(self, source: BinaryIO, answers: BinaryIO) -> None:
        self.source, self.answers = source, answers

    def readline(self) -> bytes:
        """The next header; an empty one for the length of a message that is refused."""
        header = self.source.readline(MOST_HEADER_BYTES)
        if not header.lower().startswith(LENGTH):
            return header
        digits = header[len(LENGTH) :].strip()
        if digits.isdigit() and len(digits) < 12 and int(digits) <= MOST_BYTES:
            return header
        self._refuse()
        return b"\r\n"

    def read(self, count: int) -> bytes:
        """A body."""
        return self.source.read(count)

    def _refuse(self) -> None:
        text = f"a message has a length from 1 to {MOST_BYTES} bytes"
        error = {"code": INVALID_REQUEST, "message": text}
        body = json.dumps({"jsonrpc": "2.0", "id": None, "error": error}).encode()
        self.answers.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        self.answers.flush()
