"""Web hooks: where they may go, what they send, and that nothing is lost."""

from __future__ import annotations

import hmac
import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from command import ioplan
from desks import (
    ended,
    make_due,
    page_after,
    sent,
    signed_in,
    time_passes,
    works_until,
)
from starlette.testclient import TestClient

from ioplan_lab import Desk, stamp


@pytest.fixture
def admin(desk: Desk) -> TestClient:
    return signed_in(desk, "admin")


def added(admin: TestClient, url: str, *events: str, inside: str = "1") -> str:
    return page_after(admin, "/hooks", url=url, event=[*events], inside=inside)


def last(admin: TestClient) -> str:
    """The page's row of the last delivery, or no word."""
    return admin.get("/hooks").text.partition("<h2>Deliveries</h2>")[2]


def resolved(monkeypatch: pytest.MonkeyPatch, *answers: list[str]) -> None:
    """What names are, one time after the other."""
    left = iter(answers)

    def asked(*_: Any, **__: Any) -> list[Any]:
        return [(0, 0, 0, "", (one, 80)) for one in next(left)]

    monkeypatch.setattr(socket, "getaddrinfo", asked)


ADDRESSES = {
    "own host": "127.0.0.1 127.0.0.2 ::1 ::ffff:127.0.0.1 ::127.0.0.1 2002:7f00:1:: "
    "64:ff9b::7f00:1",
    "link-local": "169.254.1.1 fe80::1 fe80::1%eth0",
    "metadata": "169.254.169.254 fd00:ec2::254 ::ffff:a9fe:a9fe 100.100.100.200",
    "not a host": "0.0.0.0 :: 224.0.0.1 ff02::1",
    "reserved": "240.0.0.1",
    "": "10.0.0.7 192.168.1.1 8.8.8.8 2600::1",
}


