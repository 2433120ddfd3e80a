"""Signing in by an OpenID Connect provider: what is believed, and all that is not."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from desks import client, desk_in, token_of
from joserfc.jwk import RSAKey
from msgspec.structs import replace
from oidc_provider import CLIENT, SECRET
from oidc_provider import Provider as Remote
from oidc_provider import provider as remote
from starlette.testclient import TestClient

from ioplan_lab import Desk, DeskError, Role
from ioplan_lab.desk.people.oidc import Provider, read_settings

SETTINGS = """issuer = "{issuer}"
client_id = "ioplan"
client_secret_file = "{secret}"
[roles]
admin = ["root"]
operator = ["lab"]
viewer = ["guests"]
"""
Claims = dict[str, Any]


@pytest.fixture
def known() -> Iterator[Remote]:
    with remote() as made:
        yield made


@pytest.fixture
def desk(tmp_path: Path, known: Remote) -> Iterator[Desk]:
    secret, file = tmp_path / "secret", tmp_path / "oidc.toml"
    secret.write_text(f"{SECRET}\n")
    file.write_text(SETTINGS.format(issuer=known.issuer, secret=secret))
    with desk_in(tmp_path) as made:
        yield replace(made, oidc=Provider(read_settings(file)))


def begun(browser: TestClient, known: Remote) -> str:
    """Where the provider sends the browser back to."""
    answer = browser.get("/sign-in/oidc")
    assert answer.status_code == 303, answer.text
    assert answer.headers["location"].startswith(f"{known.issuer}/authorize?")
    return known.authorize(answer.headers["location"])


def refused(desk: Desk, known: Remote, said: str, status: int = 403) -> None:
    """A sign-in that fails, and leaves nothing."""
    browser = client(desk)
    answer = browser.get(begun(browser, known))
    assert answer.status_code == status and said in answer.text, answer.text
    assert "ioplan" not in browser.cookies
    assert browser.get("/").status_code == 303
    assert desk.people.everyone() == []


def test_a_person_of_the_provider_signs_in(desk: Desk, known: Remote) -> None:
    browser = client(desk)
    assert '<a class="button" href="/sign-in/oidc">' in browser.get("/sign-in").text
    answer = browser.get(begun(browser, known))
    assert answer.status_code == 200 and "ada is signed in" in answer.text
    page = browser.get("/")
    assert page.status_code == 200 and "ada <small>operator</small>" in page.text
    assert desk.people.person("ada").role == Role.OPERATOR
    (deed, *_) = desk.audit.newest(1)
    assert (deed.person, deed.deed, deed.outcome) == ("ada", "sign in by OIDC", "done")


def test_the_cookies_are_for_this_site_alone(desk: Desk, known: Remote) -> None:
    browser = client(desk)
    first = browser.get("/sign-in/oidc")
    assert "samesite=lax" in first.headers["set-cookie"].lower()
    answer = browser.get(known.authorize(first.headers["location"]))
    cookies = [one.lower() for one in answer.headers.get_list("set-cookie")]
    (own,) = [one for one in cookies if one.startswith("ioplan=")]
    assert "samesite=strict" in own and "httponly" in own


def test_the_role_is_what_the_provider_says_now(desk: Desk, known: Remote) -> None:
    for groups, role in (
        (["guests", "root"], Role.ADMIN),
        (["guests"], Role.VIEWER),
        ("lab", Role.OPERATOR),
    ):
        known.person["groups"] = groups
        browser = client(desk)
        assert browser.get(begun(browser, known)).status_code == 200
        assert desk.people.person("ada").role == role
    known.person["groups"] = ["others"]
    browser = client(desk)
    page = browser.get(begun(browser, known)).text
    assert "gives you a role" in page and "sent: others" in page
    assert '<a href="/sign-in">' in page


def aged(seconds: int) -> Callable[[Claims], Claims]:
    at = int(time.time()) - seconds
    return lambda claims: claims | {"iat": at - 300, "exp": at}


@pytest.mark.long_but_first
@pytest.mark.parametrize(
    "change",
    [
        lambda claims: claims | {"iss": "https://evil.example"},
        lambda claims: claims | {"aud": "another"},
        lambda claims: claims | {"aud": ["another", "third"]},
        lambda claims: claims | {"aud": [CLIENT, "another"]},
        lambda claims: claims | {"aud": [CLIENT, "another"], "azp": "another"},
        lambda claims: claims | {"azp": "another"},
        lambda claims: claims | {"nonce": "of another sign-in"},
        lambda claims: claims | {"preferred_username": 7},
        lambda claims: claims | {"sub": ""},
        lambda claims: claims | {"nbf": int(time.time()) + 3600},
        lambda claims: claims | {"iat": int(time.time()) + 3600},
        aged(3600),
        aged(90),
        *(
            lambda claims, name=name: {k: v for k, v in claims.items() if k != name}
            for name in ("iss", "aud", "exp", "iat", "nonce", "sub", "groups")
        ),
        lambda claims: claims | {"groups": []},
        lambda claims: claims | {"groups": {"root": True, "lab": 1}} | {"groups": None},
    ],
)
def test_claims_that_prove_nothing(
    desk: Desk, known: Remote, change: Callable[[Claims], Claims]
) -> None:
    known.change = change
    refused(desk, known, "")


@pytest.mark.parametrize(
    "how", ["unsigned", "by_public_key", "by_another_key", "tampered"]
)
def test_signatures_that_prove_nothing(desk: Desk, known: Remote, how: str) -> None:
    known.sign = getattr(known, how)
    refused(desk, known, "the ID token is not valid")


@pytest.mark.parametrize("token", ["", "x", "a.b.c", "....", None, 7])
def test_what_is_no_token(desk: Desk, known: Remote, token: Any) -> None:
    known.sign = lambda _: token
    refused(desk, known, "ID token")


def test_a_token_just_over_is_taken_for_clocks_differ(
    desk: Desk, known: Remote
) -> None:
    known.change = aged(20)
    browser = client(desk)
    assert browser.get(begun(browser, known)).status_code == 200


def test_another_browser_cannot_end_it(desk: Desk, known: Remote) -> None:
    """Who is sent a link to somebody's code is not signed in as that one."""
    address = begun(client(desk), known)
    victim = client(desk)
    assert victim.get(address).status_code == 403
    begun(victim, known)
    answer = victim.get(address)
    assert answer.status_code == 403 and "was not begun here" in answer.text
    assert desk.people.everyone() == []


