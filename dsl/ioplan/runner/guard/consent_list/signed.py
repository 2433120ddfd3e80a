"""A list of consents that an admin of the lab has signed.

It holds in one lab, until a moment, for some plans or any, and for drives by their
identities. What is signed is what the models below have read, so nothing else in the
file can count.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import stat
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AwareDatetime, Field, ValidationError

from ioplan.core.extras import needed
from ioplan.core.model import Model
from ioplan.core.state_folder import state_folder
from ioplan.core.system import O_CLOEXEC, O_NOFOLLOW
from ioplan.language.plan import CheckedPlan
from ioplan.runner.guard.consent_list.drives import (
    ConsentedDrive,
    ConsentListError,
    checked,
)
from ioplan.runner.lab.lab import Lab

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric import ed25519


# Keys of admins: Ed25519. The private one never leaves its owner's state folder.

PREFIX = "ed25519:"
"""How a public key begins in a lab file."""


def key_path() -> Path:
    """Where this user's key is, or would be."""
    return state_folder() / "admin.key"


def make_key(path: Path) -> str:
    """Make the key if there is none yet; returns the public one as text.

    Raises ConsentListError, OSError.
    """
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        _write(path, _private_bytes(_ed25519().Ed25519PrivateKey.generate()))
    return public_text(read_key(path))


