"""People of an OpenID Connect provider: the authorization code flow with PKCE.

What the provider says of a person is believed only of an ID token with its signature,
for this desk, for this sign-in, and not expired (OpenID Connect Core 1.0, 3.1.3.7).
"""

from __future__ import annotations

import json
import time
import tomllib
from base64 import urlsafe_b64encode
from hashlib import sha256
from pathlib import Path
from secrets import token_urlsafe
from threading import Lock
from typing import Any
from urllib.parse import quote_plus, urlencode, urlsplit

import urllib3
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet
from msgspec import Struct
from pydantic import ValidationError

from ioplan.core import Model
from ioplan_lab.desk.errors import DeskError, Refused
from ioplan_lab.desk.people.role import Role

ALGORITHMS = ["RS256", "PS256", "ES256", "ES384", "EdDSA", "Ed25519"]
"""Signatures by a key of the provider's: neither `none` nor by a shared secret."""
LEEWAY_S, KEYS_S, TIMEOUT_S = 60, 3600.0, 10.0
MOST_BYTES = 1 << 20
MOST_TOLD = 5
LOOPBACK = ("localhost", "127.0.0.1", "::1")


class ProviderSettings(Model):
    """The file of `ioplan lab serve --oidc`."""

    issuer: str
    client_id: str
    client_secret_file: Path | None = None
    scopes: tuple[str, ...] = ("openid", "profile", "email")
    name_claim: str = "preferred_username"
    role_claim: str = "groups"
    roles: dict[Role, tuple[str, ...]]
    """By role the values of the claim that give it; the highest counts."""


class SignIn(Struct, frozen=True):
    """One that has begun: what only this browser and the provider know."""

    state: str
    nonce: str
    verifier: str
    back: str


class Known(Struct, frozen=True):
    """Who the provider says it is."""

    issuer: str
    subject: str
    name: str
    role: Role


def read_settings(file: Path) -> ProviderSettings:
    """Raises DeskError."""
    try:
        found = ProviderSettings.model_validate(tomllib.loads(file.read_text()))
    except (OSError, ValueError) as error:
        raise DeskError(f"--oidc: {file}: {_reason(error)}") from None
    _check_address(found.issuer, "issuer")
    if not any(found.roles.values()):
        raise DeskError(f"--oidc: {file}: no value of {found.role_claim} gives a role")
    return found


def _reason(error: Exception) -> str:
    if not isinstance(error, ValidationError):
        return str(error)
    first = error.errors()[0]
    return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"


def _check_address(address: str, what: str) -> str:
    """Only by TLS, but to this host itself. Raises DeskError."""
    parts = urlsplit(address)
    if parts.scheme == "https" and parts.hostname:
        return address
    if parts.scheme == "http" and parts.hostname in LOOPBACK:
        return address
    raise DeskError(f"the OIDC provider's {what} is not an https address: {address!r}")