@pytest.mark.parametrize("why", ADDRESSES)
def test_where_a_hook_may_go(
    why: str, admin: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    for address in ADDRESSES[why].split():
        for inside, refused in (("", bool(why)), ("1", why == "not a host")):
            resolved(monkeypatch, [address])
            page = added(admin, "http://a.example/", "ended", inside=inside)
            assert (f"a.example is {address}, " in page) == refused, page
            assert not refused or why in page
    resolved(monkeypatch, ["8.8.8.8", "127.0.0.1"])
    page = added(admin, "http://two.example/", "ended", inside="")
    assert "two.example is 127.0.0.1, the desk&#39;s own host" in page


URLS = (
    *("file:///etc/passwd", "gopher://x/", "http://", "x", "http://a b/", "", "ftp:"),
    *("http://user:pw@host/", "http://host:99999/", "http://host/\r\nX: y"),
    *("http://host/#f", "http://[::1", "http://hös.t/", f"http://h/{'x' * 2000}"),
    *("https://a..b/", f"https://{'x' * 64}.example/"),
    *("http://127.1/", "http://2130706433/", "http://0x7f.1/", "http://localhost/"),
    *("http://[::1]/", "http://0/", "http://169.254.169.254/latest/meta-data"),
)


def test_what_is_no_address_of_a_hook(admin: TestClient) -> None:
    for url in URLS:
        answer = sent(admin, "/hooks", url=url, event=["ended"])
        assert answer.status_code == 400, url
    answer = sent(admin, "/hooks", url="http://8.8.8.8/", event=["begun"])
    assert answer.status_code == 400 and "events of a hook" in answer.text
    assert "Nobody is told" in admin.get("/hooks").text


class Receiver(BaseHTTPRequestHandler):
    """Keeps what comes, and answers with what it was told to."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.got.append((dict(self.headers), body))  # type: ignore[attr-defined]
        self.send_response(self.server.answers.pop(0))  # type: ignore[attr-defined]
        self.send_header("Location", f"http://127.0.0.1:{self.server.server_port}/x")
        self.end_headers()
        self.wfile.write(b"well\n then")

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def receiver(*answers: int) -> Iterator[Any]:
    server = HTTPServer(("127.0.0.1", 0), Receiver)
    server.got, server.answers = [], list(answers)  # type: ignore[attr-defined]
    thread = Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_a_body_arrives_signed_and_again_until_it_is_taken(
    desk: Desk, admin: TestClient
) -> None:
    with receiver(500, 302, 200) as server:
        url = f"http://localhost:{server.server_port}/take?x=1"
        page = added(admin, url, "failed")
        secret = page.partition("only once: <code>")[2].partition("<")[0]
        assert secret and secret not in admin.get("/hooks").text, "shown once"
        for outcome in ("ok", "unmet: x", "stopped", "died: killed"):
            ended(desk, outcome)
        for answer in ("500 well then", "302 well then", "200 well then"):
            time_passes(desk)
            time_passes(desk)
            assert answer in last(admin)
            make_due(desk, "desk_delivery", stamp())
        time_passes(desk)
        assert "delivered" in last(admin) and len(server.got) == 3
    headers, body = server.got[-1]
    said = json.loads(body)
    assert (said["event"], said["outcome"]) == ("failed", "died: killed")
    assert headers["Host"] == f"localhost:{server.server_port}"
    assert {one["X-Ioplan-Delivery"] for one, _ in server.got} == {"1"}
    parts = headers["X-Ioplan-Signature"].split(",")
    at, signed = (part.partition("=")[2] for part in parts)
    wanted = hmac.new(secret.encode(), f"{at}.".encode() + body, "sha256")
    assert hmac.compare_digest(signed, wanted.hexdigest())


def test_where_nobody_listens_it_is_tried_for_a_day_and_given_up(
    desk: Desk, admin: TestClient
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    added(admin, f"http://127.0.0.1:{port}/", "ended", "unmet")
    ended(desk, "unmet: p99")
    waits: list[timedelta] = []
    while "given up" not in last(admin):
        time_passes(desk)
        assert "refused" in last(admin) and "unmet" in last(admin)
        waits.append(next_try(desk))
        make_due(desk, "desk_delivery", stamp())
    total = sum(waits[:-1], timedelta())
    assert timedelta(hours=20) < total < timedelta(hours=28), waits
    assert "Nobody is told" in page_after(admin, "/hooks/1/remove")
    assert sent(admin, "/hooks/1/remove").status_code == 404


def next_try(desk: Desk) -> timedelta:
    """How long the delivery now waits."""
    with desk.database.reading() as connection:
        (row,) = connection.rows("SELECT next_at FROM desk_delivery")
    return datetime.fromisoformat(row["next_at"]) - datetime.fromisoformat(stamp())


def test_an_address_that_became_forbidden_is_not_called(
    desk: Desk, admin: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The name led elsewhere when the hook was added (DNS rebinding)."""
    with monkeypatch.context() as patch:
        resolved(patch, ["8.8.8.8"], ["127.0.0.1"])
        added(admin, "http://turns.example/", "ended", inside="")
        ended(desk)
        time_passes(desk)
    page = last(admin)
    assert "waiting" in page and "the desk&#39;s own host" in page


def test_a_delivery_survives_a_desk_that_dies_with_it(
    desk: Desk, admin: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: Any, **__: Any) -> None:
        raise SystemExit

    added(admin, "http://127.0.0.1:9/", "ended")
    ended(desk)
    with monkeypatch.context() as patch, pytest.raises(SystemExit):
        patch.setattr(socket, "getaddrinfo", killed)
        time_passes(desk)
    before = last(admin)
    time_passes(desk)
    assert last(admin) == before, "others leave it alone for a while"
    make_due(desk, "desk_delivery", stamp())
    time_passes(desk)
    assert last(admin) != before and "refused" in last(admin)


def test_a_turn_that_fails_is_told_once_and_the_next_one_is_taken() -> None:
    """Or nothing would be started any more, while all pages look well."""
    turns: list[int] = []

    def turn() -> bool:
        turns.append(1)
        if len(turns) == 3:
            return True
        raise IndexError("x")

    said = works_until(turn)
    assert said == ["ioplan itself failed, please report it: IndexError: x"]


def test_a_shell_refuses_the_same(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    done = ioplan("lab", "hook", "add", "http://127.0.0.1:9/", "--on", "failed")
    assert done.code == 2 and "the desk's own host; " in done.err
    assert "--inside" in done.err
