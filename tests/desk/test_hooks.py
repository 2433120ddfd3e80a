"""Web hooks: where they may go, what they send, and that nothing is lost."""

from __future__ import annotations

import hmac
import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from ioplan_lab import (
    TABLES,
    DeskDatabase,
    DeskError,
    Missing,
    Queue,
    QueueEntry,
    stamp,
)
from ioplan_lab.desk.hooks.deliver import SIGNATURE, Deliverer
from ioplan_lab.desk.hooks.hooks import (
    TRIES,
    Hooks,
    announce,
    checked_address,
    event_of,
    parts_of,
    refusal,
    wait_after,
)
from ioplan_lab.desk.work import repeat

METADATA = "http://169.254.169.254/latest/meta-data"


@pytest.mark.parametrize(
    ("address", "why"),
    [
        *((f"127.0.0.{n}", "own host") for n in (1, 2)),
        *((one, "own host") for one in ("::1", "::ffff:127.0.0.1", "::127.0.0.1")),
        *((one, "own host") for one in ("2002:7f00:1::", "64:ff9b::7f00:1")),
        *((one, "link-local") for one in ("169.254.1.1", "fe80::1", "fe80::1%eth0")),
        *((one, "metadata") for one in ("169.254.169.254", "fd00:ec2::254")),
        *((one, "metadata") for one in ("::ffff:a9fe:a9fe", "100.100.100.200")),
        *((one, "not a host") for one in ("0.0.0.0", "::", "224.0.0.1", "ff02::1")),
        ("240.0.0.1", "reserved"),
        *((one, "") for one in ("10.0.0.7", "192.168.1.1", "8.8.8.8", "2600::1")),
    ],
)
def test_where_a_hook_may_go(address: str, why: str) -> None:
    found = refusal(address, inside=False)
    assert why in found and bool(found) == bool(why)
    assert bool(refusal(address, inside=True)) == (why == "not a host")


@pytest.mark.parametrize(
    "url",
    [
        *("file:///etc/passwd", "gopher://x/", "http://", "x", "http://a b/"),
        *("http://user:pw@host/", "http://host:99999/", "http://host/\r\nX: y"),
        *("http://host/#f", "http://[::1", "http://hös.t/", f"http://h/{'x' * 2000}"),
    ],
)
def test_what_is_no_address(url: str) -> None:
    with pytest.raises(DeskError):
        parts_of(url)


@pytest.mark.parametrize("host", ["a..b", f"{'x' * 64}.example"])
def test_what_is_no_name_of_a_host(host: str) -> None:
    with pytest.raises(DeskError, match="not a host name"):
        checked_address(parts_of(f"https://{host}/"), inside=False)


def test_a_turn_that_fails_is_told_once_and_the_next_one_is_taken() -> None:
    """Or nothing would be started any more, while all pages look well."""
    ended, told, turns = Event(), list[str](), list[int]()

    def turn() -> None:
        turns.append(1)
        if len(turns) == 3:
            ended.set()
        raise IndexError("x")

    repeat(turn, ended, told.append, look_s=0)
    assert told == ["ioplan itself failed, please report it: IndexError: x"]


@pytest.mark.parametrize(
    "url",
    [
        *("http://127.1/", "http://2130706433/", "http://0x7f.1/", "http://localhost/"),
        *("http://[::1]/", "http://0/", METADATA),
    ],
)
def test_other_spellings_of_a_host_are_seen_through(url: str) -> None:
    with pytest.raises(DeskError):
        checked_address(parts_of(url), inside=False)


def test_a_name_with_one_forbidden_address_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    both = [(0, 0, 0, "", (one, 80)) for one in ("8.8.8.8", "127.0.0.1")]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: both)
    with pytest.raises(
        DeskError, match=r"two.example is 127.0.0.1, the desk's own host"
    ):
        checked_address(parts_of("http://two.example/"), inside=False)


