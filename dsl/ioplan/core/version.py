"""The version of ioplan that runs."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.metadata import EntryPoints


# What installed packages say of themselves, read from their own files.
#
# `importlib.metadata` knows more kinds of packages, and takes as long to import as
# two starts of Python: it is asked for what is not found here.

INFO = ".dist-info"


def version_of(name: str) -> str:
    """A package's version, by its folder `NAME-VERSION.dist-info`; "" if none is."""
    for _, folder in _infos(f"{name}-"):
        return folder.removesuffix(INFO).partition("-")[2]
    return ""


def entry_value(group: str, name: str) -> str:
    """What an entry point stands for, `module:attribute`; "" where none is found.

    Of several packages that have it, the first on Python's path counts.
    """
    return entry_values(group).get(name, "")


def entry_values(group: str) -> dict[str, str]:
    """What each entry point of a group stands for, by its name."""
    found: dict[str, str] = {}
    for place, folder in _infos(""):
        values = _entries(os.path.join(place, folder, "entry_points.txt"), group)  # noqa: PTH118
        found = values | found
    return found


def listed_entries(group: str) -> EntryPoints:
    """The entry points of a group, with their packages, of every kind of package."""
    from importlib.metadata import entry_points  # noqa: PLC0415  as the module says

    return entry_points(group=group)


def listed_version(name: str) -> str:
    """A package's version, of every kind of package; "" if none is."""
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415

    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def _infos(begin: str) -> Iterator[tuple[str, str]]:
    for place in sys.path:
        try:
            names = os.listdir(place or ".")  # noqa: PTH208  pathlib costs more
        except OSError:
            continue
        yield from (
            (place or ".", one)
            for one in names
            if one.endswith(INFO) and one.startswith(begin)
        )


def _entries(path: str, group: str) -> dict[str, str]:
    """The lines of one section; the files have no other syntax that matters here."""
    try:
        with open(path, encoding="utf-8") as file:  # noqa: PTH123
            text = file.read()
    except (OSError, UnicodeDecodeError):
        return {}
    head, found, inside = f"[{group}]", dict[str, str](), False
    if head not in text:
        return {}
    for line in map(str.strip, text.splitlines()):
        if line.startswith("["):
            inside = line == head
        elif inside and "=" in line and not line.startswith(("#", ";")):
            key, _, value = line.partition("=")
            found[key.strip()] = value.strip()
    return found


FROM_SOURCE = "0+source"
"""Where ioplan is imported from the source tree, and not installed."""

__version__ = version_of("ioplan") or listed_version("ioplan") or FROM_SOURCE