class Provider:
    """A provider; methods block, and raise DeskError where it cannot be used."""

    def __init__(self, settings: ProviderSettings) -> None:
        self.settings = settings
        self._http = urllib3.PoolManager(
            timeout=TIMEOUT_S, retries=urllib3.Retry(0, redirect=False)
        )
        self._lock = Lock()
        self._found: dict[str, Any] = {}
        self._keys: tuple[float, KeySet] | None = None

    def begin(self, back: str) -> tuple[SignIn, str]:
        """A sign-in, and where the browser goes; `back` is the desk's own address."""
        one = SignIn(token_urlsafe(32), token_urlsafe(32), token_urlsafe(48), back)
        challenge = urlsafe_b64encode(sha256(one.verifier.encode()).digest())
        query = {
            "response_type": "code",
            "client_id": self.settings.client_id,
            "redirect_uri": back,
            "scope": " ".join(self.settings.scopes),
            "state": one.state,
            "nonce": one.nonce,
            "code_challenge": challenge.decode().rstrip("="),
            "code_challenge_method": "S256",
        }
        return one, _with(self._endpoint("authorization_endpoint"), urlencode(query))

    def end(self, one: SignIn, code: str) -> Known:
        """Who has signed in. Raises Refused for a token that proves nothing."""
        fields = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": one.back,
            "client_id": self.settings.client_id,
            "code_verifier": one.verifier,
        }
        answer = self._post(self._endpoint("token_endpoint"), fields)
        token = answer.get("id_token")
        if not isinstance(token, str):
            raise Refused("the OIDC provider sent no ID token")
        return self._known(self.claims(token, one.nonce))

    def claims(self, token: str, nonce: str) -> dict[str, Any]:
        """Of an ID token that is valid for this sign-in. Raises Refused."""
        found = self._verified(token)
        rules = jwt.JWTClaimsRegistry(
            leeway=LEEWAY_S,
            iss={"essential": True, "value": self.settings.issuer},
            aud={"essential": True, "value": self.settings.client_id},
            sub={"essential": True},
            exp={"essential": True},
            iat={"essential": True},
            nonce={"essential": True, "value": nonce},
        )
        try:
            rules.validate(found)
        except JoseError as error:
            raise _invalid(error) from None
        several = isinstance(found["aud"], list) and len(found["aud"]) > 1
        if found.get("azp", None if several else self.settings.client_id) != (
            self.settings.client_id
        ):
            raise Refused("the ID token was issued for another program")
        return found

    def _verified(self, token: str) -> dict[str, Any]:
        """Its claims, by a key of the provider's; new keys are asked for once."""
        for again in (False, True):
            keys = self._key_set(again)
            try:
                return dict(jwt.decode(token, keys, algorithms=ALGORITHMS).claims)
            except (JoseError, ValueError, TypeError) as error:
                failed = _invalid(error)
        raise failed

    def _known(self, claims: dict[str, Any]) -> Known:
        name, subject = claims.get(self.settings.name_claim), claims["sub"]
        if not isinstance(name, str) or not isinstance(subject, str) or not subject:
            raise Refused(f"the ID token has no {self.settings.name_claim}")
        return Known(self.settings.issuer, subject, name, self._role(claims))

    def _role(self, claims: dict[str, Any]) -> Role:
        """The highest that the claim gives. Raises Refused without any."""
        found = claims.get(self.settings.role_claim, [])
        values = {found} if isinstance(found, str) else {*map(str, found or [])}
        for role in reversed(Role):
            if values & {*self.settings.roles.get(role, ())}:
                return role
        sent = ", ".join(sorted(values)[:MOST_TOLD]) or "none"
        raise Refused(
            f"no value of {self.settings.role_claim} gives you a role at this desk "
            f"(the OIDC provider sent: {sent}); ask an admin"
        )

    def sign_out_address(self) -> str:
        """Where the provider forgets the browser (RP-Initiated Logout 1.0)."""
        query = urlencode({"client_id": self.settings.client_id})
        return _with(self._endpoint("end_session_endpoint"), query)

    # ---- what the provider says of itself

    def _endpoint(self, name: str) -> str:
        found = self._discovered().get(name)
        return _check_address(str(found or ""), name)

    def _discovered(self) -> dict[str, Any]:
        with self._lock:
            if not self._found:
                issuer = self.settings.issuer
                place = f"{issuer.rstrip('/')}/.well-known/openid-configuration"
                found = self._asked("GET", place)
                if found.get("issuer") != issuer:
                    raise DeskError(
                        f"the OIDC provider at {issuer} calls itself "
                        f"{found.get('issuer')!r}"
                    )
                self._found = found
            return self._found

    def _key_set(self, again: bool) -> KeySet:
        place = self._endpoint("jwks_uri")
        with self._lock:
            now_s = time.monotonic()
            if self._keys is None or again or now_s - self._keys[0] > KEYS_S:
                try:
                    found: Any = self._asked("GET", place)
                    keys = KeySet.import_key_set(found)
                except (JoseError, ValueError, TypeError, KeyError):
                    raise DeskError("the OIDC provider's keys cannot be read") from None
                self._keys = now_s, keys
            return self._keys[1]

    def _post(self, place: str, fields: dict[str, str]) -> dict[str, Any]:
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        if file := self.settings.client_secret_file:
            try:
                secret = file.read_text().strip()
            except OSError as error:
                raise DeskError(f"the OIDC client's secret: {error}") from None
            # RFC 6749, 2.3.1: each is encoded as in a form before it is a password
            parts = map(quote_plus, (self.settings.client_id, secret))
            headers |= urllib3.util.make_headers(basic_auth=":".join(parts))
        return self._asked("POST", place, body=urlencode(fields), headers=headers)

    def _asked(self, method: str, place: str, **more: Any) -> dict[str, Any]:
        """A JSON object. Raises DeskError."""
        try:
            answer = self._http.request(method, place, preload_content=False, **more)
            data = answer.read(MOST_BYTES)
            answer.release_conn()
            found = json.loads(data)
        except (urllib3.exceptions.HTTPError, ValueError) as error:
            name = type(error).__name__
            raise DeskError(f"the OIDC provider does not answer: {name}") from None
        if answer.status != 200 or not isinstance(found, dict):
            said = found.get("error", "") if isinstance(found, dict) else ""
            raise DeskError(f"the OIDC provider answers {answer.status} {said}".strip())
        return found


def _with(address: str, query: str) -> str:
    return f"{address}{'&' if '?' in address else '?'}{query}"


def _invalid(error: Exception) -> Refused:
    return Refused(f"the ID token is not valid: {error}")
