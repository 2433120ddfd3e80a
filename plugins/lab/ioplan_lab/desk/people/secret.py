"""Secrets that people and browsers hold; only their digests are kept.

They are random, of 256 bits: nobody finds one from its SHA-256 by trying, so that no
slow hash is needed, as one would be for passwords that people choose.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets

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
