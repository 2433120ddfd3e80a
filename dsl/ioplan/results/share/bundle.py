"""A bundle: results in one file, for others to read, compare with and repeat."""

from __future__ import annotations

import platform
import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct

from ioplan.core.version import __version__
from ioplan.results.share.container import (
    MAGIC,
    MOST_FILE_BYTES,
    BundleError,
    read,
    written,
)
from ioplan.results.share.contents import REPORT, Bundled, members_of, sessions_of
from ioplan.results.share.signature import Signer, signer_of

SUFFIX = ".ioplan-bundle"
MADE_AT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", re.ASCII)
MADE_BY = re.compile(r"ioplan [\w.+!-]{1,60}, Python [\w.+!-]{1,60}", re.ASCII)
"""No other words, as who has signed is told in the same line."""


class Bundle(Struct, frozen=True):
    """What was read: who signed it is None where nobody did."""

    sessions: tuple[Bundled, ...]
    signer: Signer | None
    made_at: str
    made_by: str


def is_bundle(path: str | Path) -> bool:
    """Whether it is called as a bundle is, or is a file that begins as one does."""
    if str(path).endswith(SUFFIX):
        return True
    try:
        with Path(path).open("rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except (OSError, ValueError):
        return False


def bundle_bytes(
    sessions: tuple[Bundled, ...],
    report: bytes,
    sign: Callable[[bytes], bytes] | None = None,
) -> bytes:
    """The file. Raises BundleError."""
    about = {
        "made_at": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
        "made_by": f"ioplan {__version__}, Python {platform.python_version()}",
        "sessions": [one.session.id for one in sessions],
    }
    return written({REPORT: report, **members_of(sessions)}, about, sign)


def read_bundle(path: str | Path, signers: Path | None = None) -> Bundle:
    """A bundle, all of it checked. Raises BundleError.

    With a file of allowed signers, one of them must have signed it.
    """
    try:
        with Path(path).open("rb") as file:
            data = file.read(MOST_FILE_BYTES + 1)
    except OSError as error:
        raise BundleError(f"cannot read {str(path)!r}: {error.strerror}") from error
    try:
        found = read(data)
        signer = signer_of(found.manifest, found.signature, signers)
        sessions = sessions_of(found.members)
        about = found.about
        if about.get("sessions") != [one.session.id for one in sessions]:
            raise BundleError("its sessions are not those of its manifest")
        made_at, made_by = str(about.get("made_at")), str(about.get("made_by"))
        if not (MADE_AT.fullmatch(made_at) and MADE_BY.fullmatch(made_by)):
            raise BundleError(
                "its manifest does not state when and by which program it was created"
            )
    except BundleError as error:
        raise BundleError(f"{path}: {error}") from error
    return Bundle(sessions, signer, made_at, made_by)
