"""Tokens, browsers that are signed in, and those who guess."""

from __future__ import annotations

import sqlite3
from datetime import timedelta

import pytest
from desks import by_token, client, desk_in, form_token, signed_in, token_of
from starlette.testclient import TestClient

from ioplan_lab import Desk, DeskError, Role


def enter(browser: TestClient, token: str) -> int:
    page = browser.get("/sign-in").text
    data = {"token": token, "form_token": form_token(page)}
    return browser.post("/sign-in", data=data).status_code


def test_neither_tokens_nor_cookies_are_kept(desk: Desk) -> None:
    token = token_of(desk, "viewer")
    browser = client(desk)
    assert enter(browser, token) == 303
    cookie = browser.cookies["ioplan"]
    with sqlite3.connect(desk.folder / "desk.db") as file:
        text = "\n".join(file.iterdump())
    assert token not in text and token.removeprefix("ioplan_") not in text
    assert cookie not in text and "desk_browser" in text
    assert (desk.folder / "desk.db").stat().st_mode & 0o077 == 0


def test_a_token_ends_and_can_be_revoked(desk: Desk) -> None:
    short = desk.people.add("eve", Role.VIEWER, timedelta(seconds=-1))
    assert desk.people.by_token(short) is None
    assert [one.expires_at for one in desk.people.everyone()] == [None]
    token = desk.people.new_token("eve")
    browser = client(desk)
    assert enter(browser, token) == 303 and browser.get("/").status_code == 200
    desk.people.revoke("eve")
    assert desk.people.by_token(token) is None
    assert browser.get("/").status_code == 303, "its browsers are signed out, too"


def test_who_is_removed_is_gone_and_names_are_names(desk: Desk) -> None:
    browser = signed_in(desk, "operator")
    desk.people.remove("operator")
    assert browser.get("/").status_code == 303
    for name in ("", "a b", "<b>", "x" * 65, "../x", "a\n"):
        with pytest.raises(DeskError):
            desk.people.add(name, Role.VIEWER)
    desk.people.add("ada", Role.VIEWER)
    with pytest.raises(DeskError, match="already"):
        desk.people.add("ada", Role.ADMIN)
    with pytest.raises(DeskError, match="did you mean 'ada'"):
        desk.people.remove("adda")


def test_a_browser_is_signed_out_after_its_time(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ioplan_lab.desk.people.people.SIGNED_IN", timedelta(0))
    browser = signed_in(desk, "viewer")
    assert browser.get("/").status_code == 303


def test_signing_out_ends_the_cookie_itself(desk: Desk) -> None:
    browser = signed_in(desk, "viewer")
    cookie = browser.cookies["ioplan"]
    token = form_token(browser.get("/").text)
    assert browser.post("/sign-out", data={"form_token": token}).status_code == 303
    again = client(desk)
    again.cookies.set("ioplan", cookie)
    assert again.get("/").status_code == 303


def test_the_cookie_is_out_of_reach_for_scripts_and_other_sites(desk: Desk) -> None:
    said = client(desk).get("/sign-in").headers["set-cookie"].lower()
    assert "httponly" in said and "samesite=strict" in said and "secure" not in said


def test_with_tls_the_cookie_never_goes_in_the_clear(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    with desk_in(tmp_path_factory.mktemp("tls"), tls=True) as desk:
        browser = signed_in(desk, "viewer")
        assert list(browser.cookies) == ["__Host-ioplan"]
        found = browser.get("/sign-in")
        assert found.status_code == 303
        assert "max-age" in found.headers["strict-transport-security"]
        said = client(desk).get("/sign-in").headers["set-cookie"].lower()
        assert "secure" in said and "domain" not in said and "path=/" in said


def test_a_cookie_from_before_the_sign_in_is_worth_nothing(desk: Desk) -> None:
    browser = client(desk)
    page = browser.get("/sign-in").text
    planted = browser.cookies["ioplan"]
    token = token_of(desk, "admin")
    data = {"token": token, "form_token": form_token(page)}
    assert browser.post("/sign-in", data=data).status_code == 303
    assert browser.cookies["ioplan"] != planted
    thief = client(desk)
    thief.cookies.set("ioplan", planted)
    assert thief.get("/").status_code == 303


def test_guessing_is_slow_for_forms_and_for_programs(desk: Desk) -> None:
    browser = client(desk)
    codes = [enter(browser, f"ioplan_{at}") for at in range(12)]
    assert codes == [403] * 10 + [429] * 2
    browser.headers["Authorization"] = "Bearer ioplan_x"
    assert browser.get("/now.json").status_code == 429
    deeds = {one.outcome for one in desk.audit.newest()}
    assert deeds == {"refused: no such token", "refused: too often"}


def test_who_guesses_locks_nobody_out(desk: Desk) -> None:
    """All may come from one address, that of a proxy; a valid token is known at once."""
    browser = client(desk)
    wrong, valid = (
        {"Authorization": f"Bearer {one}"}
        for one in ("ioplan_x", token_of(desk, "viewer"))
    )
    codes = [browser.get("/now.json", headers=wrong).status_code for _ in range(12)]
    assert codes == [401] * 10 + [429] * 2
    assert browser.get("/now.json", headers=valid).status_code == 200
    assert enter(browser, "ioplan_y") == 429
    assert enter(browser, token_of(desk, "viewer")) == 303


def test_a_program_needs_no_form_token(desk: Desk) -> None:
    program = by_token(desk, "viewer")
    assert program.get("/now.json").json() == {"jobs": []}
    program.headers["Authorization"] = "Basic eDp5"
    assert program.get("/now.json").status_code == 401


def test_no_odd_token_signs_in(desk: Desk) -> None:
    token_of(desk, "admin")
    browser = client(desk)
    for token in ("", " ", "ioplan_", "ä€😀", "' OR 1=1 --", "%", "x" * 9999):
        assert enter(browser, token) == 403, token
