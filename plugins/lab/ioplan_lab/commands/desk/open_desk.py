"""The desk of a lab, opened as the command line has it."""

from __future__ import annotations

from pathlib import Path

from ioplan.runner import read_lab
from ioplan_lab.desk.database import DeskDatabase, desk_folder
from ioplan_lab.desk.tables import TABLES


def desk_database(lab: Path | None) -> DeskDatabase:
    """The desk's tables. Raises LabError, StoreError."""
    return DeskDatabase.at(read_lab(lab).results, desk_folder(), TABLES)
