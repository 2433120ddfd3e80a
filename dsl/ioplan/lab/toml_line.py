"""In which line of a TOML file a key is; the parser does not tell."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

KEY = r"""[A-Za-z0-9_-]+|"[^"]*"|'[^']*'"""
HEADER = re.compile(rf"\s*\[\s*((?:{KEY})(?:\s*\.\s*(?:{KEY}))*)\s*\]")
VALUE = re.compile(rf"\s*((?:{KEY})(?:\s*\.\s*(?:{KEY}))*)\s*=")

KeyPath = tuple[str, ...]


def line_of(text: str, key: Sequence[str]) -> int | None:
    """The line of the key, or of the nearest that it is within; counted from 1.

    A table that only its parts name is where the first of them is.
    """
    wanted, found = tuple(key), list(_keys(text))
    if not wanted:
        return None
    within = [(len(p), number) for number, p in found if p == wanted[: len(p)]]
    if within:
        return max(within, key=lambda one: one[0])[1]
    parts = (number for number, p in found if p[: len(wanted)] == wanted)
    return next(parts, None)


def _keys(text: str) -> Iterator[tuple[int, KeyPath]]:
    table: KeyPath = ()
    for number, line in enumerate(text.splitlines(), 1):
        if found := HEADER.match(line):
            table = _parts(found[1])
            yield number, table
        elif found := VALUE.match(line):
            yield number, table + _parts(found[1])


def _parts(dotted: str) -> KeyPath:
    return tuple(part.strip("\"'") for part in re.findall(KEY, dotted))
