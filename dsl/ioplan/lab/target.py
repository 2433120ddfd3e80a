"""Opening a target. The default is to refuse.

Nothing is written but what ioplan made itself, or what the user named with
`--overwrite`. An open target stays locked and, if it is a block device that is
to be written, held exclusively until it is closed.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import stat
import struct
from pathlib import Path

from ioplan.backends import TargetFacts, TargetRequest
from ioplan.lab.scratch import Done, create_scratch, is_scratch

BLKGETSIZE64 = 0x80081272
BLKSSZGET = 0x1268
BLKROGET = 0x125E
BLOCK_CANDIDATES = (512, 1024, 2048, 4096)


class TargetError(Exception):
    """A target cannot be used; the text says why and what to do."""


def make_scratch(path: Path, size_bytes: int, done: Done) -> None:
    """Make a scratch file where there is none. Raises TargetError."""
    if not path.absolute().parent.is_dir():
        raise TargetError(_missing(path))
    try:
        create_scratch(path, size_bytes, done)
    except OSError as error:
        raise TargetError(f"cannot make {str(path)!r}: {_reason(error)}") from None


class Target:
    """An open and locked target."""

    def __init__(self, facts: TargetFacts, fd: int) -> None:
        self.facts, self.fd = facts, fd

    def close(self) -> None:
        """Give it back."""
        if self.fd >= 0:
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
    except (OSError, ValueError) as error:
        raise TargetError(f"cannot use {str(path)!r}: {_reason(error)}") from None


def _reason(error: OSError | ValueError) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def _missing(path: Path) -> str:
    if not path.absolute().parent.is_dir():
        return f"there is no folder {str(path.parent)!r} for the target {path.name!r}"
    return (
        f"there is no target {str(path)!r}; to make a scratch file there, "
        f"add for example --create 1GiB"
    )


def _open(path: Path, request: TargetRequest) -> Target:
    mode = path.stat().st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISBLK(mode)):
        raise TargetError(f"{path} is neither a file nor a block device")
    flags = os.O_RDWR if request.writes else os.O_RDONLY
    if stat.S_ISBLK(mode) and request.writes:
        flags |= os.O_EXCL
    fd = _open_fd(path, flags)
    try:
        return _checked(path, fd, request)
    except BaseException:
        os.close(fd)
        raise


def _open_fd(path: Path, flags: int) -> int:
    try:
        return os.open(path, flags | os.O_CLOEXEC)
    except OSError as error:
        if isinstance(error, BlockingIOError) or error.errno == 16:
            raise TargetError(
                f"{path} is in use: mounted, swapped to or held by another program; "
                f"free it first"
            ) from None
        raise


def _checked(path: Path, fd: int, request: TargetRequest) -> Target:
    """All that must be so before the target may be used."""
    status = os.fstat(fd)
    _lock(path, fd)
    if stat.S_ISREG(status.st_mode):
        facts = _file_facts(path, status)
        allowed = is_scratch(fd, path)
    else:
        facts = _device_facts(path, fd, request)
        allowed = False
    if request.writes and not allowed and not _named(path, request):
        raise TargetError(_refusal(facts))
    if facts.capacity_bytes < facts.block_bytes:
        raise TargetError(
            f"{path} is smaller than a block of {facts.block_bytes} B; "
            f"use a larger target, for example --create 1GiB for a new file"
        )
    _check_size(facts, request)
    return Target(facts, fd)


def _check_size(facts: TargetFacts, request: TargetRequest) -> None:
    if facts.kind == "file" and request.create_bytes:
        size = Path(facts.path).stat().st_size
        if size != request.create_bytes:
            raise TargetError(
                f"{facts.path} exists with {size} B, not {request.create_bytes} B; "
                f"leave --create out to use it, or name another file"
            )


def _lock(path: Path, fd: int) -> None:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise TargetError(
            f"another ioplan uses {path} now; wait until it ends"
        ) from None


def _named(path: Path, request: TargetRequest) -> bool:
    """Whether the user has said by name that it may be overwritten."""
    return any(Path(name).resolve() == path for name in request.overwrite)


def _refusal(facts: TargetFacts) -> str:
    what = (
        "a block device" if facts.kind == "block" else "a file that ioplan did not make"
    )
    return (
        f"the plan writes, and {facts.path} is {what}: all that is stored on it "
        f"would be lost; to allow that, add --overwrite {facts.path}"
    )


def _file_facts(path: Path, status: os.stat_result) -> TargetFacts:
    block = _direct_block(path, status.st_size)
    return TargetFacts(
        path=str(path),
        kind="file",
        capacity_bytes=status.st_size // block * block,
        block_bytes=block,
        identity={"inode": f"{status.st_dev}:{status.st_ino}"},
    )


def _device_facts(path: Path, fd: int, request: TargetRequest) -> TargetFacts:
    if request.writes and _ioctl_int(fd, BLKROGET, "i"):
        raise TargetError(f"{path} is read-only")
    return TargetFacts(
        path=str(path),
        kind="block",
        capacity_bytes=_ioctl_int(fd, BLKGETSIZE64, "Q"),
        block_bytes=_ioctl_int(fd, BLKSSZGET, "i"),
        identity=_device_identity(path),
    )


def _ioctl_int(fd: int, request: int, kind: str) -> int:
    answer = fcntl.ioctl(fd, request, bytes(struct.calcsize(kind)))
    return int(struct.unpack(kind, answer)[0])


def _device_identity(path: Path) -> dict[str, str]:
    """What sysfs says of a device; the lab's guard checks more."""
    folder = Path("/sys/class/block") / path.name
    found = {}
    for name in ("wwid", "device/model", "device/serial", "nsid", "device/wwid"):
        try:
            text = (folder / name).read_text().strip()
        except OSError:
            continue
        if text:
            found[name.removeprefix("device/")] = text
    return found


def _direct_block(path: Path, size: int) -> int:
    """The smallest block that direct I/O on a file takes; found by trying."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_DIRECT | os.O_CLOEXEC)
    except OSError:
        return BLOCK_CANDIDATES[0]  # the backend refuses buffered I/O, and says so
    try:
        return next((b for b in BLOCK_CANDIDATES if _reads(fd, b, size)), 4096)
    finally:
        os.close(fd)


def _reads(fd: int, block: int, size: int) -> bool:
    if size < 2 * block:
        return True
    with mmap.mmap(-1, block) as buffer:
        try:
            return os.preadv(fd, [buffer], block) == block
        except OSError:
            return False


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
