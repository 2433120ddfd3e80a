"""Whose files may say what is done."""

from __future__ import annotations

import os


def trusted_users() -> set[int]:
    """This user and root; who has become root with sudo could run anything anyway."""
    user = os.geteuid()
    caller = os.environ.get("SUDO_UID", "") if user == 0 else ""
    return {0, user} | ({int(caller)} if caller.isdigit() else set())
