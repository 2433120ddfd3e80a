"""In which line of a TOML file a key is; the parser does not tell."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

KEY = r"""[A-Za-z0-9_-]+|"[^"]*"|'[^']*'"""
TABLE = re.compile(rf"\s*\[\s*((?:{KEY})(?:\s*\.\s*(?:{KEY}))*)\s*\]")
VALUE = re.compile(rf"\s*((?:{KEY})(?:\s*\.\s*(?:{KEY}))*)\s*=")

Path = tuple[str, ...]


def line_of(text: str, key: Sequence[str]) -> int | None:
    """The line of the key, or of the nearest that it is within; counted from 1."""
    wanted = tuple(key)
    within = [
        (len(path), number)
        for number, path in _keys(text)
        if path == wanted[: len(path)]
    ]
    return max(within, key=lambda one: one[0])[1] if within else None


def _keys(text: str) -> Iterator[tuple[int, Path]]:
    table: Path = ()
    for number, line in enumerate(text.splitlines(), 1):
        if found := TABLE.match(line):
            table = _parts(found[1])
            yield number, table
        elif found := VALUE.match(line):
            yield number, table + _parts(found[1])


def _parts(dotted: str) -> Path:
    return tuple(part.strip("\"'") for part in re.findall(KEY, dotted))
