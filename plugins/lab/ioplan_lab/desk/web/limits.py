"""How much may be asked for: requests a minute, failed sign-ins, bytes of a body."""

from __future__ import annotations

import asyncio
from typing import Any

from limits import parse
from limits.storage import MemoryStorage
from limits.strategies import MovingWindowRateLimiter
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from ioplan_lab.desk.errors import TooLarge, TooSlow

REQUESTS = parse("600/minute")
"""Requests of one address: a page that refreshes asks 30 times a minute."""
FAILURES = parse("10/minute")
"""Sign-ins of one address that fail; of all addresses ten times as many."""
ALL_FAILURES = parse("100/minute")
MOST_BYTES = 1 << 20
TOO_LARGE = f"the request is larger than {MOST_BYTES} B"
WAIT = "too many invalid tokens from this address; wait a minute"
BODY_S = 20.0
"""How long a body may take to come."""


class Limits:
    """Counts of the last minute, in memory."""

    def __init__(self) -> None:
        self._window = MovingWindowRateLimiter(MemoryStorage())

    def may_ask(self, address: str) -> bool:
        """Whether this address may have one more answer."""
        return self._window.hit(REQUESTS, "request", address)

    def failed(self, address: str) -> bool:
        """Count a token that was none; whether that is within the limits.

        One that is valid is never counted, nor refused for the wrong ones of others:
        it is too long to be guessed.
        """
        own = self._window.hit(FAILURES, "sign-in", address)
        return self._window.hit(ALL_FAILURES, "sign-in") and own


class LimitRequests:
    """Refuses what is too much, before anything else looks at it."""

    def __init__(self, app: ASGIApp, limits: Limits) -> None:
        self.app, self.limits = app, limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        client = scope.get("client")
        address = client[0] if client else "-"
        headers = dict(scope["headers"])
        if not self.limits.may_ask(address):
            await _say(429, "too many requests; wait a minute")(scope, receive, send)
        elif _length(headers) > MOST_BYTES:
            await _say(413, TOO_LARGE)(scope, receive, send)
        else:
            await self.app(scope, receive, send)


async def body_of(request: Request) -> bytes:
    """What was sent. Raises TooLarge, TooSlow, whatever its header says."""
    found = bytearray()
    try:
        async with asyncio.timeout(BODY_S):
            async for part in request.stream():
                found += part
                if len(found) > MOST_BYTES:
                    raise TooLarge(TOO_LARGE)
    except TimeoutError:
        raise TooSlow(f"the request was not received within {BODY_S:.0f} s") from None
    return bytes(found)


def _length(headers: dict[bytes, Any]) -> int:
    try:
        return int(headers.get(b"content-length", b"0"))
    except ValueError:
        return MOST_BYTES + 1


def _say(status: int, text: str) -> PlainTextResponse:
    headers = {
        "Connection": "close",
        **({"Retry-After": "60"} if status == 429 else {}),
    }
    return PlainTextResponse(f"{text}\n", status, headers)
