"""Where results come from, and where a command writes them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from ioplan.cli.display.output import data_out
from ioplan.cli.errors import UsageError
from ioplan.guard.output import OutputError, output_file
from ioplan.store.database import is_address
from ioplan.store.store import Store, default_path


def place_of_results(place: str | None) -> str | Path:
    """Where results are read: a file, or a database that is shared."""
    named = place or os.environ.get("IOPLAN_STORE", "")
    return named if is_address(named) else place or default_path()


def results_at(place: str | None) -> Store:
    """The store to read: a file, or a database that is shared. Raises StoreError."""
    return Store.to_read(place_of_results(place))


@contextmanager
def opened(path: Path | None, force: bool = False) -> Iterator[BinaryIO]:
    """The file to write to, through the gate, or standard output. Raises UsageError."""
    if path is None:
        with data_out() as out:
            yield out
        return
    try:
        with output_file(path, force=force) as file:
            yield file
    except OutputError as error:
        raise UsageError(str(error)) from error
    except OSError as error:
        raise UsageError(f"cannot write {str(path)!r}: {error.strerror}") from error
