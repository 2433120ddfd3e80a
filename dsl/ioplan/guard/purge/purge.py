"""Makes a target as new, and proves it by reading back.

What erases it is the lab's choice, `purge` in `[targets.NAME]`; a file's blocks are
always given back to its file system. No way is trusted: marks are written over the
whole target before, and none of them may be left after. Else the purge has failed.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable

from ioplan.backends import BackendError, ProgressCallback, ignore_progress
from ioplan.devices.nvme import NvmeError
from ioplan.guard.purge.command import commanded
from ioplan.guard.purge.kernel import discard, punch, write_zeros
from ioplan.guard.purge.marks import Marks
from ioplan.guard.purge.nvme import formatting, sanitizing
from ioplan.guard.target import Target
from ioplan.target_entry import PurgeCommand

Act = Callable[[ProgressCallback], str]
"""Erases, and returns how."""

OTHERS = (
    "choose another way in the lab, with `purge` in the target's [targets.NAME]: "
    '"format" or "sanitize" for NVMe, or "zeros", which overwrites all of it'
)


def purge(target: Target, tell: ProgressCallback = ignore_progress) -> str:
    """Erase it. Returns how, and what reads back. Raises BackendError.

    Nothing is written before all is checked that the chosen way needs.
    """
    target.check_name()
    try:
        act = _act(target)
        marks = Marks(target)
        marks.write()
        how = act(tell)
        os.fsync(target.fd)
        found = marks.read()
    except OSError as error:
        raise BackendError(_failed(target, error)) from error
    except NvmeError as error:
        raise BackendError(
            f"cannot purge {target.facts.path}: {error}; {_instead(target)}"
        ) from error
    if found.left:
        raise BackendError(
            f"{target.facts.path} was {how}, and says that all went well, but "
            f"{found.left} of {found.count} marks are still there, the first at byte "
            f"{found.first_byte}: it is not erased; {_instead(target)}"
        )
    return f"{how}; {found}"


def _act(target: Target) -> Act:
    """What is to be done. Raises BackendError where it must not be."""
    if target.facts.kind != "block":
        return lambda _: punch(target)
    match target.entry.purge if target.entry else "discard":
        case PurgeCommand() as said:
            return lambda _: commanded(target, said)
        case "format":
            return formatting(target)
        case "sanitize":
            return sanitizing(target)
        case "zeros":
            return lambda tell: write_zeros(target, tell)
    return lambda tell: discard(target, tell)


def _failed(target: Target, error: OSError) -> str:
    text = f"cannot purge {target.facts.path}: {error.strerror or error}"
    if error.errno in (errno.EOPNOTSUPP, errno.ENOTTY):
        text += f"; it cannot be erased so: {_instead(target)}"
    if error.errno in (errno.EACCES, errno.EPERM):
        text += "; only root may do this to it"
    return text


def _instead(target: Target) -> str:
    if target.facts.kind != "block":
        return "put it on another file system, or plan without `purge`"
    return OTHERS
