"""A desk in a folder, and people who call its pages, without a server."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from starlette.testclient import TestClient

from ioplan.results.store import Store
from ioplan_lab import PROGRAMS, TABLES, Desk, DeskDatabase, Role, create_app
from ioplan_lab.commands.jobs.executor import connect
from ioplan_lab.desk.calls import Calls
from ioplan_lab.desk.running import Running

URL = "http://localhost"
FIELD = re.compile(r'name="form_token" value="([^"]+)"')


@contextmanager
def desk_in(
    folder: Path,
    lab: Path | None = None,
    tls: bool = False,
    results: str | None = None,
    store: Path | None = None,
) -> Iterator[Desk]:
    """A desk with a person of each role, called as the role is.

    `results` is the database that the lab shares, `store` this host's.
    """
    local = store or folder / "results.db"
    desk = Desk(
        store=Store.at(results or local),
        place=results or str(local),
        lab_file=lab,
        folder=folder / "desk",
        database=DeskDatabase.at(results, folder / "desk", TABLES),
        running=Running(local, connect),
        calls=Calls(PROGRAMS.cli, {"IOPLAN_STORE": str(local)}),
        tls=tls,
    )
    with desk:
        yield desk


def token_of(desk: Desk, role: str) -> str:
    """A token of the person who is called as the role is; added if missing."""
    if role not in [one.name for one in desk.people.everyone()]:
        return desk.people.add(role, Role(role))
    return desk.people.new_token(role)


def client(desk: Desk, address: str = "192.0.2.1") -> TestClient:
    """A browser that nobody is signed in with; it does not follow redirects."""
    base = URL.replace("http", "https") if desk.tls else URL
    return TestClient(
        create_app(desk),
        base_url=base,
        follow_redirects=False,
        client=(address, 50000),
        raise_server_exceptions=False,
    )


def form_token(page: str) -> str:
    """What a page's forms repeat."""
    found = FIELD.search(page)
    assert found, page
    return found[1]


def signed_in(desk: Desk, role: str) -> TestClient:
    """A browser that the person of a role is signed in with."""
    browser = client(desk)
    page = browser.get("/sign-in").text
    data = {"token": token_of(desk, role), "form_token": form_token(page)}
    done = browser.post("/sign-in", data=data)
    assert done.status_code == 303, done.text
    return browser


def by_token(desk: Desk, role: str) -> TestClient:
    """A program with a token of a role."""
    found = client(desk)
    found.headers["Authorization"] = f"Bearer {token_of(desk, role)}"
    return found
