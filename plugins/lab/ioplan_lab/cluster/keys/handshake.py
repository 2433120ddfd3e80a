"""What a peer really says to a certificate: a TLS connection, and nothing more."""

from __future__ import annotations

import socket
import ssl
from urllib.parse import urlsplit

from msgspec import Struct

from ioplan_lab.cluster.keys.certificates import Facts, facts_of
from ioplan_lab.cluster.keys.identity import Identity
from ioplan_lab.cluster.keys.tls import to_connect

TIMEOUT_S = 5
REASONS = {
    "unknown_ca": "its authority is not the one that is believed there",
    "unknown ca": "its authority is not the one that is believed there",
    "certificate_revoked": "it is revoked",
    "certificate revoked": "it is revoked",
    "certificate_expired": "it has ended",
    "certificate expired": "it has ended",
}
"""TLS alerts (RFC 8446, 6.2) of who refuses a certificate, as OpenSSL names them."""


class Handshake(Struct, frozen=True):
    """`peer` is what it showed, if it did; `reason` is why there is no connection."""

    peer: Facts | None
    reason: str = ""
    is_refused: bool = False
    """By a certificate, on either side; else it could not be reached."""

    @property
    def accepted(self) -> bool:
        """Both sides believe each other."""
        return not self.reason


def shake_hands(address: str, identity: Identity) -> Handshake:
    """Connect to `tls://HOST:PORT` with these keys, which must be there."""
    place = urlsplit(address)
    host, port = place.hostname or "", place.port or 0
    try:
        return _try(host, port, to_connect(identity), host)
    except ssl.SSLCertVerificationError as error:
        why = f"the certificate that it shows is refused: {error.verify_message}"
        return Handshake(_shown(host, port, identity), why, is_refused=True)
    except ssl.SSLError as error:
        return Handshake(None, _reason(error), is_refused=True)
    except OSError as error:
        return Handshake(None, str(error.strerror or error or "no answer"))


def _try(host: str, port: int, context: ssl.SSLContext, name: str) -> Handshake:
    with (
        socket.create_connection((host, port), TIMEOUT_S) as plain,
        context.wrap_socket(plain, server_hostname=name) as tls,
    ):
        found = facts_of(tls.getpeercert(binary_form=True) or b"")
        try:
            # In TLS 1.3 a server that refuses says so after the handshake only.
            ended = not tls.recv(1)
        except ssl.SSLError as error:
            return Handshake(found, _reason(error), is_refused=True)
        return Handshake(found, "it closed the connection" if ended else "")


def _shown(host: str, port: int, identity: Identity) -> Facts | None:
    """What it shows, even if it is not believed."""
    context = to_connect(identity)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        return _try(host, port, context, host).peer
    except (OSError, ValueError):
        return None


def _reason(error: ssl.SSLError) -> str:
    text = str(error).lower()
    for name, meaning in REASONS.items():
        if name in text:
            return f"it refuses this certificate: {meaning}"
    return f"it refuses this certificate: {error.reason or error}"
