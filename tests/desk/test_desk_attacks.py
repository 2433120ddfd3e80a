"""What is done to the desk by who means harm, and comes to nothing."""

from __future__ import annotations

import pytest
from desks import by_token, client, signed_in

from ioplan.results.store import StoreError
from ioplan_lab import Desk

MOST_BYTES = 1 << 20

EVERY = ("/sign-in", "/", "/no-such", "/people")


def test_every_answer_says_what_to_refuse(desk: Desk) -> None:
    browser = signed_in(desk, "viewer")
    for path in EVERY:
        headers = browser.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy and "form-action 'self'" in policy
        assert headers["x-frame-options"] == "DENY"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "same-origin"
        assert headers["cache-control"] == "no-store"
        assert "server" not in headers


def test_pages_have_neither_scripts_nor_styles_in_them(desk: Desk) -> None:
    browser = signed_in(desk, "admin")
    for path in ("/", "/people"):
        text = browser.get(path).text
        assert not any(one in text for one in ("<style", "style=", " onclick"))
        assert text.count("<script") == text.count('<script src="/static/')


OTHER_NAMES = (
    *("evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "", "1"),
    *("localhost@evil.example", "127.0.0.1:8780@evil.example", "localhost:evil"),
    *("[::1", "[::1]evil", "[::1]evil:8780", "[::1].evil.example", "[::1]:8780evil"),
    *("[::1]:8780:1", "[localhost]"),
)
OWN_NAMES = ("localhost:8780", "127.0.0.1", "[::1]:8780", "[::1]", "10.0.0.1:1")


def test_only_its_own_names_are_answered(desk: Desk) -> None:
    browser = client(desk)
    for host in (*OTHER_NAMES, *OWN_NAMES):
        answer = browser.get("/sign-in", headers={"Host": host})
        assert answer.status_code == (200 if host in OWN_NAMES else 421), host


PATHS = (
    *("/static/0/../../people/people.py", "/static/0/..%2f..%2fpeople%2fpeople.py"),
    *("/static/0/%2e%2e/app.py", "/static/../../../../etc/passwd", "//etc/passwd"),
    *("/static/0/app.py", "/static/0/desk.css%00.py"),
)


def test_no_path_leads_out(desk: Desk) -> None:
    browser = signed_in(desk, "admin")
    assert [browser.get(path).status_code for path in PATHS] == [404] * len(PATHS)


def test_large_bodies_are_refused_told_or_not(desk: Desk) -> None:
    browser = signed_in(desk, "admin")
    large = b"x=" + b"y" * MOST_BYTES
    kind = {"Content-Type": "application/x-www-form-urlencoded"}
    assert browser.post("/sign-out", content=large, headers=kind).status_code == 413
    parts = iter([large[:1000]] * (MOST_BYTES // 1000 + 2))
    assert browser.post("/sign-out", content=parts, headers=kind).status_code == 413
    many = "&".join(f"a{at}=1" for at in range(1000))
    assert browser.post("/sign-out", content=many, headers=kind).status_code == 400
    for body, sent in ((b"{}", "application/json"), (b"a", "multipart/form-data")):
        found = browser.post("/sign-out", content=body, headers={"Content-Type": sent})
        assert found.status_code == 403
    for body in (b"\xff=\xfe", b"&&&", b"form_token"):
        found = browser.post("/sign-out", content=body, headers=kind)
        assert found.status_code in (400, 403), "no form is an error, not a defect"


@pytest.mark.long
def test_too_many_requests_are_told_to_wait(desk: Desk) -> None:
    browser = client(desk)
    codes = [browser.get("/static/0/desk.js").status_code for _ in range(601)]
    assert codes == [200] * 600 + [429]


def test_names_of_others_are_text(desk: Desk) -> None:
    """Who signs in cannot choose a name; the log takes what an address says."""
    desk.audit.add("<script>alert(1)</script>", '"><img src=x>', "a\x1b[2Jb", "x" * 999)
    text = signed_in(desk, "admin").get("/people").text
    assert "<script>alert" not in text and "<img" not in text and "\x1b" not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text


def test_headers_cannot_be_written_into(desk: Desk) -> None:
    browser = signed_in(desk, "viewer")
    found = browser.get(
        "/sign-in", params={"next": "//evil.example\r\nSet-Cookie: a=b"}
    )
    assert found.status_code == 303 and found.headers["location"] == "/"
    assert "set-cookie" not in found.headers


def test_a_defect_shows_nothing_of_itself(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_: object) -> None:
        raise ValueError("secret-detail")

    monkeypatch.setattr(type(desk.running), "now", fails)
    found = by_token(desk, "viewer").get("/")
    assert found.status_code == 500 and "secret-detail" not in found.text
    assert found.headers["x-frame-options"] == "DENY"


def test_a_database_that_is_away_is_said_without_its_words(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    browser = signed_in(desk, "viewer")

    def away(*_: object) -> None:
        raise StoreError("postgresql://secret-host does not answer")

    monkeypatch.setattr("ioplan_lab.desk.people.people.People.by_cookie", away)
    found = browser.get("/")
    assert found.status_code == 503 and "secret-host" not in found.text
    assert found.headers["x-frame-options"] == "DENY"
