"""Erases a target, and proves it by reading back.

The lab chooses the method, with `purge` in `[targets.NAME]`; a file's blocks are
always given back to its file system. No method is trusted: marks are written all
over the target before, and if one of them is left after, the purge has failed.
"""

from __future__ import annotations

import errno
import os

from ioplan.backends import BackendError, ProgressCallback, ignore_progress
from ioplan.runner.devices.nvme import NvmeError
from ioplan.runner.guard.purge.command import run_command
from ioplan.runner.guard.purge.kernel import discard, punch, write_zeros
from ioplan.runner.guard.purge.marks import Marks
from ioplan.runner.guard.purge.nvme import Erase, prepare_format, prepare_sanitize
from ioplan.runner.guard.target import Target
from ioplan.target_entry import PurgeCommand

OTHER_METHODS = (
    "choose another method in the lab, with `purge` in the target's [targets.NAME]: "
    '"format" or "sanitize" for NVMe, or "zeros", which overwrites the target'
)


def purge(target: Target, on_progress: ProgressCallback = ignore_progress) -> str:
    """Erase it. Returns how, and what reads back. Raises BackendError.

    Nothing is written before all requirements of the method are checked.
    """
    target.check_name()
    try:
        erase = _erase_method(target)
        marks = Marks(target)
        marks.write()
        how = erase(on_progress)
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
            f"{target.facts.path} was {how}, and reported success, but "
            f"{found.left} of {found.count} marks were not erased, the first at byte "
            f"{found.first_byte}; {_instead(target)}"
        )
    return f"{how}; {found}"


def _erase_method(target: Target) -> Erase:
    """The lab's method. Raises BackendError, OSError where it must not be used."""
    if target.facts.kind != "block":
        return lambda _: punch(target)
    match target.entry.purge if target.entry else "discard":
        case PurgeCommand() as command:
            return lambda _: run_command(target, command)
        case "format":
            return prepare_format(target)
        case "sanitize":
            return prepare_sanitize(target)
        case "zeros":
            return lambda on_progress: write_zeros(target, on_progress)
    return lambda on_progress: discard(target, on_progress)


def _failed(target: Target, error: OSError) -> str:
    text = f"cannot purge {target.facts.path}: {error.strerror or error}"
    if error.errno in (errno.EOPNOTSUPP, errno.ENOTTY):
        text += f"; it does not support this method: {_instead(target)}"
    if error.errno in (errno.EACCES, errno.EPERM):
        text += "; this requires root"
    return text


def _instead(target: Target) -> str:
    if target.facts.kind != "block":
        return "use another file system, or a plan without `purge`"
    return OTHER_METHODS
