"""What is done to the desk by who means harm, and comes to nothing."""

from __future__ import annotations

import pytest
from desks import by_token, client, form_token, signed_in

from ioplan.results.store import StoreError
from ioplan_lab import Desk
from ioplan_lab.desk.web.limits import MOST_BYTES

EVERY = ("/sign-in", "/", "/no-such", "/people")


@pytest.mark.parametrize("path", EVERY)
def test_every_answer_says_what_to_refuse(desk: Desk, path: str) -> None:
    headers = signed_in(desk, "viewer").get(path).headers
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
        assert (
            "<style" not in text
            and "style=" not in text
            and " on" + "click" not in text
        )
        assert text.count("<script") == text.count('<script src="/static/')


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "",
        "localhost@evil.example",
        "[::1",
        "[::1]evil",
        "[::1]evil:8780",
        "[::1].evil.example",
        "[::1]:8780evil",
        "[::1]:8780:1",
        "[localhost]",
        "localhost:evil",
        "127.0.0.1:8780@evil.example",
        "1",
    ],
)
def test_another_name_is_not_answered(desk: Desk, host: str) -> None:
    assert client(desk).get("/sign-in", headers={"Host": host}).status_code == 421


@pytest.mark.parametrize(
    "host", ["localhost:8780", "127.0.0.1", "[::1]:8780", "[::1]", "10.0.0.1:1"]
)
def test_its_own_names_are(desk: Desk, host: str) -> None:
    assert client(desk).get("/sign-in", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "path",
    [
        "/static/0/../../people/people.py",
        "/static/0/..%2f..%2fpeople%2fpeople.py",
        "/static/0/%2e%2e/app.py",
        "/static/../../../../etc/passwd",
        "/static/0/app.py",
        "/static/0/desk.css%00.py",
        "//etc/passwd",
    ],
)
def test_no_path_leads_out(desk: Desk, path: str) -> None:
    browser = signed_in(desk, "admin")
    assert browser.get(path).status_code == 404


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


@pytest.mark.parametrize("body", [b"\xff=\xfe", b"&&&", b"form_token"])
def test_what_is_no_form_is_an_error_not_a_defect(desk: Desk, body: bytes) -> None:
    kind = {"Content-Type": "application/x-www-form-urlencoded"}
    found = signed_in(desk, "viewer").post("/sign-out", content=body, headers=kind)
    assert found.status_code in (400, 403)


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


def test_the_sign_in_form_has_a_token_of_its_own_visit(desk: Desk) -> None:
    one, other = client(desk), client(desk)
    assert form_token(one.get("/sign-in").text) != form_token(
        other.get("/sign-in").text
    )


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
