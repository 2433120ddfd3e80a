"""People of the desk, their tokens, and the browsers that they are signed in with."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from datetime import timedelta

from msgspec import Struct

from ioplan.core import did_you_mean
from ioplan.results.store import KeyViolation
from ioplan_lab.desk.database import DeskDatabase, stamp
from ioplan_lab.desk.errors import DeskError, Missing
from ioplan_lab.desk.people.role import Role
from ioplan_lab.desk.queue.tables import insert
from ioplan_lab.desk.table import table

# Secrets that people and browsers hold; only their digests are kept.
#
# They are random, of 256 bits: nobody finds one from its SHA-256 by trying, so that
# no slow hash is needed, as one would be for passwords that people choose.

PREFIX = "ioplan_"
"""By which scanners of repositories find a token that was committed."""


def new_token() -> str:
    """A person's, such as ioplan_3q2-…: 43 characters of base64 behind the prefix."""
    return f"{PREFIX}{secrets.token_urlsafe(32)}"


def new_cookie() -> str:
    """A browser's."""
    return secrets.token_urlsafe(32)


def digest_of(secret: str) -> str:
    """What is kept of it."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()


def form_token(cookie: str) -> str:
    """What a form has to repeat: only who reads the cookie's pages knows it."""
    key = cookie.encode("utf-8", "replace")
    return hmac.new(key, b"ioplan desk form", hashlib.sha256).hexdigest()


def is_same(one: str, other: str) -> bool:
    """In a time that does not tell where they differ."""
    return hmac.compare_digest(
        one.encode("utf-8", "replace"), other.encode("utf-8", "replace")
    )


TABLES = {
    **table("desk_person", "name role added_at", "name"),
    **table("desk_token", "digest person made_at expires_at?", "digest"),
    **table("desk_browser", "digest token expires_at", "digest"),
    # whom an OIDC provider calls what; see `provided.py`
    **table("desk_provided", "issuer subject person", "issuer subject"),
}
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.@-]{0,63}")
SIGNED_IN = timedelta(hours=12)
"""How long a browser stays signed in."""


class Person(Struct, frozen=True):
    """Who is at the desk."""

    name: str
    role: Role

    def may(self, needed: Role) -> bool:
        """Whether this person's role is enough."""
        return self.role.may(needed)


class Listed(Struct, frozen=True):
    """A person as `ioplan lab people list` shows one; times are UTC, ISO 8601.

    `expires_at` is of the token that is valid longest, empty where that has no end,
    and None where no token is valid.
    """

    name: str
    role: Role
    added_at: str
    tokens: int
    expires_at: str | None


