"""The formats of files that commands write: help, completion and writers share them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TypeVar

from ioplan.core.error_kinds import CommandFault, ExplainedError
from ioplan.core.text import did_you_mean

Writer = TypeVar("Writer")

RECORDS = ("json", "jsonl", "csv", "parquet", "virtualclient", "pkb")
COMPARISON = ("text", "json", "markdown", "junit", "github")
HISTORY = ("text", "json", "html")
ENDINGS = {
    ".json": ("json", "pkb"),
    ".jsonl": ("jsonl", "pkb"),
    ".csv": ("csv", "virtualclient"),
    ".parquet": ("parquet",),
    ".html": ("html",),
    ".htm": ("html",),
    ".md": ("markdown",),
    ".xml": ("junit",),
}
"""What a file may hold whose name ends so."""


PAGES = (".html", ".htm", ".xhtml", ".xht", ".shtml", ".svg")
"""What a browser runs, whatever a file of such a name was written as."""


class FormatError(ExplainedError):
    """A result cannot be written in this format; the text says what to do."""

    kind = CommandFault.USAGE


def writer_of(
    name: str, writers: Mapping[str, Writer], output: Path | None = None
) -> Writer:
    """What writes a format to a file. Raises FormatError."""
    if name not in writers:
        near = did_you_mean(name, writers)
        raise FormatError(
            f"unknown format {name!r}{near}; it is one of {', '.join(writers)}"
        )
    _check_ending(name, writers, output)
    return writers[name]


def _check_ending(name: str, known: Iterable[str], output: Path | None) -> None:
    suffix = output.suffix.lower() if output else ""
    meant = ENDINGS.get(suffix, ())
    fitting = [one for one in meant if one in known]
    if fitting and name not in fitting:
        raise FormatError(
            f"the name {output} is of {fitting[0]}, and the format is {name}: add "
            f"--format {fitting[0]}, or choose another name"
        )
    if suffix in PAGES and name not in meant:
        raise FormatError(
            f"the name {output} is of a web page, and the format is {name}: choose "
            "another name"
        )
