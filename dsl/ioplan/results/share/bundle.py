"""A bundle: results in one file, for others to read, compare with and repeat."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
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

# Signatures of bundles, made and checked by OpenSSH (`ssh-keygen -Y`, since 8.1).
#
# The manifest is signed: it has the digests of all that is in a bundle.

PROGRAM = "ssh-keygen"
NAMESPACE = "ioplan-bundle"
"""A signature for something else, an e-mail or a commit, is none of a bundle."""
MOST_BYTES = 64 << 10
TIMEOUT_S = 60.0
GOOD = re.compile(r'Good "ioplan-bundle" signature with (\S+) key (\S+)')


class Signer(Struct, frozen=True):
    """Who signed: the key's fingerprint, and whom the list of signers says it is of."""

    key: str
    name: str = ""


def sign(manifest: bytes, key: Path) -> bytes:
    """The signature by a private key, or by the agent's for a public one.

    Raises BundleError.
    """
    if not key.is_file():
        raise BundleError(f"there is no key {str(key)!r} to sign with")
    done = _call(("-Y", "sign", "-n", NAMESPACE, "-f", str(key)), manifest)
    if done.returncode or not done.stdout:
        raise BundleError(f"{key} does not sign: {_said(done)}")
    return done.stdout


def signer_of(manifest: bytes, signature: bytes, signers: Path | None) -> Signer | None:
    """Who signed a manifest; None where nobody did.

    With a file of allowed signers, it must be one of them. Raises BundleError.
    """
    if not signature:
        if signers:
            raise BundleError("the bundle is not signed")
        return None
    if len(signature) > MOST_BYTES:
        raise BundleError("the bundle's signature is too large for one")
    with _as_file(signature) as (path, fds):
        done = _call(
            ("-Y", "check-novalidate", "-n", NAMESPACE, "-s", path), manifest, fds
        )
        found = GOOD.search(done.stdout.decode(errors="replace"))
        if done.returncode or not found:
            raise BundleError(f"the bundle's signature is wrong: {_said(done)}")
        signer = Signer(f"{found[1]} {found[2]}")
        return _named(manifest, signer, signers, path, fds) if signers else signer


def _named(
    manifest: bytes, signer: Signer, signers: Path, path: str, fds: Sequence[int]
) -> Signer:
    """The signer with its name in the list. Raises BundleError."""
    if not signers.is_file():
        raise BundleError(f"there is no file of signers {str(signers)!r}")
    listed = ("-s", path, "-f", str(signers))
    done = _call(("-Y", "find-principals", *listed), manifest, fds)
    names = done.stdout.decode(errors="replace").splitlines()
    if done.returncode or not names:
        raise BundleError(
            f"the bundle is signed by {signer.key}, not by one of {signers}"
        )
    words = ("-Y", "verify", "-n", NAMESPACE, "-I", names[0], *listed)
    done = _call(words, manifest, fds)
    if done.returncode:
        raise BundleError(f"the bundle's signature is wrong: {_said(done)}")
    return Signer(signer.key, names[0])


@contextmanager
def _as_file(data: bytes) -> Iterator[tuple[str, tuple[int]]]:
    """A name for a child that it can read the data by."""
    fd = os.memfd_create("signature")
    try:
        os.write(fd, data)
        yield f"/dev/fd/{fd}", (fd,)
    finally:
        os.close(fd)


def _call(
    words: Sequence[str], data: bytes, fds: Sequence[int] = ()
) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(
            [PROGRAM, *words],
            input=data,
            capture_output=True,
            pass_fds=fds,
            timeout=TIMEOUT_S,
            check=False,
        )
    except FileNotFoundError as error:
        raise BundleError(f"signatures need {PROGRAM}, of OpenSSH") from error
    except subprocess.TimeoutExpired as error:
        raise BundleError(f"{PROGRAM} did not end within {TIMEOUT_S:g} s") from error


def _said(done: subprocess.CompletedProcess[bytes]) -> str:
    lines = (done.stderr + done.stdout).decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else f"exit code {done.returncode}"


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
