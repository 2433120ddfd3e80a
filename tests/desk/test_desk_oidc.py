"""Signing in by an OpenID Connect provider: what is believed, and all that is not."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from desks import client, desk_in, token_of
from joserfc.jwk import RSAKey
from oidc_provider import CLIENT, SECRET, Provider
from oidc_provider import provider as running
from starlette.testclient import TestClient

from ioplan_lab import Desk, DeskError, Role

SETTINGS = """issuer = "{issuer}"
client_id = "ioplan"
client_secret_file = "{secret}"
[roles]
admin = ["root"]
operator = ["lab"]
viewer = ["guests"]
"""
Claims = dict[str, Any]


@pytest.fixture(scope="module")
def running_provider() -> Iterator[Provider]:
    with running() as made:
        yield made


@pytest.fixture
def known(running_provider: Provider) -> Provider:
    """As if it had just been started."""
    running_provider.reset()
    return running_provider


def settings(folder: Path, known: Provider) -> Path:
    (folder / "secret").write_text(f"{SECRET}\n")
    file = folder / "oidc.toml"
    file.write_text(SETTINGS.format(issuer=known.issuer, secret=folder / "secret"))
    return file


@pytest.fixture
def desk(tmp_path: Path, known: Provider) -> Iterator[Desk]:
    with desk_in(tmp_path, oidc=settings(tmp_path, known)) as made:
        yield made


def begun(browser: TestClient, known: Provider) -> str:
    """Where the provider sends the browser back to."""
    answer = browser.get("/sign-in/oidc")
    assert answer.status_code == 303, answer.text
    assert answer.headers["location"].startswith(f"{known.issuer}/authorize?")
    return known.authorize(answer.headers["location"])


def signs_in(desk: Desk, known: Provider) -> tuple[TestClient, Any]:
    """A new browser, and what it sees at the end."""
    browser = client(desk)
    return browser, browser.get(begun(browser, known))


def refused(desk: Desk, known: Provider, said: str, status: int = 403) -> None:
    """A sign-in that fails, and leaves nothing."""
    browser, answer = signs_in(desk, known)
    assert answer.status_code == status and said in answer.text, answer.text
    assert "ioplan" not in browser.cookies
    assert browser.get("/").status_code == 303
    assert desk.people.everyone() == []


def test_a_person_of_the_provider_signs_in_and_out(desk: Desk, known: Provider) -> None:
    browser = client(desk)
    page = browser.get("/sign-in").text
    assert '<a class="button" href="/sign-in/oidc">' in page
    first = browser.get("/sign-in/oidc")
    assert "samesite=lax" in first.headers["set-cookie"].lower()
    answer = browser.get(known.authorize(first.headers["location"]))
    assert answer.status_code == 200 and "ada is signed in" in answer.text
    cookies = [one.lower() for one in answer.headers.get_list("set-cookie")]
    (own,) = [one for one in cookies if one.startswith("ioplan=")]
    assert "samesite=strict" in own and "httponly" in own
    assert "ada <small>operator</small>" in browser.get("/").text
    (deed, *_) = desk.audit.newest(1)
    assert (deed.person, deed.deed, deed.outcome) == ("ada", "sign in by OIDC", "done")
    assert '<a href="/sign-in/oidc/out">' in client(desk).get("/sign-in").text
    location = client(desk).get("/sign-in/oidc/out").headers["location"]
    assert location == f"{known.issuer}/out?client_id={CLIENT}"


def test_the_role_is_what_the_provider_says_now(desk: Desk, known: Provider) -> None:
    for groups, role in (
        (["guests", "root"], Role.ADMIN),
        (["guests"], Role.VIEWER),
        ("lab", Role.OPERATOR),
    ):
        known.person["groups"] = groups
        assert signs_in(desk, known)[1].status_code == 200
        assert desk.people.person("ada").role == role
    known.person["groups"] = ["others"]
    page = signs_in(desk, known)[1].text
    assert "gives you a role" in page and "sent: others" in page
    assert '<a href="/sign-in">' in page


def changed(**claims: Any) -> Callable[[Claims], Claims]:
    return lambda all_of: all_of | claims


def aged(seconds: int) -> Callable[[Claims], Claims]:
    at = int(time.time()) - seconds
    return changed(iat=at - 300, exp=at)


def without(name: str) -> Callable[[Claims], Claims]:
    return lambda claims: {key: one for key, one in claims.items() if key != name}


IN_AN_HOUR = int(time.time()) + 3600
CLAIMS = [
    changed(iss="https://evil.example"),
    changed(aud="another"),
    changed(aud=["another", "third"]),
    changed(aud=[CLIENT, "another"]),
    changed(aud=[CLIENT, "another"], azp="another"),
    changed(azp="another"),
    changed(nonce="of another sign-in"),
    changed(preferred_username=7),
    changed(sub=""),
    changed(nbf=IN_AN_HOUR),
    changed(iat=IN_AN_HOUR),
    aged(3600),
    aged(90),
    *map(without, ("iss", "aud", "exp", "iat", "nonce", "sub", "groups")),
    changed(groups=[]),
    changed(groups=None),
]
SIGNATURES = ("unsigned", "by_public_key", "by_another_key", "tampered")


def test_claims_that_prove_nothing(desk: Desk, known: Provider) -> None:
    for change in CLAIMS:
        known.change = change
        refused(desk, known, "")


def test_signatures_and_texts_that_prove_nothing(desk: Desk, known: Provider) -> None:
    for how in SIGNATURES:
        known.sign = getattr(known, how)
        refused(desk, known, "the ID token is not valid")
    for token in ("", "x", "a.b.c", "....", None, 7):
        known.sign = lambda _, token=token: token  # type: ignore[misc]
        refused(desk, known, "ID token")


def test_a_token_just_over_is_taken_for_clocks_differ(
    desk: Desk, known: Provider
) -> None:
    known.change = aged(20)
    assert signs_in(desk, known)[1].status_code == 200


def test_a_sign_in_is_of_its_browser_and_its_code_and_ends_once(
    desk: Desk, known: Provider
) -> None:
    """Who is sent a link to somebody's code is not signed in as that one."""
    address, victim = begun(client(desk), known), client(desk)
    assert victim.get(address).status_code == 403
    state = begun(victim, known).partition("state=")[2]
    answer = victim.get(address)
    assert answer.status_code == 403 and "was not begun here" in answer.text
    assert desk.people.everyone() == []
    code = begun(client(desk), known).partition("code=")[2].partition("&")[0]
    state = begun(victim, known).partition("state=")[2]
    answer = victim.get(f"/sign-in/oidc/done?code={code}&state={state}")
    assert answer.status_code == 400 and "invalid_grant" in answer.text
    browser = client(desk)
    address, cookies = begun(browser, known), dict(browser.cookies)
    assert browser.get(address).status_code == 200
    again = client(desk)
    again.cookies.update(cookies)
    assert again.get(address).status_code == 403


