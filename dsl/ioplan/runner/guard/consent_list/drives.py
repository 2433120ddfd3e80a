"""The drives of a consent list, each by what identifies it and never by a place."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pydantic import ValidationError

from ioplan.core.error_kinds import ExplainedError, TargetFault
from ioplan.core.model import Model
from ioplan.runner.devices.identity import Identity, differences
from ioplan.target_entry import LabTarget


class ConsentListError(ExplainedError):
    """A list of consents that is not taken; nothing of it holds."""

    kind = TargetFault.CONSENT_LIST


class ConsentedDrive(Model):
    """`id` is what `--overwrite` takes, one of the names that the identity has."""

    id: str
    identity: Identity
    name: str = ""

    @property
    def is_file(self) -> bool:
        """Whether nothing but a backing file identifies it: a loop device."""
        return not (self.identity.serial or self.identity.wwid)

    def is_entry(self, entry: LabTarget | None) -> bool:
        """Whether the lab's entry may mean this drive; the guard decides at the end.

        A path is not looked at, as the entry may be of another host.
        """
        if self.is_file and not (entry and entry.backing_file):
            return False
        anywhere = entry and entry.model_copy(update={"path": None})
        if anywhere and entry and entry.path:  # a link may name the partition itself
            anywhere = anywhere.model_copy(
                update={"partition": self.identity.partition}
            )
        return not (anywhere and differences(self.identity, anywhere))


def drives_of(found: object) -> tuple[ConsentedDrive, ...]:
    """The drives of `ioplan targets --json` that could be written then.

    Raises ConsentListError.
    """
    if not isinstance(found, list):
        raise ConsentListError(
            "it is neither the output of `ioplan targets --json` nor a list signed "
            "with `ioplan lab consent sign`"
        )
    drives = tuple(_drive(one) for one in found if _is_writable(one))
    if not drives:
        raise ConsentListError("it has no drive whose verdict is 'writable'")
    return checked(drives)


def _is_writable(one: object) -> bool:
    """Raises ConsentListError for what is no row of `ioplan targets --json`."""
    if not isinstance(one, dict) or "verdict" not in one:
        raise ConsentListError(
            f"{str(one)[:80]!r} is not a drive as printed by `ioplan targets --json`; "
            "a path or a name alone is not consent"
        )
    return bool(one["verdict"] == "writable")


def _drive(one: dict[str, Any]) -> ConsentedDrive:
    keys = ("id", "identity", "name")
    try:
        return ConsentedDrive.model_validate({key: one.get(key) for key in keys})
    except ValidationError as error:
        where = ".".join(map(str, error.errors()[0]["loc"]))
        raise ConsentListError(
            f"{str(one.get('id'))[:80]!r} is not a drive as printed by `ioplan "
            f"targets --json`: {where}: {error.errors()[0]['msg']}"
        ) from error


def checked(drives: Iterable[ConsentedDrive]) -> tuple[ConsentedDrive, ...]:
    """The drives, if an identity names each. Raises ConsentListError."""
    found = tuple(drives)
    for drive in found:
        if not drive.identity.lasting or _is_place(drive):
            raise ConsentListError(
                f"it names {drive.id!r} by a path, which may later be another drive; "
                "a drive needs its serial or wwid, see `ioplan targets --json`"
            )
        if drive.id not in drive.identity.names[:-1]:
            raise ConsentListError(
                f"the ID {drive.id!r} does not belong to the drive with the "
                f"serial {drive.identity.serial!r}: the list was altered"
            )
    return found


def _is_place(drive: ConsentedDrive) -> bool:
    """Only a loop device has a path for a name, that of the file behind it."""
    identity = drive.identity
    names = (identity.serial, identity.wwid)
    under_dev = identity.backing_file.startswith("/dev/")
    return any(name.startswith("/") for name in names) or under_dev