def test_it_is_ended_once(desk: Desk, known: Remote) -> None:
    browser = client(desk)
    address = begun(browser, known)
    sent = dict(browser.cookies)
    assert browser.get(address).status_code == 200
    again = client(desk)
    again.cookies.update(sent)
    assert again.get(address).status_code == 403


def test_the_code_is_of_the_verifier_alone(desk: Desk, known: Remote) -> None:
    """A code of another sign-in: the provider sees that the verifier is not its."""
    browser, other = client(desk), client(desk)
    code = begun(other, known).partition("code=")[2].partition("&")[0]
    state = begun(browser, known).partition("state=")[2]
    answer = browser.get(f"/sign-in/oidc/done?code={code}&state={state}")
    assert answer.status_code == 400 and "invalid_grant" in answer.text


def test_what_the_provider_refuses_is_said(desk: Desk, known: Remote) -> None:
    browser = client(desk)
    state = begun(browser, known).partition("state=")[2]
    answer = browser.get(f"/sign-in/oidc/done?error=access_denied&state={state}")
    assert answer.status_code == 403 and "access_denied" in answer.text
    state = begun(browser, known).partition("state=")[2]
    assert browser.get(f"/sign-in/oidc/done?state={state}").status_code == 403


def test_a_name_is_one_persons(desk: Desk, known: Remote) -> None:
    token_of(desk, "admin")
    known.person["preferred_username"] = "admin"
    browser = client(desk)
    answer = browser.get(begun(browser, known))
    assert answer.status_code == 403 and "another person" in answer.text
    assert desk.people.person("admin").role == Role.ADMIN
    known.person["preferred_username"] = "ada"
    assert browser.get(begun(browser, known)).status_code == 200
    known.person["sub"] = "s-2"
    answer = client(desk).get("/sign-in")
    second = client(desk)
    assert second.get(begun(second, known)).status_code == 403
    known.person |= {"sub": "s-1", "preferred_username": "renamed"}
    assert "ada is signed in" in browser.get(begun(browser, known)).text
    assert [one.name for one in desk.people.everyone()] == ["ada", "admin"]


