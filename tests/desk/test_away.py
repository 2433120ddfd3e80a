"""A desk whose database is away: what it shows, to whom, and what still works."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from desks import client, desk_in, form_token, signed_in, token_of
from postgres import Server, children, needs_postgres, server
from starlette.testclient import TestClient

from ioplan import StoreFault
from ioplan.results.store import StoreError
from ioplan_lab import Desk
from ioplan_testing import calmly

MOST_S = 1.0
TOLD = "The desk&#x27;s database does not answer. This is as of"


@contextmanager
def hung(database: Server) -> Iterator[None]:
    """As behind a link that is cut: it accepts, and says nothing more."""
    first = int((database.data / "postmaster.pid").read_text().split()[0])
    pids = [first, *children(first)]
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


def until_back(browser: TestClient) -> None:
    """A browser asks again and again; the desk notices with the next probe."""
    for _ in range(300):
        found = browser.get("/")
        if found.status_code == 200 and "age" not in found.headers:
            return
        time.sleep(0.1)
    raise AssertionError(found.text)


@needs_postgres
@pytest.mark.parametrize("how", ["hung", "stopped"])
@pytest.mark.long
def test_the_last_state_is_shown_with_its_age(tmp_path: Path, how: str) -> None:
    with (
        server() as database,
        desk_in(tmp_path, results=database.address) as desk,
        signed_in(desk, "operator") as browser,
    ):
        page = browser.get("/").text
        assert TOLD not in page
        assert browser.get("/now.json").json() == {"jobs": []}
        browser.get("/sessions")

        def measured(_: int) -> None:
            with away(database, how, browser):
                found = prompt(browser, "/")
                assert found.status_code == 200 and TOLD in found.text
                assert found.text.replace(told(found.text), "") == page
                said = prompt(browser, "/now.json")
                assert said.json() == {"jobs": []} and int(said.headers["age"]) >= 0
                assert TOLD in prompt(browser, "/sessions").text
                unknown = prompt(browser, "/drives")
                assert unknown.status_code == 503
                assert "was not shown before" in unknown.text
                for other in ({"Cookie": "ioplan=x"}, {"Authorization": "Bearer x"}):
                    assert prompt(browser, "/", other).status_code == 503

        calmly(measured)


def prompt(
    browser: TestClient, path: str, headers: dict[str, str] | None = None
) -> Any:
    """The desk's answer, which may take a second; of a browser's way there is none."""
    began_s = time.monotonic()
    found = browser.get(path, headers=headers)
    assert time.monotonic() - began_s < MOST_S, path
    return found


@contextmanager
def away(database: Server, how: str, browser: TestClient) -> Iterator[None]:
    try:
        with hung(database) if how == "hung" else stopped(database):
            yield
    finally:
        until_back(browser)


@contextmanager
def stopped(database: Server) -> Iterator[None]:
    database.stop()
    try:
        yield
    finally:
        database.start()


def told(page: str) -> str:
    found = re.search(r'<p class="warning" role="status">.*?</p>', page)
    assert found
    return found[0]


def broken(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing reaches its database any more."""

    def none(self: object) -> None:
        raise StoreError("no route", StoreFault.STORE_UNREACHABLE)

    for name in ("reading", "writing"):
        monkeypatch.setattr(type(desk.database), name, none)


def test_who_may_is_known_and_jobs_can_be_cancelled(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    cancelled: list[tuple[str, str]] = []

    async def cancel(self: object, job: str, person: str) -> None:
        cancelled.append((job, person))

    monkeypatch.setattr(type(desk.starter), "cancel", cancel)
    monkeypatch.setattr(type(desk.running.jobs), "has", lambda self, id: id == "mine")
    with signed_in(desk, "operator") as browser, signed_in(desk, "viewer") as viewer:
        data = {"form_token": form_token(browser.get("/").text)}
        viewed = {"form_token": form_token(viewer.get("/").text)}
        broken(desk, monkeypatch)
        assert browser.post("/jobs/mine/cancel", data=data).status_code == 303
        assert cancelled == [("mine", "operator")]
        assert viewer.post("/jobs/mine/cancel", data=viewed).status_code == 403
        assert browser.post("/jobs/mine/cancel", data=viewed).status_code == 403
        assert browser.post("/jobs/other/cancel", data=data).status_code == 503
        assert browser.post("/queue/1/cancel", data=data).status_code == 503
        assert len(cancelled) == 1


def test_who_has_signed_out_or_was_removed_sees_nothing_more(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    with signed_in(desk, "viewer") as gone, client(desk) as removed:
        cookies = dict(gone.cookies)
        data = {"form_token": form_token(gone.get("/").text)}
        assert gone.post("/sign-out", data=data).status_code == 303
        removed.headers["Authorization"] = f"Bearer {token_of(desk, 'admin')}"
        assert removed.get("/").status_code == 200
        desk.people.revoke("admin")
        assert removed.get("/").status_code == 401
        broken(desk, monkeypatch)
        gone.cookies.update(cookies)
        assert gone.get("/").status_code == 503
        assert removed.get("/").status_code == 503
