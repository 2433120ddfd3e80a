"""JSON-RPC 2.0 over a Unix socket, as bdevperf speaks it.

PyPI's `spdk` has a client too. It is not used: an error's code is only in its
text, its timeout is for each piece of a reply and not for the whole, a reply is
parsed again at every 4 KiB (a histogram has 79 KB), replies are not matched to
requests, so that one late reply spoils all that follow, and the package brings
10,000 lines of calls of the newest release, which older ones refuse.
"""

from __future__ import annotations

import json
import select
import socket
import time
from collections.abc import Iterable
from math import isfinite
from pathlib import Path
from typing import Any

from ioplan.backends import Closing

CHUNK_BYTES = 1 << 16


class RpcFault(Exception):
    """A request came to nothing."""


class RpcError(RpcFault):
    """bdevperf refused a request."""

    def __init__(self, method: str, code: int, message: str) -> None:
        super().__init__(f"{method}: {message} ({code})")
        self.method, self.code, self.message = method, code, message


class RpcTimeout(RpcFault):
    """No reply came in time."""


class RpcClosed(RpcFault):
    """The other side is gone, or does not speak JSON-RPC."""


class Client(Closing):
    """One connection. `send` and `receive` let a long call go on meanwhile."""

    def __init__(self, path: Path, timeout_s: float = 10.0) -> None:
        """Connect. Raises OSError while there is nobody."""
        self.timeout_s, self.last_id = timeout_s, 0
        self.methods: dict[int, str] = {}
        self.early: dict[int, dict[str, Any]] = {}
        self.buffer, self.decoder = "", json.JSONDecoder()
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self.socket.settimeout(timeout_s)
            self.socket.connect(str(path))
        except OSError:
            self.socket.close()
            raise

    def call(self, method: str, params: dict[str, Any] | None = None) -> Any:
        """Ask and wait. Raises RpcFault."""
        return self.receive(self.send(method, params))

    def send(self, method: str, params: dict[str, Any] | None = None) -> int:
        """Ask; returns the number to wait for. Raises RpcClosed."""
        text = self._request(method, params)
        self._write(method, text)
        return self.last_id

    def call_together(
        self, calls: Iterable[tuple[str, dict[str, Any]]]
    ) -> list[Any | RpcError]:
        """Ask all at once; of what is refused, the error. Raises other RpcFaults.

        What arrives in one piece is looked up in one piece, with no I/O completed
        in between: only so do counters and histograms fit each other.
        """
        text, numbers = "", []
        for method, params in calls:
            text += self._request(method, params)
            numbers.append(self.last_id)
        try:
            self._write(", ".join(self.methods[n] for n in numbers), text)
            return [self._settled(number) for number in numbers]
        finally:
            for number in numbers:  # after a fault nobody waits for the others
                self.methods.pop(number, None)
                self.early.pop(number, None)

    def _settled(self, number: int) -> Any | RpcError:
        try:
            return self.receive(number)
        except RpcError as error:
            return error

    def _request(self, method: str, params: dict[str, Any] | None) -> str:
        self.last_id += 1
        request = {"jsonrpc": "2.0", "method": method, "id": self.last_id}
        if params:
            request["params"] = params
        self.methods[self.last_id] = method
        return json.dumps(request)

    def _write(self, methods: str, text: str) -> None:
        try:
            self.socket.sendall(text.encode())
        except OSError as error:
            raise RpcClosed(f"{methods}: bdevperf is gone ({error})") from error

    def ready(self, wait_s: float) -> bool:
        """Whether something can be received within that time."""
        return bool(select.select([self.socket], [], [], max(0.0, wait_s))[0])

    def receive(self, number: int) -> Any:
        """The result of a request. Replies that nobody waits for any more are dropped,
        those that somebody will wait for are kept."""
        method = self.methods.pop(number)
        deadline = time.monotonic() + self.timeout_s
        while True:
            reply = self.early.pop(number, None) or self._next(method, deadline)
            found = reply.get("id")
            if found == number:
                return _result(method, reply)
            if found in self.methods:
                self.early[found] = reply

    def _next(self, method: str, deadline: float) -> dict[str, Any]:
        while True:
            text = self.buffer.lstrip()
            # A reply ends with a brace: only then is it worth parsing.
            if text.endswith("}") or "}\n" in text:
                try:
                    reply, end = self.decoder.raw_decode(text)
                except ValueError:
                    pass
                else:
                    self.buffer = text[end:]
                    return _checked(method, reply)
            self._fill(method, deadline)

    def _fill(self, method: str, deadline: float) -> None:
        if not self.ready(deadline - time.monotonic()):
            raise RpcTimeout(f"{method}: no reply within {self.timeout_s:g} s")
        try:
            chunk = self.socket.recv(CHUNK_BYTES)
        except OSError as error:
            raise RpcClosed(f"{method}: bdevperf is gone ({error})") from error
        if not chunk:
            raise RpcClosed(f"{method}: bdevperf ended before its reply")
        # latin-1 never fails; device names outside ASCII come escaped.
        self.buffer += chunk.decode("latin-1")

    def close(self) -> None:
        """End the connection; what was asked goes on."""
        self.socket.close()


def _checked(method: str, reply: Any) -> dict[str, Any]:
    if not isinstance(reply, dict):
        raise RpcClosed(f"{method}: the reply is not an object: {reply!r:.80}")
    return reply


def _result(method: str, reply: dict[str, Any]) -> Any:
    error = reply.get("error")
    if isinstance(error, dict):
        code, message = error.get("code", 0), error.get("message", "")
        raise RpcError(method, int(code), str(message))
    if "result" not in reply:
        raise RpcClosed(f"{method}: the reply has no result: {reply!r:.80}")
    return reply["result"]


class BadReply(Exception):
    """A reply, or a text, is not as it should be."""


def number(reply: Any, key: str) -> int | float:
    """A number that is there, finite and not negative. Raises BadReply."""
    value = reply.get(key) if isinstance(reply, dict) else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise BadReply(f"the reply has no number {key!r}")
    if not isfinite(value) or value < 0:
        raise BadReply(f"the reply's {key!r} is {value}")
    return value
