"""How large a target is, and whether that is enough."""

from __future__ import annotations

import os
from pathlib import Path

from ioplan.backends.backend import TargetFacts, TargetRequest
from ioplan.core.error_kinds import TargetFault
from ioplan.core.system import O_CLOEXEC
from ioplan.runner.guard.errors import TargetError, missing


def check_size(facts: TargetFacts, request: TargetRequest) -> None:
    """Check a target that is open. Raises TargetError."""
    if facts.capacity_bytes < facts.block_bytes:
        raise TargetError(
            f"{facts.path} is smaller than a block of {facts.block_bytes} B; "
            f"use a larger target, for example --create 1GiB for a new file",
            TargetFault.BELOW_BLOCK,
        )
    if facts.kind == "file" and request.create_bytes:
        size_bytes = Path(facts.path).stat().st_size
        if size_bytes != request.create_bytes:
            raise TargetError(
                f"{facts.path} exists with {size_bytes} B, not {request.create_bytes} "
                "B; remove --create to use it, or name another file",
                TargetFault.SIZE_MISMATCH,
            )


def capacity_of(path: str) -> int:
    """The size of a target in bytes, without locking it. Raises TargetError."""
    try:
        fd = os.open(path, os.O_RDONLY | O_CLOEXEC)
    except FileNotFoundError:
        raise missing(Path(path)) from None
    except PermissionError as error:
        text = f"cannot open {path}: {error.strerror}"
        raise TargetError(text, TargetFault.NO_PERMISSION) from None
    except OSError as error:
        raise TargetError(f"cannot open {path}: {error.strerror}") from None
    try:
        return os.lseek(fd, 0, os.SEEK_END)
    finally:
        os.close(fd)
