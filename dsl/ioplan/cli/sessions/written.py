"""What a command prints, or writes to a file in a format."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path

from rich.console import Console, RenderableType

from ioplan.cli.display.terminal import Terminal
from ioplan.cli.sessions.stores import opened
from ioplan.core.model import Model
from ioplan.core.version import __version__

Written = bytes | Iterable[RenderableType]


def document_of(result: Model) -> bytes:
    """The only document of its kind that a file has, as JSON."""
    return f"{result.model_dump_json(indent=2)}\n".encode()


def made_text() -> str:
    """When and by what a page was made."""
    return f"Made {datetime.now(UTC):%Y-%m-%d %H:%M} UTC by ioplan {__version__}"


def print_or_write(written: Written, output: Path | None, force: bool) -> None:
    """Text as wide as the terminal, in a file as wide as a pipe: 80 columns."""
    if not isinstance(written, bytes) and output is None:
        _print(written, Terminal(highlight=False))
        return
    with opened(output, force) as out:
        out.write(written if isinstance(written, bytes) else _encoded(written))


def _encoded(parts: Iterable[RenderableType]) -> bytes:
    text = StringIO()
    _print(parts, Terminal(file=text, width=80, highlight=False))
    return text.getvalue().encode()


def _print(parts: Iterable[RenderableType], console: Console) -> None:
    for part in parts:
        console.print(part)
