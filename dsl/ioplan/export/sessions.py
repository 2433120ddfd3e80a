"""The list of sessions for other tools, in the formats of `export`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import BinaryIO

from ioplan.core.text import did_you_mean
from ioplan.export.columns import Columns, Row
from ioplan.export.export import ExportError, Tabular, write_csv, write_parquet
from ioplan.store.store import Store

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
}


class SessionList:
    """All sessions of a store, the newest first, as flat rows."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def columns(self) -> Columns:
        """The columns with their types."""
        return COLUMNS

    def rows(self) -> Iterator[Row]:
        """A row a session."""
        for session in self.store.sessions():
            fields = session.model_dump(mode="json", include=set(COLUMNS))
            yield {**fields, "runs": self.store.count(session.id)}


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


def export_sessions(store: Store, format: str, out: BinaryIO) -> None:
    """Write the list. Raises ExportError, StoreError."""
    if format not in WRITERS:
        raise ExportError(
            f"there is no format {format!r}{did_you_mean(format, WRITERS)}; "
            f"formats are: {', '.join(WRITERS)}"
        )
    WRITERS[format](SessionList(store), out)
