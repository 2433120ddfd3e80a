"""The list of sessions for other tools, in the formats of `export`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import BinaryIO

from ioplan.records.drive import Drive
from ioplan.results.exports.tabular import Columns, Row, write
from ioplan.results.store.overview import SessionOverview

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
    "held": int,
    "expected": int,
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

    def write_json(self, out: BinaryIO) -> None:
        """One object."""
        out.write(json.dumps({"sessions": list(self.rows())}, indent=1).encode())
        out.write(b"\n")

    def json_lines(self) -> Iterator[str]:
        """A line a session."""
        return map(json.dumps, self.rows())


def export_sessions(
    sessions: Sequence[SessionOverview], format: str, out: BinaryIO
) -> None:
    """Write the list. Raises FormatError, ExportError."""
    write(SessionList(sessions), format, out)
