"""The one gate for files that ioplan writes for people: reports, exports, plans.

A new file, or a regular file that ioplan wrote itself and nobody has changed since; any
other regular file only by `--force`. Never a device, a pipe, a results store with its
side files, a target, or what a symbolic link leads to. The content is written beside,
synced and renamed, so that the file is the old one or the new one, whole.
"""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import blake2b
from io import FileIO
from pathlib import Path
from typing import BinaryIO

from ioplan.core.error_kinds import CommandFault, ExplainedError
from ioplan.core.system import HAS_USERS, O_BINARY, O_CLOEXEC, O_NOFOLLOW, fcntl
from ioplan.runner.devices.file_id import key_of
from ioplan.runner.devices.inventory import Host

SCRATCH_MARK = "user.ioplan.scratch"
"""An attribute of a file that was made to be overwritten by sessions."""
MARK = "user.ioplan.output"
"""An attribute of what ioplan wrote: the digest of its content."""
SQLITE = b"SQLite format 3\0"
NO_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)
"""What file systems without hard links say."""
OF_STORE = "a database, or a part of one"
STORE_SIDES = ("-wal", "-shm", "-journal", "-reserve")
SCHEMA_BYTES, TABLE_OF_RESULTS = 1 << 20, b"CREATE TABLE run_blob"
"""The tables are made first, so that they are defined near the begin of a store."""


class OutputError(ExplainedError):
    """The file is not written; the text says why, and what to do."""

    kind = CommandFault.USAGE


@contextmanager
def output_file(
    path: Path, *, force: bool = False, mode: int | None = None
) -> Iterator[BinaryIO]:
    """The file to write; it is there under its name once the block has ended well.

    `mode` is its permissions; else they are those of what it replaces, or the usual.
    Raises OutputError, and OSError from writing; then what was there is as it was.
    """
    usual = 0o666 if mode is None else mode
    with _beside(path, force) as (part, before), _opened(part, usual) as file:
        yield file
        _mark(file)
        _finish(file, before if mode is None else None)


@contextmanager
def output_path(path: Path, *, force: bool = False) -> Iterator[Path]:
    """As `output_file`, for what writes a file by its name: that of a new one.

    It gets no mark: a recorded trace cannot be made again, so that only `force`
    replaces it.
    """
    with _beside(path, force) as (part, before):
        yield part
        with part.open("r+b") as file:
            _finish(file, before)


@contextmanager
def output_folder(path: Path) -> Iterator[Path]:
    """A new folder that gets its name once all that is in it was written.

    Raises OutputError where there is something of that name.
    """
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    taken = f"{str(path)!r} exists already; name a new folder"
    if os.path.lexists(path):
        raise OutputError(taken)
    try:
        part.mkdir(parents=True)
        yield part
        if os.path.lexists(path):
            raise OutputError(taken)
        part.rename(path)
        _sync(path.parent)
    finally:
        shutil.rmtree(part, ignore_errors=True)


@contextmanager
def _beside(path: Path, force: bool) -> Iterator[tuple[Path, os.stat_result | None]]:
    """A new name in the same folder, whose file takes the place of what was there."""
    before = _checked(path, force)
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        yield part, before
        _put(part, path, before)
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


def check_output(path: Path) -> None:
    """Tell before long work what `output_file` with `force` would refuse after it.

    Raises OutputError.
    """
    _checked(path, force=True)
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise OutputError(f"cannot write into {str(path.parent)!r}")


def rewrite(path: Path, content: bytes) -> None:
    """Another content for a file that the user named, such as a plan's new layout.

    Its owner, its mode and its other names stay. Raises OutputError, OSError.
    """
    before = _checked(path, force=True)
    if before and (before.st_nlink > 1 or not _may_give(before)):
        _overwrite(path, before, content)
        return
    with output_file(path, force=True) as file:
        file.write(content)


def _may_give(before: os.stat_result) -> bool:
    """Whether a new file of this process can have the same owner and group."""
    if not HAS_USERS or os.geteuid() == 0:
        return True
    groups = (os.getegid(), *os.getgroups())
    return before.st_uid == os.geteuid() and before.st_gid in groups


def _overwrite(path: Path, before: os.stat_result, content: bytes) -> None:
    """In the file itself; what fails is put back."""
    fd = os.open(path, os.O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_BINARY)
    with os.fdopen(fd, "r+b", buffering=0) as file:
        if not os.path.samestat(before, os.fstat(fd)):
            raise OutputError(
                f"{str(path)!r} was replaced in the meantime; it was not changed"
            )
        old = file.read()
        try:
            _put_content(file, content, len(old))
        except OSError:
            _put_content(file, old, len(old))
            raise


def _put_content(file: FileIO, content: bytes, had_bytes: int) -> None:
    """First what makes it longer: a full disk shows before anything is replaced."""
    for begin, end in ((had_bytes, len(content)), (0, min(had_bytes, len(content)))):
        at = begin
        while at < end:
            file.seek(at)
            at += file.write(content[at:end])
    file.truncate(len(content))
    os.fsync(file.fileno())


