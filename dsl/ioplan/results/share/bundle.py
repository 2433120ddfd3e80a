"""A bundle: results in one file, for others to read, compare with and repeat.

Its manifest comes first, and has the digest of each other member as it is packed; a
signature is of the manifest, and so of all.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct
from pydantic import Field, ValidationError

from ioplan.core.model import Model
from ioplan.core.version import __version__
from ioplan.results.share import archive, contents
from ioplan.results.share.archive import BundleError, Member
from ioplan.results.share.contents import Bundled
from ioplan.results.share.signature import Signer, signer_of

SUFFIX = ".ioplan-bundle"
FORMAT = "ioplan bundle 1"
WORD = "[A-Za-z0-9_.+!-]{1,60}"


class Manifest(Model):
    """It has no other words, as who has signed is told in the same line as `made_at`
    and `made_by`."""

    format: str
    made_at: str = Field(pattern=r"^[0-9]{4}(-[0-9]{2}){2}T[0-9]{2}(:[0-9]{2}){2}Z$")
    made_by: str = Field(pattern=f"^ioplan {WORD}, Python {WORD}$")
    sessions: tuple[str, ...]
    members: dict[str, tuple[str, int]] = Field(
        description="the SHA-256 of each member as it is packed, and its size unpacked"
    )


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
            return file.read(len(archive.MAGIC)) == archive.MAGIC
    except (OSError, ValueError):
        return False


def bundle_bytes(
    sessions: tuple[Bundled, ...],
    report: bytes,
    sign: Callable[[bytes], bytes] | None = None,
) -> bytes:
    """The file; `sign` makes a signature of the manifest. Raises BundleError."""
    named = {contents.REPORT: report, **contents.members_of(sessions)}
    members = [archive.member_of(name, content) for name, content in named.items()]
    manifest = Manifest(
        format=FORMAT,
        made_at=f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
        made_by=f"ioplan {__version__}, Python {platform.python_version()}",
        sessions=tuple(bundled.session.id for bundled in sessions),
        members={member.name: _digest(member) for member in members},
    )
    text = json.dumps(manifest.model_dump(), indent=1).encode()
    signature = [archive.member_of(archive.SIGNATURE, sign(text))] if sign else []
    return archive.written(
        [archive.member_of(archive.MANIFEST, text), *signature, *members]
    )


def read_bundle(path: str | Path, signers: Path | None = None) -> Bundle:
    """A bundle, all of it checked. Raises BundleError.

    With a file of allowed signers, one of them must have signed it.
    """
    try:
        with Path(path).open("rb") as file:
            data = file.read(archive.MOST_FILE_BYTES + 1)
    except OSError as error:
        raise BundleError(f"cannot read {str(path)!r}: {error.strerror}") from error
    try:
        return _bundle(archive.members_in(data), signers)
    except BundleError as error:
        raise BundleError(f"{path}: {error}") from error
    except contents.INVALID as error:
        why = str(error)
        if isinstance(error, ValidationError):
            first = error.errors()[0]
            place = ".".join(map(str, (error.title, *first["loc"])))
            why = f"{place}: {first['msg']}"
        text = f"{path}: the bundle cannot be read: {why[:200]}"
        raise BundleError(text) from error


def _bundle(members: dict[str, Member], signers: Path | None) -> Bundle:
    """Raises BundleError, and one of contents.INVALID."""
    if next(iter(members)) != archive.MANIFEST:
        raise BundleError(f"it does not begin with {archive.MANIFEST}")
    text = members.pop(archive.MANIFEST).content()
    raw = archive.plain_json(text)
    if raw["format"] != FORMAT:
        format = str(raw["format"])[:40]
        why = f"the format of its manifest is {format!r}, not {FORMAT!r}"
        raise BundleError(why)
    manifest = Manifest.model_validate(raw)
    signature = members.pop(archive.SIGNATURE, None)
    if [*members] != [*manifest.members]:
        raise BundleError("its members are not those of its manifest")
    for name, member in members.items():
        if manifest.members[name] != _digest(member):
            raise BundleError(f"its {name} was changed")
    signer = signer_of(text, signature.content() if signature else b"", signers)
    sessions = contents.sessions_of({name: m.content() for name, m in members.items()})
    if manifest.sessions != tuple(bundled.session.id for bundled in sessions):
        raise BundleError("its sessions are not those of its manifest")
    return Bundle(sessions, signer, manifest.made_at, manifest.made_by)


def _digest(member: Member) -> tuple[str, int]:
    return hashlib.sha256(member.data).hexdigest(), member.size
