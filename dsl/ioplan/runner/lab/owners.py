"""Whose lab file it is: a lab names programs to run, and drives to overwrite."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from ioplan.core.error_kinds import LabFault
from ioplan.core.path_steps import path_steps
from ioplan.core.system import HAS_USERS, grp, pwd
from ioplan.core.trusted_users import trusted_users
from ioplan.runner.lab.lab import LabError


def check_owners(
    path: Path,
    itself: str = "the lab",
    why: str = "and a lab file controls what is run and overwritten",
) -> None:
    """As ssh does: no other user may write it, replace it, or redirect a link to it.

    Raises LabError, OSError.
    """
    if not HAS_USERS:
        return
    trusted = trusted_users()
    for place, status in path_steps(path):
        if status.st_uid not in trusted:
            what = f"belongs to another user (uid {status.st_uid})"
        elif _others_write(status):
            what = "can be written by other users"
        else:
            continue
        shown = itself if place == path.absolute() else f"{itself} {path} is not safe:"
        raise LabError(
            f"{shown} {place} {what}, {why}; use a file that only you can write: "
            "chown, and chmod go-w",
            LabFault.LAB_NOT_YOURS,
        )


def _others_write(status: os.stat_result) -> bool:
    """In a sticky folder only the owner of a file may replace it."""
    mode = status.st_mode
    if stat.S_ISLNK(mode) or (stat.S_ISDIR(mode) and mode & stat.S_ISVTX):
        return False
    of_group = mode & stat.S_IWGRP and not _has_one_member(status.st_gid)
    return bool(mode & stat.S_IWOTH or of_group)


def _has_one_member(group: int) -> bool:
    """Many systems give each user a group of the same name, and a umask of 002."""
    users = {one.pw_name for one in pwd.getpwall() if one.pw_gid == group}
    try:
        return len(users | set(grp.getgrgid(group).gr_mem)) <= 1
    except KeyError:
        return False
