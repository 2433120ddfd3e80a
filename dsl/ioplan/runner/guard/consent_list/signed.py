"""A list of consents that an admin of the lab has signed.

It holds in one lab, until a moment, for some plans or any, and for drives by their
identities. What is signed is what the models below have read, so nothing else in the
file can count.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AwareDatetime, Field, ValidationError

from ioplan.core.model import Model
from ioplan.language.plan import CheckedPlan
from ioplan.runner.guard.consent_list.admin_key import (
    is_signed_by,
    public_text,
    read_key,
    signature,
)
from ioplan.runner.guard.consent_list.drives import (
    ConsentedDrive,
    ConsentListError,
    checked,
)
from ioplan.runner.lab.lab import Lab

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
