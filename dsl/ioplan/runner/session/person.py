"""Who starts a session at a shell."""

from __future__ import annotations

import getpass
import os

from ioplan.core.system import HAS_USERS

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
