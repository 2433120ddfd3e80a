"""Where results come from, and where a command writes them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from ioplan.cli.display.output import data_out, print_message
from ioplan.cli.errors import UsageError
from ioplan.results.store.database import is_address
from ioplan.results.store.delivery import send_later
from ioplan.results.store.errors import StoreError
from ioplan.results.store.store import Store, default_path
from ioplan.runner.guard.output import output_file
from ioplan.runner.lab.lab_file import read_lab


def shared_results(place: str | None) -> str | None:
    """The lab's results, where no store is named. Raises LabError."""
    if place or os.environ.get("IOPLAN_STORE"):
        return None
    return read_lab(None).results


def place_of_results(place: str | None) -> str | Path:
    """Where results are read: a file, or a database that is shared. Raises LabError."""
    named = place or os.environ.get("IOPLAN_STORE", "")
    if is_address(named):
        return named
    return place or shared_results(place) or default_path()


def results_at(place: str | None) -> Store:
    """The store to read: the one named, else the lab's, else this host's.

    What this host has not delivered yet is sent meanwhile. Raises StoreError, LabError.
    """
    if place is None:
        send_later(default_path())
    shared = shared_results(place)
    try:
        store = Store.to_read(place_of_results(place))
    except StoreError as error:
        if not shared:
            raise
        raise StoreError(
            f"{error}; to read this host's own results: --store {default_path()}",
            error.kind,
        ) from error
    if shared:
        own = f"--store {default_path()} reads this host's"
        print_message(f"note: from {store.where}, the lab's results; {own}")
    return store


STDOUT = Path("-")


@contextmanager
def opened(path: Path | None, force: bool = False) -> Iterator[BinaryIO]:
    """The file to write to, through the gate, or standard output.

    Raises UsageError, OutputError.
    """
    if path is None or path == STDOUT:
        with data_out() as out:
            yield out
        return
    try:
        with output_file(path, force=force) as file:
            yield file
    except OSError as error:
        raise UsageError(f"cannot write {str(path)!r}: {error.strerror}") from error
