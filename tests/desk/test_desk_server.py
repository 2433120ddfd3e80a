"""The desk's server as a process: where it listens, and whom it does not wait for."""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path

import pytest
from command import ioplan
from desks import desk_in

from ioplan_lab import Desk, DeskError, create_app
from ioplan_lab.desk.web import server
from ioplan_lab.desk.web.own_certificate import own_certificate
from ioplan_lab.desk.web.server import Place, Server, check


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.1", "desk.example"])
def test_beyond_this_host_only_with_tls(host: str) -> None:
    with pytest.raises(DeskError, match="add --tls"):
        check(Place(host, 8780))
    check(Place(host, 8780, Path("a"), Path("b")))
    with pytest.raises(DeskError, match="both"):
        check(Place(host, 8780, Path("a"), None))


def test_a_certificate_of_the_labs_authority_is_made_once_and_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    names = ("localhost", "127.0.0.1", "desk.example")
    made = own_certificate(tmp_path, names)
    before = made.certificate.read_text()
    assert own_certificate(tmp_path, names).certificate.read_text() == before
    assert own_certificate(tmp_path, names[:2]).certificate.read_text() != before
    assert "PRIVATE" not in made.authority.read_text() + before
    assert made.key.stat().st_mode & 0o077 == 0
    place = Place("127.0.0.1", 0, made.certificate, made.key)
    with desk_in(tmp_path / "desk", tls=True) as desk, running(desk, place) as port:
        trust = ssl.create_default_context(cafile=str(made.authority))
        with (
            socket.create_connection(("127.0.0.1", port)) as plain,
            trust.wrap_socket(plain, server_hostname="localhost") as one,
        ):
            one.sendall(b"GET /sign-in HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert b"__Host-ioplan=" in one.recv(4096)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "localhost"])
def test_loopback_needs_none(host: str) -> None:
    check(Place(host, 8780))


def test_what_cannot_be_listened_on_is_said(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = ioplan("lab", "serve", "--listen", f"127.0.0.1:{port}")
    assert done.code == 2 and "name another address with --listen" in done.err
    assert ioplan("lab", "serve", "--listen", "8780").code == 2
    done = ioplan("lab", "serve", "--listen", "0.0.0.0:0")
    assert done.code == 2 and "without TLS" in done.err
    files = ("--certificate", tmp_path / "no.pem", "--key", tmp_path / "no.key")
    done = ioplan("lab", "serve", "--listen", "127.0.0.1:0", *files)
    assert done.code == 2 and "certificate" in done.err


def test_a_desk_that_cannot_listen_starts_nothing(tmp_path: Path) -> None:
    entered: list[None] = []

    @contextmanager
    def work() -> Iterator[None]:
        entered.append(None)
        yield

    with desk_in(tmp_path) as desk, socket.create_server(("127.0.0.1", 0)) as taken:
        place = Place("127.0.0.1", taken.getsockname()[1])
        with pytest.raises(DeskError, match="name another address"):
            server.serve(create_app(desk), place, print, work())
    assert not entered


class InThread(Server):
    """Signals are the main thread's."""

    capture_signals = nullcontext  # type: ignore[assignment]


@contextmanager
def running(desk: Desk, place: Place) -> Iterator[int]:
    """The desk in a thread; its port."""
    ready = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listening:
        made = InThread(server.config_of(create_app(desk), place))
        made.on_ready = ready.set
        thread = threading.Thread(target=made.run, args=([listening],), daemon=True)
        thread.start()
        assert ready.wait(20)
        yield listening.getsockname()[1]
        made.should_exit = True
        thread.join(20)
        assert not thread.is_alive()


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """A desk with little patience."""
    with (
        pytest.MonkeyPatch.context() as patch,
        desk_in(tmp_path_factory.mktemp("desk")) as desk,
    ):
        patch.setattr(server, "HEADER_S", 0.3)
        with running(desk, Place("127.0.0.1", 0)) as found:
            yield found


def test_who_says_nothing_is_hung_up_on(port: int) -> None:
    begun_s = time.monotonic()
    with (
        socket.create_connection(("127.0.0.1", port)) as silent,
        socket.create_connection(("127.0.0.1", port)) as slow,
    ):
        slow.sendall(b"GET /sign-in HTTP/1.1\r\nHost: localhost\r\n")
        for one in (silent, slow):
            one.settimeout(20)
            assert one.recv(100) == b""
    assert time.monotonic() - begun_s < 15
    with socket.create_connection(("127.0.0.1", port)) as quick:
        quick.settimeout(20)
        quick.sendall(b"GET /sign-in HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert quick.recv(12) == b"HTTP/1.1 200"


@pytest.mark.parametrize(
    "sent",
    [
        b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nA: " + b"x" * 400_000 + b"\r\n\r\n",
        b"GET http://evil.example/ HTTP/1.1\r\nHost: evil.example\r\n\r\n",
        b"POST /sign-in HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
        b"POST /sign-in HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    ],
    ids=["two hosts", "no host", "header", "absolute", "length", "smuggled", "TLS"],
)
def test_odd_requests_get_an_error(port: int, sent: bytes) -> None:
    with socket.create_connection(("127.0.0.1", port)) as one:
        one.settimeout(20)
        line = b""
        with suppress(ConnectionError):  # it need not be read to its end
            one.sendall(sent)
            line = one.recv(12)
    assert line in (b"HTTP/1.1 400", b"HTTP/1.1 421", b"HTTP/1.1 403", b""), line
