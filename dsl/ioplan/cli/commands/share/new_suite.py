"""`ioplan suites new` and `publish`: a package of suites, and its version's runs."""

from __future__ import annotations

import os
from pathlib import Path

from ioplan.cli.commands.share.template import new_package
from ioplan.cli.display.output import print_line
from ioplan.cli.errors import UsageError
from ioplan.cli.sessions.stores import opened
from ioplan.language.search.packages import SuiteError
from ioplan.language.syntax.formatter import format_text
from ioplan.planner.suites.published import FILE, index_of, index_text, next_index
from ioplan.planner.suites.source import (
    README,
    cost_table,
    readme_of,
    source_of,
    with_table,
)
from ioplan.runner.guard.output import rewrite


def new_suite(name: str, output: Path | None) -> None:
    """Write a new package, its table and its ids included. Raises UsageError."""
    try:
        texts = new_package(name)
    except ValueError as error:
        raise UsageError(str(error)) from error
    folder = output or Path(f"ioplan-{name}")
    if os.path.lexists(folder):
        raise UsageError(f"{str(folder)!r} exists already; name another with -o FOLDER")
    for path, text in texts.items():
        _write(folder / path, text)
    publish(folder)
    print_line(
        f"{folder} is written; pip install -e {folder}, then ioplan run {name}/oltp"
    )


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"cannot make {str(path.parent)!r}: {error.strerror}"
        ) from error
    laid_out = format_text(text, str(path)) if path.suffix == ".ioplan" else text
    with opened(path) as file:
        file.write(laid_out.encode())


def publish_suite(folder: Path) -> None:
    """Write the table and the index of a source; say what they hold."""
    for line in publish(folder):
        print_line(line)


def publish(folder: Path) -> list[str]:
    """Bring a source's README and index up to its version. Raises UsageError."""
    try:
        source = source_of(folder)
        path = source.folder / FILE
        before = index_of(path.read_text("utf-8")) if path.is_file() else None
        index = next_index(before, source)
        readme = with_table(readme_of(folder), cost_table(source))
        rewrite(path, index_text(index).encode())
        if readme:
            rewrite(folder / README, readme.encode())
    except OSError as error:
        raise UsageError(f"cannot publish {str(folder)!r}: {error}") from error
    except SuiteError as error:
        raise UsageError(str(error)) from error
    runs = f"{len(index.present)} runs of {source.name} {source.version}"
    return [f"{path}: {runs}"]