def test_who_was_removed_has_no_claim_to_the_name(desk: Desk, known: Remote) -> None:
    browser = client(desk)
    assert browser.get(begun(browser, known)).status_code == 200
    desk.people.remove("ada")
    assert browser.get("/").status_code == 303
    desk.people.add("ada", Role.ADMIN)
    assert browser.get(begun(browser, known)).status_code == 403
    assert desk.people.person("ada").role == Role.ADMIN


@pytest.mark.parametrize("name", ["", "a b", "<script>", "../x", "x" * 65])
def test_a_name_is_a_name(desk: Desk, known: Remote, name: str) -> None:
    known.person["preferred_username"] = name
    refused(desk, known, "no valid name", status=400)


def test_new_keys_of_the_provider_are_asked_for(desk: Desk, known: Remote) -> None:
    browser = client(desk)
    assert browser.get(begun(browser, known)).status_code == 200
    known.key = RSAKey.generate_key(2048, {"kid": "two", "use": "sig"})
    assert browser.get(begun(browser, known)).status_code == 200
    assert known.asked.count("/keys") == 2


def test_keys_for_something_else_do_no_harm(desk: Desk, known: Remote) -> None:
    """A provider may have keys for encryption, and of kinds to come (RFC 7517, 5)."""
    known.other_keys = [
        {"kty": "AKP", "alg": "ML-DSA-65", "kid": "new", "pub": "AA"},
        RSAKey.generate_key(
            2048, {"kid": "enc", "use": "enc", "alg": "RSA-OAEP"}
        ).as_dict(private=False),
    ]
    browser = client(desk)
    assert browser.get(begun(browser, known)).status_code == 200


def test_the_provider_is_told_to_forget_the_browser(desk: Desk, known: Remote) -> None:
    browser = client(desk)
    assert '<a href="/sign-in/oidc/out">' in browser.get("/sign-in").text
    answer = browser.get("/sign-in/oidc/out")
    assert answer.status_code == 303
    assert answer.headers["location"] == f"{known.issuer}/out?client_id={CLIENT}"


def test_a_provider_that_calls_itself_another(desk: Desk, known: Remote) -> None:
    known.named = "https://evil.example"
    answer = client(desk).get("/sign-in/oidc")
    assert answer.status_code == 400 and "calls itself" in answer.text


def test_a_wrong_secret_and_a_provider_that_is_away(
    desk: Desk, known: Remote, tmp_path: Path
) -> None:
    (tmp_path / "secret").write_text("wrong")
    refused(desk, known, "401 invalid_client", status=400)
    (tmp_path / "secret").unlink()
    refused(desk, known, "secret", status=400)
    known.issuer = "http://127.0.0.1:9"
    answer = client(
        replace(
            desk,
            oidc=Provider(
                desk.oidc.settings.model_copy(update={"issuer": known.issuer})
            ),
        )
    ).get("/sign-in/oidc")  # type: ignore[union-attr]
    assert answer.status_code == 400 and "does not answer" in answer.text


def test_who_guesses_too_often_waits(desk: Desk) -> None:
    browser = client(desk)
    said = [browser.get("/sign-in/oidc/done?state=x").text for _ in range(12)]
    assert "was not begun here" in said[0] and "wait a minute" in said[-1]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "issuer"),
        ('issuer = "http://login.example"\nclient_id = "x"\n[roles]\nadmin = ["a"]',
         "not an https address"),
        ('issuer = "https://login.example"\nclient_id = "x"\n[roles]', "gives a role"),
        ('issuer = "https://login.example"\nclient_id = "x"\n[roles]\nroot = ["a"]',
         "roles"),
        ('issuer = "https://login.example"\nsecret = "x"', "client_id"),
        ("x =", "Invalid value"),
    ],
)  # fmt: skip
def test_settings_that_cannot_be(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "oidc.toml"
    file.write_text(text)
    with pytest.raises(DeskError, match=said):
        read_settings(file)


def test_a_desk_without_a_provider(tmp_path: Path) -> None:
    with desk_in(tmp_path) as made:
        browser = client(made)
        assert "/sign-in/oidc" not in browser.get("/sign-in").text
        assert browser.get("/sign-in/oidc").status_code == 404
        assert browser.get("/sign-in/oidc/done?state=x").status_code == 403
