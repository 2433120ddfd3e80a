"""The mark of a scratch file: ioplan made it, and what is in it is ioplan's.

While a session writes to it, the mark says `open`; after that, the size and the time
of the last write that the session left. What another program has put there since
does not fit, and is not ioplan's to overwrite. A session that was killed leaves
`open`, which is believed.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
from pathlib import Path

from ioplan.lab.file_key import birth
from ioplan.lab.signature import Unknown, signatures

MARK = "user.ioplan.scratch"
OPEN = "open"
OLD = "1"
"""What versions before this one wrote; it says nothing of the content."""


def foreign(fd: int, path: Path) -> str:
    """What there is that is not ioplan's to overwrite; empty if nothing."""
    said = _read(fd, path)
    if said is None:
        return "a file that ioplan did not make"
    if not _fits(said, fd):
        return "a scratch file that another program has written to since"
    if said == _left(fd):
        return ""  # random data may look like a signature, and this is ioplan's
    try:
        found = signatures(fd)
    except Unknown as unknown:
        return f"a scratch file that may hold data now ({unknown})"
    return f"a scratch file that holds data now ({', '.join(found)})" if found else ""


def begin(fd: int, path: Path) -> None:
    """A session is about to write. What is not ioplan's is no longer called so."""
    said = _read(fd, path)
    if said is not None:
        _change(fd, path, OPEN if _fits(said, fd) else None)


def end(fd: int, path: Path) -> None:
    """A session, if it was one that may write, has ended in order."""
    status = os.fstat(fd)
    writes = fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_ACCMODE != os.O_RDONLY
    if writes and stat.S_ISREG(status.st_mode) and _read(fd, path) is not None:
        _change(fd, path, _left(fd))


def put_mark(fd: int, path: Path) -> None:
    """Make it a scratch file. Raises OSError."""
    try:
        os.setxattr(fd, MARK, OPEN.encode())
    except OSError:
        _put_beside(fd, path, OPEN)


def remove_mark_beside(path: Path) -> None:
    """Of a file that there is no more."""
    _sidecar(path).unlink(missing_ok=True)


def _change(fd: int, path: Path, said: str | None) -> None:
    """One that cannot be changed fits no longer, which only asks for more words."""
    with contextlib.suppress(OSError):
        if said is None:
            _remove(fd, path)
        elif _attribute(fd) is not None:
            os.setxattr(fd, MARK, said.encode())
        else:
            _put_beside(fd, path, said)


def _remove(fd: int, path: Path) -> None:
    remove_mark_beside(path)
    if _attribute(fd) is not None:
        os.removexattr(fd, MARK)


def _fits(said: str, fd: int) -> bool:
    return said in (OPEN, OLD, _left(fd))


def _left(fd: int) -> str:
    """Changing the mark changes the file's ctime, but not its mtime."""
    status = os.fstat(fd)
    return f"left {status.st_size} {status.st_mtime_ns}"


def _read(fd: int, path: Path) -> str | None:
    said = _attribute(fd)
    return said if said is not None else _beside(fd, path)


def _attribute(fd: int) -> str | None:
    try:
        return os.getxattr(fd, MARK).decode(errors="replace")
    except OSError:
        return None


def _sidecar(path: Path) -> Path:
    """The mark of a file where the file system keeps no extended attributes."""
    return path.with_name(f".{path.name}.ioplan-scratch")


def _put_beside(fd: int, path: Path, said: str) -> None:
    """All at once, and never through a link."""
    part = _sidecar(path).with_suffix(".ioplan-mark")
    part.unlink(missing_ok=True)
    with part.open("x") as file:
        file.write(f"{_this(fd)}\n{said}")
    part.replace(_sidecar(path))


def _beside(fd: int, path: Path) -> str | None:
    """A file system that tells no birth gives its inode to the next file."""
    try:
        this, _, said = _sidecar(path).read_text(errors="replace").partition("\n")
    except OSError:
        return None
    return said if birth(fd) and this == _this(fd) else None


def _this(fd: int) -> str:
    status = os.fstat(fd)
    return f"{status.st_dev}:{status.st_ino} {birth(fd)}"
