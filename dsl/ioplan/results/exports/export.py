"""A session for other tools: JSON, JSON lines, CSV or Parquet.

JSON and JSON lines give whole records (`ioplan.records.record`), JSON also the window
of each test in rounds and the cells that were not measured; CSV and Parquet give flat
rows (`ioplan.results.exports.columns`). With `series`, every format gives a row for
each interval. All is written as it is read: a session may be large.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain, repeat
from typing import BinaryIO

from msgspec.structs import asdict

from ioplan.language.plan import CheckedPlan
from ioplan.results.exports.columns import Source, missing_place
from ioplan.results.exports.tabular import ExportError, Row, json_text, write
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

    def write_json(self, out: BinaryIO) -> None:
        """One object, written as it is read."""
        _write_json(self, out)

    def json_lines(self) -> Iterable[str]:
        """A line for each record, or for each interval."""
        if self.series:
            return map(json_text, self.rows())
        return (record.model_dump_json() for record in self.records())


def _write_json(source: Source, out: BinaryIO) -> None:
    out.write(b'{"session":' + source.session.model_dump_json().encode())
    windows = {test: asdict(one) for test, one in source.counted.windows.items()}
    out.write(f',\n"windows":{json_text(windows)}'.encode())
    if source.series:
        _write_array(out, "series", map(json_text, source.rows()))
    else:
        _write_array(out, "runs", (r.model_dump_json() for r in source.records()))
        _write_array(
            out, "not_measured", map(json_text, map(missing_place, source.missing))
        )
    if source.detail:
        _write_array(out, "details", map(json_text, _details(source)))
    out.write(b"}\n")


def _write_array(out: BinaryIO, name: str, items: Iterable[str]) -> None:
    out.write(f',\n"{name}":['.encode())
    gaps = chain(["\n"], repeat(",\n"))
    out.writelines(
        (gap + item).encode() for item, gap in zip(items, gaps, strict=False)
    )
    out.write(b"]")


def _details(source: Source) -> Iterable[Row]:
    for record in source.records():
        detail = source.store.detail(record.session, record.seq)
        yield {"seq": record.seq, **detail.model_dump(mode="json")}
