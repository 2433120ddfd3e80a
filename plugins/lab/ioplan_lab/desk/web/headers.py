"""What browsers are told to refuse, and by which names the desk answers."""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Iterable

from starlette.datastructures import MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; frame-src 'self'; form-action 'self'; frame-ancestors 'none'; "
    "base-uri 'none'"
)
USUAL = {
    "Content-Security-Policy": POLICY,
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-store",
}
HSTS = "max-age=31536000"


class SafeHeaders:
    """On every answer, also on those to what was refused; a page may say stricter."""

    def __init__(self, app: ASGIApp, tls: bool) -> None:
        self.app, self.tls = app, tls

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in USUAL.items():
                    headers.setdefault(name, value)
                if self.tls:
                    headers["Strict-Transport-Security"] = HSTS
            await send(message)

        await self.app(scope, receive, sent)


ADDRESS = r"\[([0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*)\]"
HOST = re.compile(rf"(?:{ADDRESS}|([^:\[\]]*))(?::[0-9]{{0,5}})?")


class KnownHosts:
    """Another site's name that leads here (DNS rebinding) is refused.

    An address is nobody else's name, so any is taken.
    """

    def __init__(self, app: ASGIApp, names: Iterable[str]) -> None:
        self.app = app
        self.names = {name.casefold() for name in names}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            hosts = [value for name, value in scope["headers"] if name == b"host"]
            if len(hosts) != 1 or not self._is_known(hosts[0].decode("latin-1")):
                text = (
                    "unknown host name; permit it with `ioplan lab serve --name NAME`\n"
                )
                await PlainTextResponse(text, 421)(scope, receive, send)
                return
        await self.app(scope, receive, send)

    def _is_known(self, host: str) -> bool:
        name = host_name(host)
        return name.casefold().rstrip(".") in self.names or is_address(name)


def host_name(host: str) -> str:
    """The host of `NAME`, `NAME:PORT` or `[ADDRESS]:PORT`; empty for anything else."""
    found = HOST.fullmatch(host)
    return (found[1] or found[2]) if found else ""


def is_address(name: str) -> bool:
    """Whether it is an IP address."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def own_names() -> tuple[str, ...]:
    """What this host is called."""
    return ("localhost", socket.gethostname(), socket.getfqdn())
