"""What a command prints, or writes to a file in a format."""

from __future__ import annotations

from collections.abc import Iterable
from io import StringIO
from pathlib import Path

from rich.console import Console, RenderableType

from ioplan.cli.display.terminal import Terminal
from ioplan.cli.sessions.stores import opened
from ioplan.core.model import Model

Written = bytes | Iterable[RenderableType]


def document_of(result: Model) -> bytes:
    """The only document of its kind that a file has, as JSON."""
    return f"{result.model_dump_json(indent=2)}\n".encode()


def print_or_write(made: Written, output: Path | None, force: bool) -> None:
    """Text as wide as the terminal, in a file as wide as a pipe: 80 columns."""
    if not isinstance(made, bytes) and output is None:
        _print(made, Terminal(highlight=False))
        return
    with opened(output, force) as out:
        out.write(made if isinstance(made, bytes) else _encoded(made))


def _encoded(parts: Iterable[RenderableType]) -> bytes:
    kept = StringIO()
    _print(parts, Terminal(file=kept, width=80, highlight=False))
    return kept.getvalue().encode()


def _print(parts: Iterable[RenderableType], console: Console) -> None:
    for part in parts:
        console.print(part)