def read_key(path: Path) -> ed25519.Ed25519PrivateKey:
    """The key of this user. Raises ConsentListError."""
    from cryptography.hazmat.primitives.serialization import (  # noqa: PLC0415
        load_pem_private_key,
    )

    ed25519 = _ed25519()
    try:
        status = path.stat()
        if status.st_uid != os.geteuid() or stat.S_IMODE(status.st_mode) & 0o077:
            raise ConsentListError(f"others may read the key {path}: chown, chmod 600")
        key = load_pem_private_key(path.read_bytes(), password=None)
    except (OSError, ValueError, TypeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ConsentListError(
            f"cannot read the key {path}: {reason}; `ioplan lab consent key` makes one"
        ) from error
    if not isinstance(key, ed25519.Ed25519PrivateKey):
        raise ConsentListError(f"the key {path} is not an Ed25519 key")
    return key  # type: ignore[no-any-return]


def public_text(key: ed25519.Ed25519PrivateKey) -> str:
    """The public key as a lab file has it."""
    return PREFIX + base64.b64encode(key.public_key().public_bytes_raw()).decode()


def signature(key: ed25519.Ed25519PrivateKey, data: bytes) -> str:
    """In base64."""
    return base64.b64encode(key.sign(data)).decode()


def is_signed_by(public: str, signed: str, data: bytes) -> bool:
    """Whether the owner of the public key signed just this. Raises ConsentListError."""
    from cryptography.exceptions import InvalidSignature  # noqa: PLC0415

    ed25519 = _ed25519()
    try:
        raw = base64.b64decode(public.removeprefix(PREFIX), validate=True)
        key = ed25519.Ed25519PublicKey.from_public_bytes(raw)
        key.verify(base64.b64decode(signed, validate=True), data)
    except (InvalidSignature, ValueError):
        return False
    return True


def _ed25519() -> Any:
    """Raises ConsentListError where the library is not installed."""
    with needed("signed lists need", "lab", ConsentListError):
        from cryptography.hazmat.primitives.asymmetric import ed25519  # noqa: PLC0415
    return ed25519


def _private_bytes(key: ed25519.Ed25519PrivateKey) -> bytes:
    from cryptography.hazmat.primitives import serialization  # noqa: PLC0415

    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


def _write(path: Path, data: bytes) -> None:
    fd = os.open(
        path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600
    )
    with os.fdopen(fd, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


FORMAT: Literal["ioplan-consent-1"] = "ioplan-consent-1"


class ConsentedPlan(Model):
    """A plan by the SHA-256 of its text and of the files that it uses."""

    title: str
    digest: str


class Consent(Model):
    """`plans` is None where the consent is for any plan."""

    lab: str
    admin: str
    signed_at: AwareDatetime
    until: AwareDatetime
    plans: tuple[ConsentedPlan, ...] | None
    drives: Annotated[tuple[ConsentedDrive, ...], Field(min_length=1)]


class SignedList(Model):
    """The file."""

    format: Literal["ioplan-consent-1"] = FORMAT
    consent: Consent
    signature: str


def consented_plan(plan: CheckedPlan) -> ConsentedPlan:
    """What stands for a plan in a list."""
    text = json.dumps([plan.text, sorted(plan.files.items())])
    digest = hashlib.sha256(text.encode()).hexdigest()
    return ConsentedPlan(title=plan.title, digest=digest)


def sign(
    drives: Sequence[ConsentedDrive],
    lab: Lab,
    until: datetime,
    plans: Sequence[ConsentedPlan] | None,
    key_file: Path,
) -> SignedList:
    """Sign as the admin whose key it is. Raises ConsentListError."""
    key = read_key(key_file)
    now = datetime.now(UTC)
    if until <= now:
        raise ConsentListError(
            f"{until.isoformat()} is in the past; a list needs an expiry date"
        )
    consent = Consent(
        lab=_name_of(lab),
        admin=_admin(lab, public_text(key)),
        signed_at=now.replace(microsecond=0),
        until=until.astimezone(UTC),
        plans=None if plans is None else tuple(plans),
        drives=tuple(_without_place(one) for one in checked(drives)),
    )
    return SignedList(consent=consent, signature=signature(key, _data(consent)))


def _without_place(drive: ConsentedDrive) -> ConsentedDrive:
    """The kernel's name says nothing after a restart."""
    identity = drive.identity.model_copy(update={"kernel": ""})
    return drive.model_copy(update={"identity": identity})


def _name_of(lab: Lab) -> str:
    if not lab.name:
        raise ConsentListError(
            'the lab has no name, and a signed list is for one lab: add name = "…" at '
            "the beginning of the lab file"
        )
    return lab.name


def _admin(lab: Lab, public: str) -> str:
    for name, key in lab.admins.items():
        if key == public:
            return name
    raise ConsentListError(
        "the lab does not name you as an admin: `ioplan lab consent key` prints the "
        "line for the lab file"
    )


def _data(consent: Consent) -> bytes:
    """What is signed: defaults are left out, so that a newer ioplan reads it, too."""
    values = consent.model_dump(mode="json", exclude_defaults=True)
    return f"{FORMAT}\n{json.dumps(values, sort_keys=True)}".encode()


def verified(
    document: object,
    lab: Lab,
    plan: CheckedPlan | None = None,
    now: datetime | None = None,
) -> Consent:
    """The consent, if it holds here, now, and for this plan.

    Raises ConsentListError.
    """
    try:
        found = SignedList.model_validate(document)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise ConsentListError(
            f"it is not a signed list: {where}: {first['msg']}"
        ) from None
    consent = found.consent
    _check_signature(found, lab)
    if consent.until <= (now or datetime.now(UTC)):
        raise ConsentListError(f"it expired at {consent.until:%F %T %Z}")
    if plan and consent.plans is not None:
        _check_plan(consent.plans, plan)
    checked(consent.drives)
    return consent


def _check_signature(found: SignedList, lab: Lab) -> None:
    consent = found.consent
    if not lab.name or consent.lab != lab.name:
        here = f"this is {lab.name!r}" if lab.name else "this lab has no name"
        raise ConsentListError(f"it is for the lab {consent.lab!r}, and {here}")
    public = lab.admins.get(consent.admin)
    if public is None:
        known = ", ".join(lab.admins) or "nobody"
        raise ConsentListError(
            f"{consent.admin!r} is not an admin of this lab; admins: {known}"
        )
    if not is_signed_by(public, found.signature, _data(consent)):
        raise ConsentListError(
            f"the signature of {consent.admin} does not match: the list was altered "
            "or signed with another key; have it signed again"
        )


def _check_plan(plans: Sequence[ConsentedPlan], plan: CheckedPlan) -> None:
    if consented_plan(plan).digest not in {one.digest for one in plans}:
        known = ", ".join(repr(one.title) for one in plans) or "no plan"
        raise ConsentListError(
            f"it is for {known} as it was when signed, not for {plan.title!r} as it is "
            "now; have it signed for this plan"
        )
