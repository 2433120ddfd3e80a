"""Signatures of bundles, made and checked by OpenSSH (`ssh-keygen -Y`, since 8.1).

The manifest is signed: it has the digests of all that is in a bundle.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from msgspec import Struct

from ioplan.results.share.archive import BundleError

PROGRAM = "ssh-keygen"
NAMESPACE = "ioplan-bundle"
"""A signature for something else, an e-mail or a commit, is none of a bundle."""
MOST_BYTES = 64 << 10
TIMEOUT_S = 60.0
GOOD = re.compile(r'Good "ioplan-bundle" signature with (\S+) key (\S+)')
WRONG = "its signature is wrong"


class Signer(Struct, frozen=True):
    """Who signed: the key's fingerprint, and whom the list of signers says it is of."""

    key: str
    name: str = ""


def sign(manifest: bytes, key: Path) -> bytes:
    """Sign with a private key, or the agent's for a public one. Raises BundleError."""
    if not key.is_file():
        raise BundleError(f"there is no key {str(key)!r} to sign with")
    words = ("sign", "-n", NAMESPACE, "-f", str(key))
    return _ssh_keygen(manifest, f"{key} does not sign", *words).encode()


def signer_of(manifest: bytes, signature: bytes, signers: Path | None) -> Signer | None:
    """Who signed a manifest; None where nobody did.

    With a file of allowed signers, it must be one of them. Raises BundleError.
    """
    if not signature:
        if signers:
            raise BundleError("it is not signed")
        return None
    if len(signature) > MOST_BYTES:
        raise BundleError("its signature is too large for one")
    fd = os.memfd_create("signature")
    try:
        os.write(fd, signature)
        return _signer(manifest, f"/proc/{os.getpid()}/fd/{fd}", signers)
    finally:
        os.close(fd)


def _signer(manifest: bytes, signature: str, signers: Path | None) -> Signer:
    words = ["-n", NAMESPACE, "-s", signature]
    good = GOOD.search(_ssh_keygen(manifest, WRONG, "check-novalidate", *words))
    if not good:
        raise BundleError(WRONG)
    key = f"{good[1]} {good[2]}"
    if not signers:
        return Signer(key)
    if not signers.is_file():
        raise BundleError(f"there is no file of signers {str(signers)!r}")
    words += ["-f", str(signers)]
    unknown = f"it is signed by {key}, not by one of {signers}"
    name, *_ = _ssh_keygen(manifest, unknown, "find-principals", *words).splitlines()
    _ssh_keygen(manifest, WRONG, "verify", "-I", name, *words)
    return Signer(key, name)


def _ssh_keygen(manifest: bytes, failure: str, *words: str) -> str:
    """What it prints. Raises BundleError."""
    try:
        done = subprocess.run(
            [PROGRAM, "-Y", *words],
            input=manifest,
            capture_output=True,
            timeout=TIMEOUT_S,
            check=False,
        )
    except FileNotFoundError as error:
        raise BundleError(f"signatures need {PROGRAM}, of OpenSSH") from error
    except subprocess.TimeoutExpired as error:
        raise BundleError(f"{PROGRAM} did not end within {TIMEOUT_S:g} s") from error
    printed = done.stdout.decode(errors="replace")
    if done.returncode or not printed.strip():
        lines = (done.stderr.decode(errors="replace") + printed).strip().splitlines()
        raise BundleError(f"{failure}: {lines[-1] if lines else done.returncode}")
    return printed
