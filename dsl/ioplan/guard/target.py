"""Opening a target. The default is to refuse.

Nothing is written but what ioplan made itself, or what the user named with
`--overwrite`; of block devices only those that the lab lets be written. An open
target stays locked and, if it is a block device that is to be written, held
exclusively until it is closed.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import time
from pathlib import Path

from ioplan.backends import TargetFacts, TargetRequest
from ioplan.devices.device import Device, NoDevice
from ioplan.devices.facts import device_facts, file_facts
from ioplan.devices.file_id import key_at, key_of
from ioplan.devices.identity import differences
from ioplan.devices.inventory import Census
from ioplan.devices.open_files import openers
from ioplan.devices.usage import Host
from ioplan.guard.errors import ConsentError, TargetError
from ioplan.guard.guard import (
    IN_USE,
    check_device_consent,
    check_file_consent,
    entry_refusals,
    file_refusals,
    lab_refusals,
    no_entry,
    open_refusals,
    refusals,
)
from ioplan.guard.scratch_file import Done, begin, create_scratch, end, foreign
from ioplan.guard.shared_lock import share, strangers
from ioplan.target_entry import LabTarget

__all__ = [
    "ConsentError",
    "Target",
    "TargetError",
    "capacity_of",
    "make_scratch",
    "open_target",
]

KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFCHR: "a character device",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
}
KERNELS_OWN = ("/proc/", "/sys/")


def make_scratch(path: Path, size_bytes: int, done: Done) -> None:
    """Make a scratch file where there is none. Raises TargetError."""
    if not path.absolute().parent.is_dir():
        raise TargetError(_missing(path))
    try:
        create_scratch(path, size_bytes, done)
    except OSError as error:
        raise TargetError(f"cannot make {str(path)!r}: {_reason(error)}") from None


LOCK_WAIT_S = 5.0


class Target:
    """An open and locked target."""

    def __init__(
        self, facts: TargetFacts, fd: int, entry: LabTarget | None = None
    ) -> None:
        self.facts, self.fd, self.entry = facts, fd, entry

    def check_name(self) -> None:
        """For those that open it by its name: that still leads here.

        Raises TargetError.
        """
        path = self.facts.path
        named = key_at(Path(path))
        if named is None:
            raise TargetError(f"{path} has gone")
        if named != key_of(os.fstat(self.fd)):
            raise TargetError(
                f"{path} is not what it was when the session began: it was replaced, "
                f"and nothing was written to it since"
            )

    def close(self) -> None:
        """Give it back."""
        if self.fd >= 0:
            end(self.fd, Path(self.facts.path))
            os.close(self.fd)
            self.fd = -1


def open_target(request: TargetRequest) -> Target:
    """Open what the user named; it exists. Raises TargetError."""
    if request.path is None:
        raise TargetError(
            "no target is named: add --target PATH, and --create SIZE to make a "
            "scratch file there"
        )
    path = Path(request.path)
    try:
        return _open(path.resolve(strict=True), request)
    except FileNotFoundError:
        raise TargetError(_missing(path)) from None
    except PermissionError as error:
        raise TargetError(
            f"no permission to use {path}: {error.strerror}; run as a user who may, "
            f"for a device as a member of its group"
        ) from None
    except (OSError, ValueError, NoDevice) as error:
        raise TargetError(f"cannot use {str(path)!r}: {_reason(error)}") from None


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def _missing(path: Path) -> str:
    if not path.absolute().parent.is_dir():
        return f"there is no folder {str(path.parent)!r} for the target {path.name!r}"
    if path.is_relative_to("/dev"):
        return f"there is no device {str(path)!r}; ioplan targets shows those here"
    return (
        f"there is no target {str(path)!r}; to make a scratch file there, "
        f"add for example --create 1GiB"
    )


def _open(path: Path, request: TargetRequest) -> Target:
    status = path.stat()
    if stat.S_ISBLK(status.st_mode):
        return _open_device(path, Device.numbered(status.st_rdev), request)
    if stat.S_ISREG(status.st_mode) and not str(path).startswith(KERNELS_OWN):
        return _open_file(path, request)
    kind = KINDS.get(stat.S_IFMT(status.st_mode), "the kernel's own")
    raise TargetError(
        f"{path} is neither a file nor a block device, but {kind}; "
        f"ioplan targets shows the block devices"
    )


def _open_file(path: Path, request: TargetRequest) -> Target:
    fd = os.open(path, (os.O_RDWR if request.writes else os.O_RDONLY) | os.O_CLOEXEC)
    try:
        _lock(path, fd, request)
        facts = file_facts(path, fd)
        if request.writes:
            _check_file(path, fd, request)
        _check_size(facts, request)
        _share(path, fd, request)
        if request.writes:
            begin(fd, path)
        return Target(facts, fd, request.entry)
    except BaseException:
        os.close(fd)
        raise


def _check_file(path: Path, fd: int, request: TargetRequest) -> None:
    """All that must be so before a file may be written."""
    for use in file_refusals(os.fstat(fd), Host(), request.together):
        raise TargetError(f"{path} {use}")
    for reason in lab_refusals(request.entry) if request.entry else ():
        raise TargetError(f"{path} is not written: {reason}{_where(request)}")
    if what := foreign(fd, path):
        check_file_consent(path, what, request.overwrite)


def _open_device(path: Path, device: Device, request: TargetRequest) -> Target:
    census = Census()
    if request.writes:
        for use in refusals(device, census.host):
            raise TargetError(f"{path} {use}")
    fd = _open_fd(path, request)
    try:
        _check_device(path, fd, device, request, census)
        facts = device_facts(path, fd, census.identity(device))
        _check_size(facts, request)
        _share(path, fd, request)
        return Target(facts, fd, request.entry)
    except BaseException:
        os.close(fd)
        raise


def _open_fd(path: Path, request: TargetRequest) -> int:
    """Exclusively if it is to be written, so that nobody can mount it meanwhile."""
    flags = os.O_RDWR | os.O_EXCL if request.writes else os.O_RDONLY
    try:
        return os.open(path, flags | os.O_CLOEXEC)
    except OSError as error:
        if error.errno != errno.EBUSY:
            raise
    found = openers(path.stat())
    for one in strangers(found, request.together):
        raise TargetError(f"{path} is held by {one}; end that program first")
    if found:  # the one that leads holds it for all of this kernel
        return os.open(path, os.O_RDWR | os.O_CLOEXEC)
    raise TargetError(f"{path} {IN_USE}")


def _check_device(
    path: Path, fd: int, device: Device, request: TargetRequest, census: Census
) -> None:
    """All that must be so before a device may be used; in this order."""
    if os.fstat(fd).st_rdev != device.number:
        raise TargetError(
            f"{path} became another device while it was opened; try again"
        )
    _lock(path, fd, request)
    identity = census.identity(device)
    if not request.writes:
        for wrong in differences(identity, request.entry) if request.entry else ():
            raise TargetError(f"{path} is not the device that the lab names: {wrong}")
        return
    for use in open_refusals(device, fd, request.together):
        raise TargetError(f"{path} {use}")
    if request.entry is None:
        raise TargetError(no_entry(path, identity, census.id(device), request.lab))
    for reason in entry_refusals(identity, request.entry, census.all):
        raise TargetError(f"{path} is not written: {reason}{_where(request)}")
    check_device_consent(device, census, request.overwrite)


def _where(request: TargetRequest) -> str:
    return f"\n(the lab is {request.lab})" if request.lab else ""


def _share(path: Path, fd: int, request: TargetRequest) -> None:
    """Let the other hosts of the session in, now that all is checked."""
    if not (request.together and request.leads):
        return
    try:
        share(fd)
    except BlockingIOError:
        raise TargetError(_in_use(path, fd)) from None


def _lock(path: Path, fd: int, request: TargetRequest) -> None:
    """Take it; what a killed ioplan left behind needs a moment to end."""
    alone = request.leads or not request.together
    how = fcntl.LOCK_EX if alone else fcntl.LOCK_SH
    deadline_s = time.monotonic() + LOCK_WAIT_S
    while True:
        try:
            fcntl.flock(fd, how | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > deadline_s:
                raise TargetError(_in_use(path, fd)) from None
        time.sleep(0.01)


def _in_use(path: Path, fd: int) -> str:
    """Who has the lock: an ioplan, or the backend of one that is gone or gave it up."""
    text = f"another ioplan uses {path} now"
    if found := openers(os.fstat(fd)):
        text += f", or what one left behind: {', '.join(map(str, found))}"
    return f"{text}; wait until it ends"


def _check_size(facts: TargetFacts, request: TargetRequest) -> None:
    if facts.capacity_bytes < facts.block_bytes:
        raise TargetError(
            f"{facts.path} is smaller than a block of {facts.block_bytes} B; "
            f"use a larger target, for example --create 1GiB for a new file"
        )
    if facts.kind == "file" and request.create_bytes:
        size = Path(facts.path).stat().st_size
        if size != request.create_bytes:
            raise TargetError(
                f"{facts.path} exists with {size} B, not {request.create_bytes} B; "
                f"leave --create out to use it, or name another file"
            )


def capacity_of(path: str) -> int:
    """How large a target is, without locking it. Raises TargetError."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        raise TargetError(_missing(Path(path))) from None
    except OSError as error:
        raise TargetError(f"cannot open {path}: {error.strerror}") from None
    try:
        return os.lseek(fd, 0, os.SEEK_END)
    finally:
        os.close(fd)