class People:
    """The people of a desk. Every method may raise StoreError."""

    def __init__(self, database: DeskDatabase) -> None:
        self.database = database

    # ---- who there is

    def add(self, name: str, role: Role, valid: timedelta | None = None) -> str:
        """Add a person; returns the token, which is kept nowhere. Raises DeskError."""
        if not NAME.fullmatch(name):
            raise DeskError(
                f"{name!r} is not a valid name: a name has letters, digits, '.', '_', "
                "'@' and '-', at most 64, and begins with a letter or a digit"
            )
        row = {"name": name, "role": str(role), "added_at": stamp()}
        try:
            with self.database.writing() as connection:
                insert(connection, "desk_person", row)
        except KeyViolation:
            raise DeskError(
                f"there is a {name!r} already; for another token: ioplan lab people "
                f"token {name}"
            ) from None
        return self.new_token(name, valid)

    def new_token(self, name: str, valid: timedelta | None = None) -> str:
        """One more token for a person. Raises Missing."""
        self.person(name)
        token = new_token()
        row = {
            "digest": digest_of(token),
            "person": name,
            "made_at": stamp(),
            "expires_at": stamp(valid) if valid else None,
        }
        with self.database.writing() as connection:
            insert(connection, "desk_token", row)
        return token

    def remove(self, name: str) -> None:
        """A person, with all tokens and browsers. Raises Missing."""
        self.person(name)
        with self.database.writing() as connection:
            for statement in (DROP_BROWSERS, DROP_TOKENS, DROP_PROVIDED, DROP_PERSON):
                connection.change(statement, {"name": name})

    def revoke(self, name: str) -> None:
        """All tokens of a person, and the browsers signed in. Raises Missing."""
        self.person(name)
        with self.database.writing() as connection:
            for statement in (DROP_BROWSERS, DROP_TOKENS):
                connection.change(statement, {"name": name})

    def person(self, name: str) -> Person:
        """By the whole name. Raises Missing."""
        everyone = self.everyone()
        for one in everyone:
            if one.name == name:
                return Person(one.name, one.role)
        near = did_you_mean(name, [one.name for one in everyone])
        raise Missing(f"there is no person {name!r}{near}")

    def everyone(self) -> list[Listed]:
        """All of them, by name."""
        with self.database.reading() as connection:
            rows = connection.rows(EVERYONE, now=stamp())
        return [
            Listed(
                row["name"],
                Role(row["role"]),
                row["added_at"],
                row["tokens"],
                ("" if row["endless"] else row["expires_at"])
                if row["tokens"]
                else None,
            )
            for row in rows
        ]

    # ---- who is asking

    def by_token(self, token: str) -> Person | None:
        """Whose token it is, if it is one and still holds."""
        digest = digest_of(token)
        with self.database.reading() as connection:
            rows = connection.rows(BY_TOKEN, digest=digest, now=stamp())
        found = [row for row in rows if is_same(row["digest"], digest)]
        return Person(found[0]["name"], Role(found[0]["role"])) if found else None

    def sign_in(self, token: str) -> str | None:
        """A cookie for who has this token; None for a token that is none."""
        if self.by_token(token) is None:
            return None
        cookie = new_cookie()
        row = {
            "digest": digest_of(cookie),
            "token": digest_of(token),
            "expires_at": stamp(SIGNED_IN),
        }
        with self.database.writing() as connection:
            connection.change(FORGET, {"now": stamp()})
            insert(connection, "desk_browser", row)
        return cookie

    def by_cookie(self, cookie: str) -> Person | None:
        """Who is signed in with it; its token must still hold, too."""
        digest = digest_of(cookie)
        with self.database.reading() as connection:
            rows = connection.rows(BY_COOKIE, digest=digest, now=stamp())
        found = [row for row in rows if is_same(row["digest"], digest)]
        return Person(found[0]["name"], Role(found[0]["role"])) if found else None

    def sign_out(self, cookie: str) -> None:
        """Forget a browser."""
        with self.database.writing() as connection:
            connection.change(DROP_BROWSER, {"digest": digest_of(cookie)})


DROP_PERSON = "DELETE FROM desk_person WHERE name = :name"
DROP_PROVIDED = "DELETE FROM desk_provided WHERE person = :name"
DROP_TOKENS = "DELETE FROM desk_token WHERE person = :name"
DROP_BROWSERS = """
    DELETE FROM desk_browser
    WHERE token IN (SELECT digest FROM desk_token WHERE person = :name)"""
DROP_BROWSER = "DELETE FROM desk_browser WHERE digest = :digest"
FORGET = "DELETE FROM desk_browser WHERE expires_at <= :now"
HOLDS = "(token.expires_at IS NULL OR token.expires_at > :now)"
EVERYONE = f"""
    SELECT person.name, person.role, person.added_at,
           count(token.digest) AS tokens, max(token.expires_at) AS expires_at,
           count(token.digest) - count(token.expires_at) AS endless
    FROM desk_person AS person
    LEFT JOIN desk_token AS token ON token.person = person.name AND {HOLDS}
    GROUP BY person.name, person.role, person.added_at
    ORDER BY person.name"""
BY_TOKEN = f"""
    SELECT token.digest, person.name, person.role
    FROM desk_token AS token JOIN desk_person AS person ON person.name = token.person
    WHERE token.digest = :digest AND {HOLDS}"""
BY_COOKIE = f"""
    SELECT browser.digest, person.name, person.role
    FROM desk_browser AS browser
    JOIN desk_token AS token ON token.digest = browser.token
    JOIN desk_person AS person ON person.name = token.person
    WHERE browser.digest = :digest AND browser.expires_at > :now AND {HOLDS}"""
