"""A certificate of the lab's own authority for the desk's pages."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct

from ioplan.runner.guard import OutputError
from ioplan_lab.cluster.keys.authority import Authority
from ioplan_lab.cluster.keys.certificates import facts_of
from ioplan_lab.cluster.keys.identity import write_private
from ioplan_lab.cluster.keys.issued import NEAR_END
from ioplan_lab.desk.errors import DeskError


class OwnCertificate(Struct, frozen=True):
    """Files; `authority` is what browsers import to believe the certificate."""

    certificate: Path
    key: Path
    authority: Path


def own_certificate(folder: Path, names: Iterable[str]) -> OwnCertificate:
    """For these names and addresses; made if missing, or near its end.

    Raises DeskError, ClusterError.
    """
    place = folder / "tls"
    parts = (place / one for one in ("web.pem", "web.key", "authority.pem"))
    found = OwnCertificate(*parts)
    try:
        if not _holds(found, sorted(set(names))):
            authority = Authority.open_or_make()
            pair = authority.server_pair(names)
            write_private(found.key, pair.key)
            write_private(found.certificate, pair.certificate)
            write_private(found.authority, authority.control.certificate)
    except (OSError, OutputError) as error:
        raise DeskError(f"the desk's certificate cannot be made: {error}") from error
    return found


def _holds(found: OwnCertificate, names: list[str]) -> bool:
    """Whether the files are there, of today's authority, for these names, for long."""
    files = (found.certificate, found.key, found.authority)
    if not Authority.exists() or not all(one.is_file() for one in files):
        return False
    facts = facts_of(found.certificate.read_text())
    lasts = facts.ends_at - datetime.now(UTC) > NEAR_END
    today = Authority.open().facts.authority == facts.authority
    return lasts and today and list(facts.names) == names