class Receiver(BaseHTTPRequestHandler):
    """Keeps what comes, and answers with what it was told to."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.got.append((dict(self.headers), body))  # type: ignore[attr-defined]
        status = self.server.answers.pop(0)  # type: ignore[attr-defined]
        self.send_response(status)
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


@pytest.fixture
def database(tmp_path: Path) -> Iterator[DeskDatabase]:
    with DeskDatabase.at(None, tmp_path / "desk", TABLES) as made:
        yield made


def ended(database: DeskDatabase, message: str) -> None:
    queue = Queue(database, announce)
    queue.add(QueueEntry("ada", "Füll", {"p": ""}, "t", ("a",)))
    taken = queue.take("desk")
    assert taken
    queue.end(taken, message)


def make_due(database: DeskDatabase) -> None:
    with database.writing() as connection:
        connection.change("UPDATE desk_delivery SET next_at = :now", {"now": stamp()})


def test_a_body_arrives_signed_and_again_until_it_is_taken(
    database: DeskDatabase,
) -> None:
    hooks = Hooks(database)
    with receiver(500, 302, 200) as server:
        url = f"http://localhost:{server.server_port}/take?x=1"
        with pytest.raises(DeskError, match=r"the desk's own host; .* --inside"):
            hooks.add(url, ["ended"], False, "ada")
        hook = hooks.add(url, ["failed"], True, "ada")
        ended(database, "ok")
        ended(database, "died: killed")
        for answer in ("500 well then", "302 well then", "200 well then"):
            Deliverer(hooks).turn()
            Deliverer(hooks).turn()
            (due,) = hooks.deliveries()
            assert due.answer == answer
            make_due(database)
        Deliverer(hooks).turn()
        assert (due.state, due.attempts, len(server.got)) == ("delivered", 3, 3)
    headers, body = server.got[-1]
    said = json.loads(body)
    assert (said["event"], said["outcome"], said["plan"]) == (
        *("failed", "died: killed"),
        "Füll",
    )
    assert headers["Host"] == f"localhost:{server.server_port}"
    assert {one["X-Ioplan-Delivery"] for one, _ in server.got} == {"1"}
    at, signed = (part.partition("=")[2] for part in headers[SIGNATURE].split(","))
    wanted = hmac.new(hook.secret.encode(), f"{at}.".encode() + body, "sha256")
    assert hmac.compare_digest(signed, wanted.hexdigest())


def test_where_nobody_listens_it_is_tried_for_a_day_and_given_up(
    database: DeskDatabase,
) -> None:
    hooks = Hooks(database)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    hooks.add(f"http://127.0.0.1:{port}/", ["ended", "unmet"], True, "ada")
    ended(database, "unmet: p99")
    for tries in range(1, TRIES + 1):
        Deliverer(hooks).turn()
        (due,) = hooks.deliveries()
        assert due.attempts == tries and "refused" in due.answer
        make_due(database)
    assert due.state == "given up" and due.event == "unmet"
    total = sum((wait_after(n) for n in range(TRIES)), timedelta())
    assert timedelta(hours=20) < total < timedelta(hours=28)


def test_an_address_that_became_forbidden_is_not_called(
    database: DeskDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The name led elsewhere when the hook was added (DNS rebinding)."""
    hooks = Hooks(database)
    answers = iter(["8.8.8.8", "127.0.0.1"])

    def asked(*_: Any, **__: Any) -> list[Any]:
        return [(0, 0, 0, "", (next(answers), 80))]

    with monkeypatch.context() as patch:
        patch.setattr(socket, "getaddrinfo", asked)
        hooks.add("http://turns.example/", ["ended"], False, "ada")
        ended(database, "ok")
        Deliverer(hooks).turn()
    (due,) = hooks.deliveries()
    assert due.state == "waiting" and "the desk's own host" in due.answer


def test_a_delivery_survives_a_desk_that_dies_with_it(database: DeskDatabase) -> None:
    hooks = Hooks(database)
    hooks.add("http://127.0.0.1:9/", ["ended"], True, "ada")
    ended(database, "ok")
    assert hooks.take() and not hooks.take(), "others leave it alone for a while"
    make_due(database)
    found = hooks.take()
    assert found and found[1].attempts == 1
    hooks.remove(1)
    assert not hooks.deliveries()
    with pytest.raises(Missing):
        hooks.remove(1)
    with pytest.raises(DeskError, match="events of a hook"):
        hooks.add("http://127.0.0.1:9/", ["begun"], True, "ada")


def test_what_a_job_came_to() -> None:
    assert [event_of(text) for text in ("ok", "unmet: x", "stopped", "failed: y")] == [
        *("ended", "unmet", "ended"),
        "failed",
    ]
    assert event_of("refused: no consent") == "failed"
