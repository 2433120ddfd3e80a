"""X.509 certificates (RFC 5280): made, signed, revoked and read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID
from msgspec import Struct

from ioplan_lab.cluster.keys.issued import Role

AUTHORITY_VALIDITY, VALIDITY = timedelta(days=3650), timedelta(days=730)
EARLIER = timedelta(days=1)
"""All begins that much before it is made: the hosts' clocks differ."""
USES = {
    "host": ("SERVER_AUTH", "CLIENT_AUTH"),
    "scheduler": ("SERVER_AUTH", "CLIENT_AUTH"),
    "desk": ("CLIENT_AUTH",),
    "web": ("SERVER_AUTH",),
}
USAGES = (
    *("digital_signature", "content_commitment", "key_encipherment"),
    *("data_encipherment", "key_agreement", "key_cert_sign", "crl_sign"),
    *("encipher_only", "decipher_only"),
)


class Pair(Struct, frozen=True):
    """A certificate and its private key, both as PEM."""

    certificate: str
    key: str

    @property
    def text(self) -> str:
        """Both, as one file has them."""
        return self.certificate + self.key


class Facts(Struct, frozen=True):
    """What a certificate says. `serial` and `authority` are hexadecimal."""

    name: str
    role: str
    serial: str
    names: tuple[str, ...]
    """The DNS names and addresses that it holds for, sorted."""
    made_at: datetime
    ends_at: datetime
    authority: str
    """The key identifier of who signed it."""


def make_authority(name: str) -> Pair:
    """An authority that signs certificates of peers, and no further authority."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = _subject(name, "authority")
    made = _begun(subject, subject, key.public_key(), AUTHORITY_VALIDITY)
    limits = x509.BasicConstraints(ca=True, path_length=0)
    made = made.add_extension(limits, critical=True)
    made = made.add_extension(_usage("key_cert_sign", "crl_sign"), critical=True)
    made = made.add_extension(_issuer(key.public_key()), critical=False)
    return Pair(_pem(made.sign(key, hashes.SHA256())), _key_pem(key))


def sign(authority: Pair, name: str, role: Role, names: Iterable[str]) -> Pair:
    """A new key with a certificate for a peer at these DNS names and addresses."""
    signer, issuer = _opened(authority)
    key = ec.generate_private_key(ec.SECP256R1())
    subject = _subject(name, role)
    made = _begun(issuer.subject, subject, key.public_key(), VALIDITY)
    made = made.add_extension(
        x509.BasicConstraints(ca=False, path_length=None), critical=True
    )
    made = made.add_extension(_usage("digital_signature"), critical=True)
    uses = [getattr(ExtendedKeyUsageOID, one) for one in USES[role]]
    made = made.add_extension(x509.ExtendedKeyUsage(uses), critical=False)
    made = made.add_extension(_issuer(signer.public_key()), critical=False)
    if general := [_general(one) for one in sorted(set(names))]:
        made = made.add_extension(x509.SubjectAlternativeName(general), critical=False)
    return Pair(_pem(made.sign(signer, hashes.SHA256())), _key_pem(key))


def revocations(authority: Pair, serials: Sequence[str]) -> str:
    """The list of what an authority has revoked, as PEM; it holds for as long as it."""
    signer, issuer = _opened(authority)
    now = datetime.now(UTC)
    made = x509.CertificateRevocationListBuilder().issuer_name(issuer.subject)
    made = made.last_update(now - EARLIER).next_update(issuer.not_valid_after_utc)
    made = made.add_extension(_issuer(signer.public_key()), critical=False)
    made = made.add_extension(x509.CRLNumber(int(now.timestamp())), critical=False)
    for serial in serials:
        one = x509.RevokedCertificateBuilder().serial_number(int(serial, 16))
        made = made.add_revoked_certificate(one.revocation_date(now - EARLIER).build())
    text = made.sign(signer, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    return str(text.decode())


def facts_of(certificate: str | bytes) -> Facts:
    """Read a certificate, as PEM or DER. Raises ValueError."""
    if isinstance(certificate, bytes):
        found = x509.load_der_x509_certificate(certificate)
    else:
        found = x509.load_pem_x509_certificate(certificate.encode())
    return Facts(
        name=_of_subject(found, x509.NameOID.COMMON_NAME),
        role=_of_subject(found, x509.NameOID.ORGANIZATIONAL_UNIT_NAME),
        serial=f"{found.serial_number:X}",
        names=_names(found),
        made_at=found.not_valid_before_utc + EARLIER,
        ends_at=found.not_valid_after_utc,
        authority=_authority(found),
    )


def _begun(
    issuer: x509.Name,
    subject: x509.Name,
    key: ec.EllipticCurvePublicKey,
    long: timedelta,
) -> x509.CertificateBuilder:
    begin = datetime.now(UTC) - EARLIER
    made = x509.CertificateBuilder().issuer_name(issuer).subject_name(subject)
    made = made.public_key(key).serial_number(x509.random_serial_number())
    made = made.not_valid_before(begin).not_valid_after(begin + EARLIER + long)
    own = x509.SubjectKeyIdentifier.from_public_key(key)
    return made.add_extension(own, critical=False)


def _subject(name: str, role: str) -> x509.Name:
    pairs = (
        (x509.NameOID.ORGANIZATION_NAME, "ioplan"),
        (x509.NameOID.ORGANIZATIONAL_UNIT_NAME, role),
        (x509.NameOID.COMMON_NAME, name[:64]),
    )
    return x509.Name([x509.NameAttribute(*pair) for pair in pairs])


def _of_subject(found: x509.Certificate, what: x509.ObjectIdentifier) -> str:
    return "".join(str(one.value) for one in found.subject.get_attributes_for_oid(what))


def _names(found: x509.Certificate) -> tuple[str, ...]:
    try:
        held = found.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    except x509.ExtensionNotFound:
        return ()
    return tuple(sorted(str(one.value) for one in held.value))


def _authority(found: x509.Certificate) -> str:
    try:
        held = found.extensions.get_extension_for_class(x509.AuthorityKeyIdentifier)
    except x509.ExtensionNotFound:
        return ""
    return (held.value.key_identifier or b"").hex().upper()


def _issuer(key: ec.EllipticCurvePublicKey) -> x509.AuthorityKeyIdentifier:
    return x509.AuthorityKeyIdentifier.from_issuer_public_key(key)


def _general(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _usage(*uses: str) -> x509.KeyUsage:
    return x509.KeyUsage(**{one: one in uses for one in USAGES})


def _opened(pair: Pair) -> tuple[ec.EllipticCurvePrivateKey, x509.Certificate]:
    key = serialization.load_pem_private_key(pair.key.encode(), password=None)
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    return key, x509.load_pem_x509_certificate(pair.certificate.encode())


def _pem(certificate: x509.Certificate) -> str:
    return str(certificate.public_bytes(serialization.Encoding.PEM).decode())


def _key_pem(key: ec.EllipticCurvePrivateKey) -> str:
    made = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    return str(made.decode())
