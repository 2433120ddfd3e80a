"""The list of sessions for other tools, in the formats of `export`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import BinaryIO

from msgspec import Struct

from ioplan.records.drive import Drive
from ioplan.results.exports.tabular import Columns, JsonMember, Row, json_text, write
from ioplan.results.store.overview import SessionOverview

NUMBERS: Columns = {
    **dict.fromkeys(("runs", "held", "expected", "capacity_bytes"), int),
    "duration_s": float,
}
NAMES = (
    *("id", "plan", "plan_file", "target", "backend", "status", "started_at"),
    *("ended_at", "ioplan", "runs", "verdict", "held", "expected", "duration_s"),
    *("host_name", "person", "job", "drive", "serial", "model", "firmware"),
    *("lab_name", "wwid", "capacity_bytes", "tags", "note"),
)
"""`drive` is what people call it; tags have blanks between."""


class SessionList(Struct, frozen=True):
    """Sessions as flat rows."""

    sessions: Sequence[SessionOverview]

    def columns(self) -> Columns:
        """The columns with their types."""
        return {name: NUMBERS.get(name, str) for name in NAMES}

    def rows(self) -> Iterator[Row]:
        """A row a session."""
        for session in self.sessions:
            own = {n: getattr(session, n) for n in NAMES if hasattr(session, n)}
            drive = (session.drive or Drive()).model_dump()
            tags = " ".join(session.tags)
            yield {**own, **drive, "drive": session.drive_name, "tags": tags}

    def json_lines(self) -> Iterator[str]:
        """A line a session."""
        return map(json_text, self.rows())

    def json_members(self) -> Iterator[JsonMember]:
        """One list."""
        yield "sessions", self.json_lines()


def export_sessions(
    sessions: Sequence[SessionOverview], format: str, out: BinaryIO
) -> None:
    """Write the list. Raises FormatError, ExportError."""
    write(SessionList(sessions), format, out)
