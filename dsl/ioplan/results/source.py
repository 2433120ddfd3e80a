"""What an export takes from the store."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ioplan.results.record import RunRecord
from ioplan.results.rows import (
    Columns,
    Row,
    run_columns,
    run_rows,
    series_columns,
    series_rows,
)
from ioplan.results.session import Session
from ioplan.results.store import Store


@dataclass(frozen=True)
class Source:
    """A session, as records and as flat rows: of runs, or of their intervals."""

    store: Store
    session: Session
    series: bool = False
    detail: bool = False

    def records(self) -> Iterator[RunRecord]:
        """The runs in order."""
        return self.store.records(self.session.id)

    def columns(self) -> Columns:
        """The columns of the rows. Reads all records once, for their axes."""
        axes = dict.fromkeys(a for r in self.records() for a in r.asked.cell)
        return series_columns(axes) if self.series else run_columns(axes)

    def rows(self) -> Iterator[Row]:
        """The rows; a column that a row has no value for is not in it."""
        for record in self.records():
            if self.series:
                detail = self.store.detail(record.session, record.seq)
                yield from series_rows(record, detail.series, detail.telemetry)
            else:
                yield from run_rows(record)
