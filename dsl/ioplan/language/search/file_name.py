"""The names by which plans use files."""

from __future__ import annotations

from pathlib import PurePosixPath


def goes_down(text: str) -> bool:
    """Whether a path goes downwards only."""
    path = PurePosixPath(text)
    unsafe = "\0" in text or "\\" in text or not path.parts
    return not (unsafe or path.is_absolute() or ".." in path.parts)