def test_a_name_is_one_persons(desk: Desk, known: Provider) -> None:
    token_of(desk, "admin")
    known.person["preferred_username"] = "admin"
    answer = signs_in(desk, known)[1]
    assert answer.status_code == 403 and "another person" in answer.text
    assert desk.people.person("admin").role == Role.ADMIN
    known.person["preferred_username"] = "ada"
    browser, answer = signs_in(desk, known)
    assert answer.status_code == 200
    known.person["sub"] = "s-2"
    assert signs_in(desk, known)[1].status_code == 403
    known.person |= {"sub": "s-1", "preferred_username": "renamed"}
    assert "ada is signed in" in signs_in(desk, known)[1].text
    assert [one.name for one in desk.people.everyone()] == ["ada", "admin"]
    desk.people.remove("ada")
    assert browser.get("/").status_code == 303
    desk.people.add("ada", Role.ADMIN)
    known.person["preferred_username"] = "ada"
    assert signs_in(desk, known)[1].status_code == 403, "removed, without any claim"
    assert desk.people.person("ada").role == Role.ADMIN


@pytest.mark.parametrize("name", ["", "a b", "<script>", "../x", "x" * 65])
def test_a_name_is_a_name(desk: Desk, known: Provider, name: str) -> None:
    known.person["preferred_username"] = name
    refused(desk, known, "no valid name", status=400)


