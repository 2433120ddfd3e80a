"""The signature of a session: whether this user, on this host, started it.

To resume a session is to repeat what its store says: which target may be
overwritten, which programs and which lab are used. Stores are passed on, and a
stranger's must not decide that. The key never leaves the user's state folder, which
several hosts may share; so the machine's id is signed as well.
"""

from __future__ import annotations

import getpass
import hmac
import json
import os
import platform
import secrets
from contextlib import suppress
from pathlib import Path

from ioplan.core.error_kinds import StoreFault
from ioplan.core.state_folder import state_folder
from ioplan.core.system import HAS_USERS
from ioplan.records.session import Session
from ioplan.results.store.errors import StoreError

# Who starts a session at a shell.

ROOT = 0


def login_name() -> str:
    """The user's, and under sudo its caller's; empty where nobody can tell."""
    caller = os.environ.get("SUDO_USER", "")
    if caller and HAS_USERS and os.geteuid() == ROOT:
        return caller
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):  # a user without an entry in passwd
        return ""


KEY_BYTES = 32
MACHINE_ID = Path("/etc/machine-id")
NO_ID = ("", "uninitialized")
"""What systemd has in an image, and before a first boot has ended."""
SIGNED = ("id", "backend", "request", "resolved")


def sign(session: Session) -> str:
    """The HMAC of what a session was started with, by a key that only this user has.

    Raises StoreError where there is no key and none can be kept.
    """
    kept = session.model_dump(mode="json", include={*SIGNED})
    del kept["resolved"]["signature"]
    text = json.dumps([_machine(), kept], sort_keys=True)
    return hmac.new(user_key(), text.encode(), "sha256").hexdigest()


def signed(session: Session) -> Session:
    """The session with its signature. Raises StoreError."""
    known = session.resolved.model_copy(update={"signature": sign(session)})
    return session.model_copy(update={"resolved": known})


def is_signed(session: Session) -> bool:
    """Whether this user started it, on this host. Raises StoreError."""
    found = session.resolved.signature.encode()
    return hmac.compare_digest(found, sign(session).encode())


def _machine() -> str:
    """The machine-id of this host, else its name."""
    try:
        id = MACHINE_ID.read_text().strip()
    except OSError:
        id = ""
    return platform.node() if id in NO_ID else id


def user_key() -> bytes:
    """The key that only this user has. Raises StoreError."""
    path = state_folder() / "key"
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        _make(path)
        key = path.read_bytes()
    except OSError as error:
        text = f"cannot keep a key in {path}: {error.strerror}"
        raise StoreError(text, StoreFault.SIGNING_KEY) from error
    if len(key) != KEY_BYTES:
        text = f"{path} is damaged; remove it, and start new sessions"
        raise StoreError(text, StoreFault.SIGNING_KEY)
    return key


def _make(path: Path) -> None:
    """Write a key so that others see none or all of it."""
    if path.exists():
        return
    part = path.with_name(f"key.{secrets.token_hex(8)}")
    fd = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        os.write(fd, secrets.token_bytes(KEY_BYTES))
        os.fsync(fd)
        with suppress(FileExistsError):  # another process was first, as good
            path.hardlink_to(part)
    finally:
        os.close(fd)
        part.unlink()
