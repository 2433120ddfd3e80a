"""The desk's server: on loopback, or with TLS, until it is told to end."""

from __future__ import annotations

import asyncio
import ipaddress
import signal
import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import uvicorn
from msgspec import Struct
from msgspec.structs import replace
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from ioplan_lab.desk.errors import DeskError
from ioplan_lab.desk.web.headers import is_address

HEADER_S = 10.0
"""How long a request's first line and headers may take to come."""
MOST_HEADER_BYTES = 16 << 10
MOST_CONNECTIONS = 400
ENDING_S = 5


class Place(Struct, frozen=True):
    """Where to listen; with both files of TLS also beyond this host."""

    host: str
    port: int
    certificate: Path | None = None
    key: Path | None = None

    @property
    def tls(self) -> bool:
        """Whether it has a certificate."""
        return bool(self.certificate and self.key)

    @property
    def is_loopback(self) -> bool:
        """Whether only this host reaches it."""
        if self.host == "localhost":
            return True
        return is_address(self.host) and ipaddress.ip_address(self.host).is_loopback

    @property
    def url(self) -> str:
        """For a browser."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http{'s' * self.tls}://{host}:{self.port}/"


class PatientFor(H11Protocol):
    """A connection that has not said what it wants in time is closed (slow loris)."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._wait()

    def _wait(self) -> None:
        self._deadline = self.loop.call_later(HEADER_S, self._give_up)

    def _give_up(self) -> None:
        answering = self.cycle is not None and not self.cycle.response_complete
        if not answering and not self.transport.is_closing():
            self.transport.close()

    def handle_events(self) -> None:
        before = self.cycle
        super().handle_events()
        if self.cycle is not before and self._deadline:  # the headers are there
            self._deadline.cancel()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if not self.transport.is_closing():
            if self._deadline:
                self._deadline.cancel()
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._deadline:
            self._deadline.cancel()
        super().connection_lost(exc)


class Server(uvicorn.Server):
    """Ends well on SIGTERM and Ctrl-C: what it answers just now is finished."""

    on_ready: Callable[[], None] = staticmethod(lambda: None)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """As uvicorn's own, which afterwards lets the signal kill the process."""
        wanted = (signal.SIGINT, signal.SIGTERM)
        before = {one: signal.signal(one, self.handle_exit) for one in wanted}
        try:
            yield
        finally:
            for one, handler in before.items():
                signal.signal(one, handler)

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        if self.started:
            self.on_ready()


def serve(
    app: ASGIApp,
    place: Place,
    on_ready: Callable[[str], None],
    work: AbstractContextManager[None],
) -> None:
    """Answer until a signal; `on_ready` gets the URL. Raises DeskError.

    `work` is entered when the address is bound: a desk that cannot be served
    starts no job.
    """
    check(place)
    config = config_of(app, place)
    try:
        config.load()
    except (OSError, ssl.SSLError) as error:
        raise DeskError(
            f"the certificate or its key cannot be used: {error}"
        ) from error
    server = Server(config)
    with _socket(config, place) as listening, work:
        port = listening.getsockname()[1]
        server.on_ready = partial(on_ready, replace(place, port=port).url)
        server.run(sockets=[listening])


def config_of(app: ASGIApp, place: Place) -> uvicorn.Config:
    """Nothing is logged but trouble, and nobody is told what serves."""
    return uvicorn.Config(
        app,
        host=place.host,
        port=place.port,
        http=PatientFor,
        ws="none",
        lifespan="off",
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=MOST_CONNECTIONS,
        timeout_keep_alive=20,
        timeout_graceful_shutdown=ENDING_S,
        h11_max_incomplete_event_size=MOST_HEADER_BYTES,
        ssl_certfile=place.certificate,
        ssl_keyfile=place.key,
        ssl_context_factory=_context if place.tls else None,
    )


def _context(
    config: uvicorn.Config, usual: Callable[[], ssl.SSLContext]
) -> ssl.SSLContext:
    context = usual()
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


def _socket(config: uvicorn.Config, place: Place) -> socket.socket:
    """Bound by us: uvicorn's own attempt would end the process without a word."""
    family = socket.AF_INET6 if ":" in place.host else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((place.host, place.port))
        made.listen(config.backlog)
    except OSError as error:
        made.close()
        raise DeskError(
            f"cannot listen on {place.host}:{place.port}: {error.strerror or error}; "
            f"name another address with --listen"
        ) from error
    return made


def check(place: Place) -> None:
    """Raises DeskError where tokens would go over a network in the clear."""
    if bool(place.certificate) != bool(place.key):
        raise DeskError("--certificate and --key belong together; give both")
    if not place.tls and not place.is_loopback:
        raise DeskError(
            f"{place.host} is reachable from other hosts, and without TLS tokens "
            "could be read on the network; add --tls, for a certificate of the lab's "
            "own authority, or --certificate FILE --key FILE"
        )