@contextmanager
def changing(folder: Path) -> Iterator[None]:
    """One process at a time reads files of a folder and writes what follows from them.

    It is the folder that is locked, so no file is left of it. Raises OSError.
    """
    if not HAS_USERS:  # where folders cannot be opened
        yield
        return
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | O_CLOEXEC)
    try:
        with suppress(OSError):  # file systems that lock no folders
            fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def _checked(path: Path, force: bool) -> os.stat_result | None:
    """What is there now, which may be replaced; None where nothing is."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        reason = f"is {OF_STORE}" if _is_beside_store(path) else ""
        if _is_of_devices(path.parent):
            reason = "would be a file among devices, which are named there"
        if reason:
            raise OutputError(f"{str(path)!r} {reason}; name another") from None
        return None
    except OSError as error:
        raise OutputError(f"cannot write {str(path)!r}: {error.strerror}") from error
    if reason := _never(path, found):
        raise OutputError(f"{str(path)!r} is {reason}; name another file")
    if not force and not _is_ours(path):
        raise OutputError(
            f"{str(path)!r} exists, and is not an unmodified file written by ioplan; "
            "name another, or add --force to replace it"
        )
    return found


def _never(path: Path, found: os.stat_result) -> str:
    """Why no word of the user's lets it be replaced; empty where one may."""
    if stat.S_ISLNK(found.st_mode):
        return "a symbolic link"
    if not stat.S_ISREG(found.st_mode):
        return "not a regular file"
    if _begins_with(path, SQLITE) or _is_beside_store(path):
        return OF_STORE
    if _attribute(path, SCRATCH_MARK):
        return "an ioplan scratch file, which a session may use"
    if _is_in_use(path, found):
        return "in use, by a session or as a loop device"
    return ""


def _is_in_use(path: Path, found: os.stat_result) -> bool:
    """Whether it is locked, as open targets are, or has a device or swap on it."""
    with path.open("rb") as file:
        try:
            with suppress(AttributeError):
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:
            pass  # file systems without locks
    with suppress(OSError):  # other systems, or none of /proc and /sys
        return any(Host().file_obstacles(key_of(found)))
    return False


def _is_of_devices(folder: Path) -> bool:
    """Whether a misspelt device would become a file in memory there."""
    try:
        place = folder.stat().st_dev
        return place == Path("/dev").stat().st_dev != Path("/").stat().st_dev
    except OSError:
        return False


def _begins_with(path: Path, magic: bytes) -> bool:
    """Where it cannot be read, it may be anything."""
    try:
        with path.open("rb") as file:
            return file.read(len(magic)) == magic
    except OSError as error:
        raise OutputError(f"cannot read {str(path)!r}: {error.strerror}") from error


def _is_beside_store(path: Path) -> bool:
    for end in STORE_SIDES:
        store = path.with_name(path.name.removesuffix(end))
        if path.name.endswith(end) and store.is_file() and _begins_with(store, SQLITE):
            return True
    return False


def is_of_results(path: Path) -> bool:
    """Whether it is a store of ioplan's results, or a part of one."""
    sides = (path.name.removesuffix(end) for end in ("", *STORE_SIDES))
    return any(_has_results(path.with_name(name)) for name in sides if name)


def _has_results(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            head = file.read(SCHEMA_BYTES)
    except OSError:
        return False
    return head.startswith(SQLITE) and TABLE_OF_RESULTS in head


def _attribute(path: Path, name: str) -> bytes:
    """Empty where there is none, or the file system keeps none."""
    try:
        return os.getxattr(path, name, follow_symlinks=False)
    except (OSError, AttributeError):
        return b""


def _is_ours(path: Path) -> bool:
    said = _attribute(path, MARK)
    if not said:
        return False
    with path.open("rb") as file:
        return said == _digest(file)


def _digest(file: BinaryIO) -> bytes:
    digest = blake2b(digest_size=16)
    while part := file.read(1 << 20):
        digest.update(part)
    return digest.hexdigest().encode()


@contextmanager
def _opened(part: Path, mode: int) -> Iterator[BinaryIO]:
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_BINARY
    try:
        fd = os.open(part, flags, mode)
    except OSError as error:
        raise OutputError(
            f"cannot write into {str(part.parent)!r}: {error.strerror}"
        ) from error
    with os.fdopen(fd, "w+b") as file:
        yield file


def _mark(file: BinaryIO) -> None:
    """Where no attributes are kept, it counts as another's."""
    file.flush()
    file.seek(0)
    with suppress(OSError, AttributeError):
        os.setxattr(file.fileno(), MARK, _digest(file))


def _finish(file: BinaryIO, before: os.stat_result | None) -> None:
    """Give it owner and mode of what it replaces, and sync it to the disk."""
    if before and HAS_USERS:
        with suppress(OSError):
            os.fchown(file.fileno(), before.st_uid, before.st_gid)
        os.fchmod(file.fileno(), before.st_mode & 0o777)  # not as another user
    os.fsync(file.fileno())


def _put(part: Path, path: Path, before: os.stat_result | None) -> None:
    """Give it its name, unless that has come to mean another file meanwhile."""
    try:
        if before is None:
            _name(part, path)
        elif not os.path.samestat(before, path.lstat()):
            raise OutputError(
                f"{str(path)!r} was replaced in the meantime; it was not changed"
            )
        else:
            part.replace(path)
    except FileExistsError:
        raise OutputError(
            f"{str(path)!r} appeared in the meantime; it was not changed"
        ) from None
    except FileNotFoundError:
        raise OutputError(f"{str(path)!r} disappeared in the meantime") from None
    _sync(path.parent)


def _name(part: Path, path: Path) -> None:
    """Raises FileExistsError where somebody else has made one."""
    try:
        os.link(part, path)
    except OSError as error:
        if error.errno not in NO_LINKS:
            raise
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | O_CLOEXEC, 0o600))
        part.replace(path)


def _sync(folder: Path) -> None:
    if not HAS_USERS:  # where folders cannot be opened
        return
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
