"""The desk's server as a process: where it listens, and whom it does not wait for."""

from __future__ import annotations

import os
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from command import ioplan
from desks import desk_in, listening


def refused(*words: str | Path) -> str:
    done = ioplan("lab", "serve", *words)
    assert done.code == 2
    return done.err


@pytest.mark.parametrize("host", ["0.0.0.0", "[::]", "10.0.0.1", "desk.example"])
def test_beyond_this_host_only_with_tls(host: str) -> None:
    assert "add --tls" in refused("--listen", f"{host}:0")
    assert "both" in refused("--listen", f"{host}:0", "--certificate", "a")


def test_what_cannot_be_listened_on_is_said_and_nothing_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        for host in ("127.0.0.1", "localhost"):
            said = refused("--listen", f"{host}:{port}")
            assert "name another address with --listen" in said
    assert not list(tmp_path.rglob("*.lock")), "no runner of its queue"
    assert "HOST:PORT" in refused("--listen", "8780")
    files = ("--certificate", tmp_path / "no.pem", "--key", tmp_path / "no.key")
    assert "certificate" in refused("--listen", "127.0.0.1:0", *files)


@pytest.mark.slow
@pytest.mark.long
def test_tls_by_a_certificate_of_the_labs_authority(tmp_path: Path) -> None:
    """Browsers that know the authority believe it, also when it has a new name."""
    state, authorities = tmp_path / "state", set()
    for name in ("desk.example", "other.example"):
        with serving(state, name) as (url, authority):
            authorities.add(authority.read_text())
            trust = ssl.create_default_context(cafile=str(authority))
            with (
                socket.create_connection(("127.0.0.1", urlsplit(url).port)) as plain,
                trust.wrap_socket(plain, server_hostname=name) as tls,
            ):
                tls.sendall(b"GET /sign-in HTTP/1.1\r\nHost: localhost\r\n\r\n")
                assert b"__Host-ioplan=" in tls.recv(4096)
    (only,) = authorities
    assert "PRIVATE" not in only
    files = [one for one in state.rglob("*") if one.is_file()]
    keys = [one for one in files if b"PRIVATE KEY" in one.read_bytes()]
    assert keys and not any(one.stat().st_mode & 0o077 for one in keys)


@contextmanager
def serving(state: Path, name: str) -> Iterator[tuple[str, Path]]:
    """A desk in a process of its own: its URL, and the authority to trust."""
    words = ["lab", "serve", "--listen", "127.0.0.1:0", "--tls", "--name", name]
    command = [sys.executable, "-m", "ioplan.cli", *words]
    own = {**os.environ, "XDG_STATE_HOME": str(state), "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        command, env=own, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        authority = process.stdout.readline().rpartition(": ")[2].strip()
        url = process.stdout.readline().rpartition(" ")[2].strip()
        try:
            yield url, Path(authority)
        finally:
            process.terminate()
            process.communicate(timeout=20)


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """A desk with little patience."""
    with (
        desk_in(tmp_path_factory.mktemp("desk")) as desk,
        listening(desk, patience_s=0.3) as port,
    ):
        yield port


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
