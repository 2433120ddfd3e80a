"""A small OpenID Connect provider, which checks what it is asked, and can be told to
send a bad ID token."""

from __future__ import annotations

import hmac
import json
import time
from base64 import b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from secrets import token_urlsafe
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, parse_qsl, unquote_plus, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import RSAKey

CLIENT, SECRET = "ioplan", "s3+cr%41t: ä€"
Changed = Callable[[dict[str, Any]], dict[str, Any]]


class Provider:
    """`change` alters the claims, `sign` the whole token."""

    issuer = ""

    def __init__(self) -> None:
        self.first_key = RSAKey.generate_key(2048, {"kid": "one", "use": "sig"})
        self.reset()

    def reset(self) -> None:
        """As it is started: it knows ada, and is honest."""
        self.key = self.first_key
        self.other_keys: list[dict[str, str]] = []
        self.codes: dict[str, dict[str, str]] = {}
        self.person: dict[str, Any] = {
            "sub": "s-1",
            "preferred_username": "ada",
            "groups": ["staff", "lab"],
        }
        self.change: Changed = lambda claims: claims
        self.sign: Callable[[dict[str, Any]], str] = self.signed
        self.named = ""
        self.asked: list[str] = []

    def signed(self, claims: dict[str, Any]) -> str:
        header = {"alg": "RS256", "kid": self.key.kid}
        return jwt.encode(header, claims, self.key)

    def unsigned(self, claims: dict[str, Any]) -> str:
        parts = ({"alg": "none"}, claims)
        return ".".join(_base64(json.dumps(one).encode()) for one in parts) + "."

    def by_public_key(self, claims: dict[str, Any]) -> str:
        """The old confusion: HMAC with the public key as its secret."""
        parts = ({"alg": "HS256", "kid": self.key.kid}, claims)
        text = ".".join(_base64(json.dumps(one).encode()) for one in parts)
        secret = self.key.as_pem(private=False)
        return f"{text}.{_base64(hmac.digest(secret, text.encode(), 'sha256'))}"

    def by_another_key(self, claims: dict[str, Any]) -> str:
        other = RSAKey.generate_key(2048, {"kid": self.key.kid})
        return jwt.encode({"alg": "RS256", "kid": self.key.kid}, claims, other)

    def tampered(self, claims: dict[str, Any]) -> str:
        head, _, signature = self.signed(claims).split(".")
        own = json.dumps({**claims, "groups": ["root"]}).encode()
        return f"{head}.{_base64(own)}.{signature}"

    # ---- its pages

    def configuration(self) -> dict[str, Any]:
        return {
            "issuer": self.named or self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "jwks_uri": f"{self.issuer}/keys",
            "end_session_endpoint": f"{self.issuer}/out",
        }

    def keys(self) -> dict[str, Any]:
        return {"keys": [*self.other_keys, self.key.as_dict(private=False)]}

    def authorize(self, address: str) -> str:
        """A person signs in and agrees; returns where the browser is sent."""
        asked = dict(parse_qsl(urlsplit(address).query))
        assert asked["response_type"] == "code" and asked["client_id"] == CLIENT
        assert asked["code_challenge_method"] == "S256" and "openid" in asked["scope"]
        code = token_urlsafe(8)
        self.codes[code] = asked
        query = urlencode({"code": code, "state": asked["state"]})
        return f"{asked['redirect_uri']}?{query}"

    def token(self, form: dict[str, str], credentials: str) -> tuple[int, Any]:
        """Each code once, and only for who has begun."""
        asked = self.codes.pop(form.get("code", ""), None)
        verifier = form.get("code_verifier", "").encode()
        challenge = _base64(sha256(verifier).digest())
        if (
            asked is None
            or asked["redirect_uri"] != form.get("redirect_uri")
            or asked["code_challenge"] != challenge
        ):
            return 400, {"error": "invalid_grant"}
        if [*map(unquote_plus, credentials.split(":"))] != [CLIENT, SECRET]:
            return 401, {"error": "invalid_client"}
        now = int(time.time())
        claims = {
            "iss": self.issuer,
            "aud": CLIENT,
            "iat": now,
            "exp": now + 300,
            "nonce": asked["nonce"],
            **self.person,
        }
        return 200, {"id_token": self.sign(self.change(claims)), "access_token": "x"}


def _base64(data: bytes) -> str:
    return urlsafe_b64encode(data).decode().rstrip("=")


@contextmanager
def provider() -> Iterator[Provider]:
    """One that listens on the loopback."""
    made = Provider()

    class Pages(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            made.asked.append(self.path)
            pages = {
                "/.well-known/openid-configuration": made.configuration,
                "/keys": made.keys,
            }
            page = pages.get(self.path)
            self._say(200, page()) if page else self._say(404, {})

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"])).decode()
            form = {name: values[-1] for name, values in parse_qs(body).items()}
            sent = self.headers.get("authorization", "").removeprefix("Basic ")
            self._say(*made.token(form, b64decode(sent).decode()))

        def _say(self, status: int, value: Any) -> None:
            data = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Pages) as server:
        made.issuer = f"http://127.0.0.1:{server.server_port}"
        Thread(target=server.serve_forever, daemon=True).start()
        yield made
        server.shutdown()
