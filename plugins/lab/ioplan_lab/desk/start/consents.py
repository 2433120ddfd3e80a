"""The signed lists that a desk has, as files of its own folder."""

from __future__ import annotations

import os
from pathlib import Path

from msgspec import Struct

from ioplan.core import O_CLOEXEC, O_NOFOLLOW, ExplainedError
from ioplan.runner import Lab
from ioplan.runner.guard import MAX_BYTES, ConsentList, signed_list
from ioplan_lab.desk.errors import DeskError, Missing
from ioplan_lab.desk.people.people import NAME


class Kept(Struct, frozen=True):
    """A list by its name; `why` says why it does not hold, if it does not."""

    name: str
    found: ConsentList | None
    why: str = ""


def all_lists(folder: Path, lab: Lab) -> list[Kept]:
    """By name, also those that do not hold."""
    return [_kept(file, lab) for file in sorted(folder.glob("*.json"))]


def _kept(file: Path, lab: Lab) -> Kept:
    try:
        with file.open("rb") as opened:
            text = opened.read(MAX_BYTES).decode("utf-8", "replace")
        return Kept(file.stem, signed_list(text, lab, None))
    except (ExplainedError, OSError) as error:
        return Kept(file.stem, None, str(error))


def add_list(folder: Path, name: str, text: str, lab: Lab) -> None:
    """Keep a list that holds. Raises ConsentListError, DeskError for a wrong name."""
    if not NAME.fullmatch(name):
        raise DeskError("a list's name has letters, digits, and . _ - @ only")
    signed_list(text, lab, None)
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | O_CLOEXEC | O_NOFOLLOW
        with os.fdopen(os.open(_file(folder, name), flags, 0o600), "w") as file:
            file.write(text)
    except FileExistsError:
        raise DeskError(f"there is a list {name!r} already") from None
    except OSError as error:
        raise DeskError(f"cannot keep the list: {error.strerror}") from error


def remove_list(folder: Path, name: str) -> None:
    """Raises Missing."""
    try:
        if not NAME.fullmatch(name):
            raise FileNotFoundError
        _file(folder, name).unlink()
    except OSError:
        raise Missing(f"there is no list of consents {name!r}") from None


def _file(folder: Path, name: str) -> Path:
    return folder / f"{name}.json"
