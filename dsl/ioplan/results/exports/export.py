"""A session for other tools: JSON, JSON lines, CSV or Parquet.

JSON and JSON lines give whole records (`ioplan.records.record`), JSON also the window
of each test in rounds and the cells that were not measured; CSV and Parquet give flat
rows (`ioplan.results.exports.columns`). With `series`, every format gives a row for
each interval. All is written as it is read: a session may be large.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import BinaryIO

from msgspec.structs import asdict

from ioplan.language.plan import CheckedPlan
from ioplan.results.exports.columns import Source, missing_place
from ioplan.results.exports.tabular import ExportError, JsonMember, json_text, write
from ioplan.results.store.store import Store, session_now


def export(
    store: Store,
    session_id: str,
    format: str,
    out: BinaryIO,
    *,
    detail: bool = False,
    series: bool = False,
    streams: bool = False,
    phases: bool = False,
    plan: CheckedPlan | None = None,
) -> None:
    """Write a session to a binary stream.

    `session_id` is any key of `Store.session`. `detail` adds histograms and series
    to JSON, `streams` parts the series into streams and directions. With `phases` the
    rows are of the phases of runs, which whole records have anyway. With its `plan`,
    what was not measured is in it. Raises FormatError,
    ExportError, StoreError, and OSError from writing.
    """
    if detail and (format != "json" or series):
        raise ExportError("histograms are exported with whole records as json only")
    if streams and not series:
        raise ExportError("streams are of the series: add --series")
    if phases and (series or format not in ("csv", "parquet")):
        raise ExportError(
            "--phases gives rows of csv or parquet, without --series; json has the "
            "phases in each record"
        )
    session = session_now(store, session_id)
    source = Records(store, session, series, detail, plan, streams, phases)
    write(source, format, out)


class Records(Source, frozen=True, dict=True):
    """A session whose JSON has whole records."""

    def json_lines(self) -> Iterable[str]:
        """A line for each record, or for each interval."""
        if self.series:
            return map(json_text, self.rows())
        return (record.model_dump_json() for record in self.records())

    def json_members(self) -> Iterator[JsonMember]:
        """The session with its windows, and its runs or its series."""
        yield "session", self.session.model_dump_json()
        windows = {test: asdict(w) for test, w in self.counted.windows.items()}
        yield "windows", json_text(windows)
        yield "series" if self.series else "runs", self.json_lines()
        if not self.series:
            yield "not_measured", map(json_text, map(missing_place, self.missing))
        if self.detail:
            yield "details", self._details()

    def _details(self) -> Iterator[str]:
        for record in self.records():
            detail = self.store.detail(record.session, record.seq)
            yield json_text({"seq": record.seq, **detail.model_dump(mode="json")})
