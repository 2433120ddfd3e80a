"""The keys by which the hosts of a lab authenticate each other.

Whoever has them can run programs on every host. `ioplan lab up` makes them once; they
are kept in the user's state folder, and copied to the hosts by ssh only.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ioplan.cluster.errors import ClusterError
from ioplan.core.error_kinds import ClusterFault
from ioplan.core.state_folder import state_folder

if TYPE_CHECKING:
    from distributed.security import Security

AUTHORITY, CERTIFICATE, KEY = "authority.pem", "lab.pem", "lab.key"
FILES = (AUTHORITY, CERTIFICATE, KEY)
VALIDITY = timedelta(days=3650)


def tls_folder() -> Path:
    """In the user's state folder."""
    return state_folder() / "tls"


def security_for(address: str) -> Security:
    """The TLS settings for an address. Raises ClusterError.

    Tasks are programs: a port that accepts them from anybody is open to attack, also on
    loopback, where every local account reaches it.
    """
    from distributed.security import Security  # noqa: PLC0415

    check_address(address)
    folder = tls_folder()
    if missing := [name for name in FILES if not (folder / name).is_file()]:
        raise ClusterError(
            f"{folder} has no {missing[0]}: call `ioplan lab up` once, as this user",
            ClusterFault.NO_KEYS,
        )
    authority, certificate, key = (str(folder / name) for name in FILES)
    roles = ("client", "scheduler", "worker")
    pairs = {f"tls_{role}_cert": certificate for role in roles}
    pairs |= {f"tls_{role}_key": key for role in roles}
    return Security(tls_ca_file=authority, require_encryption=True, **pairs)


def check_address(address: str) -> None:
    """Refuse an address that others could use. Raises ClusterError."""
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


def store_keys(texts: dict[str, str]) -> None:
    """Write the keys of a lab, readable for this user only. Raises OSError."""
    folder = tls_folder()
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    for name in FILES:
        part = folder / f".{name}.{os.getpid()}"
        fd = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(fd, "w") as file:
            file.write(texts[name])
        part.replace(folder / name)


def load_or_make_keys() -> dict[str, str]:
    """The keys; made if there are none yet. Raises OSError, ClusterError."""
    folder = tls_folder()
    if not all((folder / name).is_file() for name in FILES):
        store_keys(_make_keys())
    return {name: (folder / name).read_text() for name in FILES}


def _make_keys() -> dict[str, str]:
    """An authority, whose private key is not kept, and the one pair that it signs."""
    try:
        from cryptography import x509  # noqa: PLC0415
        from cryptography.hazmat.primitives import hashes, serialization  # noqa: PLC0415
        from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise ClusterError(
            f"keys are made with {error.name}: pip install 'ioplan[lab]'",
            ClusterFault.MISSING_PACKAGE,
        ) from error

    def key() -> Any:
        return ec.generate_private_key(ec.SECP256R1())

    def name(text: str) -> Any:
        return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, text)])

    def signed(subject: str, public: Any, is_authority: bool) -> Any:
        begin = datetime.now(UTC) - timedelta(days=1)
        made = x509.CertificateBuilder().subject_name(name(subject))
        made = made.issuer_name(name("ioplan lab")).public_key(public)
        made = made.serial_number(x509.random_serial_number())
        made = made.not_valid_before(begin).not_valid_after(begin + VALIDITY)
        limits = x509.BasicConstraints(ca=is_authority, path_length=None)
        made = made.add_extension(limits, critical=True)
        use = dict.fromkeys(USES, False)
        use |= {"key_cert_sign": is_authority, "digital_signature": not is_authority}
        made = made.add_extension(x509.KeyUsage(**use), critical=True)
        own = x509.SubjectKeyIdentifier.from_public_key(public)
        made = made.add_extension(own, critical=False)
        root = authority.public_key()
        issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(root)
        made = made.add_extension(issuer, critical=False)
        return made.sign(authority, hashes.SHA256())

    def pem(certificate: Any) -> str:
        return str(certificate.public_bytes(serialization.Encoding.PEM).decode())

    authority, lab = key(), key()
    private = lab.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    return {
        AUTHORITY: pem(signed("ioplan lab", authority.public_key(), True)),
        CERTIFICATE: pem(signed("ioplan host", lab.public_key(), False)),
        KEY: private.decode(),
    }


USES = (
    "digital_signature",
    "content_commitment",
    "key_encipherment",
    "data_encipherment",
    "key_agreement",
    "key_cert_sign",
    "crl_sign",
    "encipher_only",
    "decipher_only",
)
