"""The list of the certificates that a desk has signed, and what to say of them.

It is read without `cryptography`, as `status` and `doctor` look at it each time.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal

from pydantic import TypeAdapter

from ioplan.core import Model
from ioplan_lab.cluster.keys.identity import keys_folder, write_private

Role = Literal["host", "scheduler", "desk", "web"]
"""What a certificate is for. Its subject says so, as OU; CN is the name."""
NEAR_END = timedelta(days=60)
"""`lab up` renews what ends sooner, and other commands say so."""


def is_near(end: datetime) -> bool:
    """Whether a certificate has ended, or soon will."""
    return end - datetime.now(UTC) < NEAR_END


class Issued(Model):
    """A certificate that was signed. Times are of UTC."""

    name: str
    role: Role
    serial: str
    names: tuple[str, ...]
    made_at: datetime
    ends_at: datetime
    revoked_at: datetime | None = None

    @property
    def state(self) -> str:
        """In a word or two."""
        if self.revoked_at:
            return f"revoked {self.revoked_at:%Y-%m-%d}"
        if self.ends_at < datetime.now(UTC):
            return "ended"
        return "ends soon" if self.is_near_end else "valid"

    @property
    def title(self) -> str:
        """Whose it is."""
        return f"host {self.name}" if self.role == "host" else f"the {self.role}"

    @property
    def is_near_end(self) -> bool:
        """It has ended, or soon will."""
        return is_near(self.ends_at)


ALL_ISSUED = TypeAdapter(list[Issued])


def authority_folder() -> Path:
    """Where the desk's authority is; there is none on other machines."""
    return keys_folder() / "authority"


def read_issued() -> list[Issued]:
    """All certificates, in the order in which they were made."""
    path = authority_folder() / "issued.json"
    return ALL_ISSUED.validate_json(path.read_bytes()) if path.exists() else []


def keep_issued(issued: list[Issued]) -> None:
    """Replace the list. Raises OSError, OutputError."""
    text = ALL_ISSUED.dump_json(issued, indent=1).decode()
    write_private(authority_folder() / "issued.json", text)


def latest() -> dict[tuple[Role, str], Issued]:
    """The last one of each peer, by role and name."""
    return {(one.role, one.name): one for one in read_issued()}


def near_end() -> list[Issued]:
    """What is in use, and has ended or soon will, the first to end first."""
    used = [one for one in latest().values() if one.role != "web"]
    found = [one for one in used if one.is_near_end and not one.revoked_at]
    return sorted(found, key=lambda one: one.ends_at)


def notice() -> str:
    """A line for a person; empty where there is nothing to say."""
    found = near_end()
    if not found:
        return ""
    first = found[0]
    more = f", and {len(found) - 1} more" if len(found) > 1 else ""
    ended = "has ended" if first.state == "ended" else "ends"
    return (
        f"note: the certificate of {first.title} {ended} on "
        f"{first.ends_at:%Y-%m-%d}{more}; `ioplan lab up` renews them"
    )