def test_new_keys_are_asked_for_and_others_do_no_harm(
    desk: Desk, known: Provider
) -> None:
    """A provider may have keys for encryption, and of kinds to come (RFC 7517, 5)."""
    encryption = {"kid": "enc", "use": "enc", "alg": "RSA-OAEP"}
    known.other_keys = [
        {"kty": "AKP", "alg": "ML-DSA-65", "kid": "new", "pub": "AA"},
        RSAKey.generate_key(2048, encryption).as_dict(private=False),
    ]
    assert signs_in(desk, known)[1].status_code == 200
    known.key = RSAKey.generate_key(2048, {"kid": "two", "use": "sig"})
    assert signs_in(desk, known)[1].status_code == 200
    assert known.asked.count("/keys") == 2


def test_a_provider_that_refuses_is_another_one_or_away(
    desk: Desk, known: Provider, tmp_path: Path
) -> None:
    browser = client(desk)
    for words, said in (("error=access_denied&", "access_denied"), ("", "")):
        state = begun(browser, known).partition("state=")[2]
        answer = browser.get(f"/sign-in/oidc/done?{words}state={state}")
        assert answer.status_code == 403 and said in answer.text
    (tmp_path / "secret").write_text("wrong")
    refused(desk, known, "401 invalid_client", status=400)
    (tmp_path / "secret").unlink()
    refused(desk, known, "secret", status=400)
    known.named = "https://evil.example"
    with desk_in(tmp_path / "2", oidc=settings(tmp_path, known)) as other:
        answer = client(other).get("/sign-in/oidc")
    assert answer.status_code == 400 and "calls itself" in answer.text
    away = tmp_path / "away.toml"
    away.write_text(SETTINGS.format(issuer="http://127.0.0.1:9", secret="x"))
    with desk_in(tmp_path / "3", oidc=away) as other:
        answer = client(other).get("/sign-in/oidc")
    assert answer.status_code == 400 and "does not answer" in answer.text


def test_who_guesses_too_often_waits(desk: Desk) -> None:
    browser = client(desk)
    said = [browser.get("/sign-in/oidc/done?state=x").text for _ in range(12)]
    assert "was not begun here" in said[0] and "wait a minute" in said[-1]


LOGIN = 'issuer = "https://login.example"'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "issuer"),
        (f'{LOGIN.replace("s:", ":")}\nclient_id = "x"\n[roles]\nadmin = ["a"]',
         "not an https address"),
        (f'{LOGIN}\nclient_id = "x"\n[roles]', "gives a role"),
        (f'{LOGIN}\nclient_id = "x"\n[roles]\nroot = ["a"]', "roles"),
        (f'{LOGIN}\nsecret = "x"', "client_id"),
        ("x =", "Invalid value"),
    ],
)  # fmt: skip
def test_settings_that_cannot_be(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "oidc.toml"
    file.write_text(text)
    with pytest.raises(DeskError, match=said), desk_in(tmp_path, oidc=file):
        pass


def test_a_desk_without_a_provider(tmp_path: Path) -> None:
    with desk_in(tmp_path) as made:
        browser = client(made)
        assert "/sign-in/oidc" not in browser.get("/sign-in").text
        assert browser.get("/sign-in/oidc").status_code == 404
        assert browser.get("/sign-in/oidc/done?state=x").status_code == 403
