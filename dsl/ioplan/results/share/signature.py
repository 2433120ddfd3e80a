"""Signatures of bundles, made and checked by OpenSSH (`ssh-keygen -Y`, since 8.1).

The manifest is signed: it has the digests of all that is in a bundle.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from ioplan.results.share.container import BundleError

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
