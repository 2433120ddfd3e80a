"""The list of sessions for other tools, in the formats of `export`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import BinaryIO

from ioplan.core.text import did_you_mean
from ioplan.export.columns import Columns, Row
from ioplan.export.export import ExportError, Tabular, write_csv, write_parquet
from ioplan.records.drive import Drive
from ioplan.store.overview import SessionOverview

COLUMNS: Columns = {
    "id": str,
    "plan": str,
    "plan_file": str,
    "target": str,
    "backend": str,
    "status": str,
    "started_at": str,
    "ended_at": str,
    "ioplan": str,
    "runs": int,
    "verdict": str,
    "duration_s": float,
    "host_name": str,
    "person": str,
    "job": str,
    "drive": str,
    "serial": str,
    "model": str,
    "firmware": str,
    "lab_name": str,
    "wwid": str,
    "capacity_bytes": int,
    "tags": str,
    "note": str,
}
"""`drive` is what people call it; tags have blanks between."""


class SessionList:
    """Sessions as flat rows."""

    def __init__(self, sessions: Sequence[SessionOverview]) -> None:
        self.sessions = sessions

    def columns(self) -> Columns:
        """The columns with their types."""
        return COLUMNS

    def rows(self) -> Iterator[Row]:
        """A row a session."""
        for one in self.sessions:
            drive = (one.drive or Drive()).model_dump()
            own = {name: getattr(one, name) for name in COLUMNS if hasattr(one, name)}
            words = {"drive": one.drive_name, "tags": " ".join(one.tags)}
            yield own | drive | words


def _json(sessions: Tabular, out: BinaryIO) -> None:
    out.write(json.dumps({"sessions": list(sessions.rows())}, indent=1).encode())
    out.write(b"\n")


def _jsonl(sessions: Tabular, out: BinaryIO) -> None:
    out.writelines(json.dumps(row).encode() + b"\n" for row in sessions.rows())


WRITERS: dict[str, Callable[[Tabular, BinaryIO], None]] = {
    "json": _json,
    "jsonl": _jsonl,
    "csv": write_csv,
    "parquet": write_parquet,
}


def export_sessions(
    sessions: Sequence[SessionOverview], format: str, out: BinaryIO
) -> None:
    """Write the list. Raises ExportError."""
    if format not in WRITERS:
        raise ExportError(
            f"unknown format {format!r}{did_you_mean(format, WRITERS)}; formats are: "
            f"{', '.join(WRITERS)}"
        )
    WRITERS[format](SessionList(sessions), out)
