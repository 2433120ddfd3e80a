"""Keys of admins: Ed25519. The private one never leaves its owner's state folder."""

from __future__ import annotations

import base64
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ioplan.core.extras import needed
from ioplan.core.state_folder import state_folder
from ioplan.core.system import O_CLOEXEC, O_NOFOLLOW
from ioplan.runner.guard.consent_list.drives import ConsentListError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric import ed25519

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
