"""The desk of a lab, opened as the command line has it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ioplan.cli.errors import UsageError
from ioplan.core.extras import needed
from ioplan.lab.lab_file import read_lab
from ioplan_lab.desk.database import DeskDatabase, desk_folder
from ioplan_lab.desk.tables import TABLES


@contextmanager
def desk_errors() -> Iterator[None]:
    """A library of the desk's that is not here, as an error of the command line."""
    with needed("the desk needs", "serve", UsageError):
        yield


def desk_database(lab: Path | None) -> DeskDatabase:
    """The desk's tables. Raises LabError, StoreError."""
    return DeskDatabase.at(read_lab(lab).results, desk_folder(), TABLES)
