"""TLS between the peers of a lab: both sides have a certificate, and both check it."""

from __future__ import annotations

import ssl
from urllib.parse import urlsplit

from ioplan.core import ClusterFault
from ioplan_lab.cluster.errors import ClusterError
from ioplan_lab.cluster.keys.identity import CLIENTS, OWN, SERVERS, Identity

LIST = "-----BEGIN X509 CRL-----"


def check_address(address: str) -> None:
    """Refuse a scheduler's address that others could use. Raises ClusterError."""
    scheme = urlsplit(address).scheme
    if scheme not in ("tls", "tcp") or not urlsplit(address).port:
        raise ClusterError(
            f"the scheduler's address {address!r} is none; write for example "
            f"tls://10.0.0.1:8786",
            ClusterFault.BAD_ADDRESS,
        )
    if scheme == "tcp":
        raise ClusterError(
            f"the scheduler's address {address!r} has no TLS: whoever reaches it, on "
            f"loopback every local account, could run programs; write tls:// for "
            f"tcp://, and call ioplan lab up",
            ClusterFault.NO_TLS,
        )


def to_connect(identity: Identity) -> ssl.SSLContext:
    """A context to connect: the other's certificate must be for the address."""
    return _context(identity, ssl.PROTOCOL_TLS_CLIENT, SERVERS)


def to_listen(identity: Identity) -> ssl.SSLContext:
    """Whoever connects needs a certificate that is not revoked."""
    return _context(identity, ssl.PROTOCOL_TLS_SERVER, CLIENTS)


def _context(identity: Identity, protocol: int, believed: str) -> ssl.SSLContext:
    made = ssl.SSLContext(protocol)
    made.minimum_version = ssl.TLSVersion.TLSv1_3
    made.verify_mode = ssl.CERT_REQUIRED
    made.verify_flags |= ssl.VERIFY_X509_STRICT
    made.load_verify_locations(identity.path(believed))
    if LIST in identity.texts()[believed]:
        made.verify_flags |= ssl.VERIFY_CRL_CHECK_LEAF
    made.load_cert_chain(identity.path(OWN))
    return made
