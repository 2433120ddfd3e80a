"""A session for other tools: JSON, JSON lines, CSV or Parquet.

JSON and JSON lines give whole records (`ioplan.records.record`), JSON also the window
of each test in rounds and the cells that were not measured; CSV and Parquet give flat
rows (`ioplan.results.export.columns`). With `series`, every format gives a row for each
interval. All is written as it is read: a session may be large.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable
from importlib import import_module
from itertools import chain, islice, repeat
from typing import Any, BinaryIO, Protocol

from msgspec.structs import asdict

from ioplan.core.error_kinds import CommandFault, ExplainedError
from ioplan.core.formats import writer_of
from ioplan.language.plan import CheckedPlan
from ioplan.results.export.columns import Columns, Row, Source, missing_place
from ioplan.results.export.csv_cells import csv_cell
from ioplan.results.export.fleets import write_pkb, write_virtualclient
from ioplan.results.store.store import Store

ROWS_PER_GROUP = 50_000
"""How many rows a Parquet file holds in a group, and we in memory."""


class Tabular(Protocol):
    """Anything that is flat rows."""

    def columns(self) -> Columns:
        """The columns with their types, in order."""

    def rows(self) -> Iterable[Row]:
        """The rows, as they are read."""

    def write_json(self, out: BinaryIO) -> None:
        """All of it as one value."""

    def json_lines(self) -> Iterable[str]:
        """A value for each row or record."""


class ExportError(ExplainedError):
    """A session cannot be exported so; the text says what to do."""

    kind = CommandFault.EXPORT


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
    session = store.session(session_id)
    source = Records(store, session, series, detail, plan, streams, phases)
    write(source, format, out)


def write(source: Tabular, format: str, out: BinaryIO) -> None:
    """Write rows or records. Raises FormatError, ExportError."""
    writer_of(format, WRITERS)(source, out)


class Records(Source, frozen=True, dict=True):
    """A session whose JSON has whole records."""

    def write_json(self, out: BinaryIO) -> None:
        """One object, written as it is read."""
        _write_json(self, out)

    def json_lines(self) -> Iterable[str]:
        """A line for each record, or for each interval."""
        if self.series:
            return map(_json, self.rows())
        return (record.model_dump_json() for record in self.records())


def _write_json(source: Source, out: BinaryIO) -> None:
    out.write(b'{"session":' + source.session.model_dump_json().encode())
    windows = {test: asdict(one) for test, one in source.counted.windows.items()}
    out.write(f',\n"windows":{_json(windows)}'.encode())
    if source.series:
        _write_array(out, "series", map(_json, source.rows()))
    else:
        _write_array(out, "runs", (r.model_dump_json() for r in source.records()))
        _write_array(
            out, "not_measured", map(_json, map(missing_place, source.missing))
        )
    if source.detail:
        _write_array(out, "details", map(_json, _details(source)))
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


def _write_jsonl(source: Tabular, out: BinaryIO) -> None:
    out.writelines(line.encode() + b"\n" for line in source.json_lines())


def _json(row: Row) -> str:
    return json.dumps(row, ensure_ascii=False, separators=(",", ":"))


class _Lines:
    """Ends lines as Unix tools want it.

    With such a line end of its own, the csv module leaves a lone carriage return
    unquoted.
    """

    def __init__(self, out: io.TextIOBase) -> None:
        self._out = out

    def write(self, line: str) -> int:
        return self._out.write(line.removesuffix("\r\n") + "\n")


def _write_csv(source: Tabular, out: BinaryIO) -> None:
    text = io.TextIOWrapper(out, encoding="utf-8", newline="")
    columns = source.columns()
    writer = csv.writer(_Lines(text), lineterminator="\r\n")
    writer.writerow(columns)
    for row in source.rows():
        writer.writerow([csv_cell(row.get(name)) for name in columns])
    text.detach()  # flushes, and leaves the stream open


def _write_parquet(source: Tabular, out: BinaryIO) -> None:
    pa, pq = pyarrow()
    schema = _arrow_schema(pa, source.columns())
    rows = iter(source.rows())
    with pq.ParquetWriter(out, schema) as writer:
        while group := list(islice(rows, ROWS_PER_GROUP)):
            writer.write_table(pa.Table.from_pylist(group, schema=schema))


def arrow_table(source: Tabular) -> Any:
    """All rows as a pyarrow.Table. Raises ExportError without pyarrow."""
    pa, _ = pyarrow()
    schema = _arrow_schema(pa, source.columns())
    return pa.Table.from_pylist(list(source.rows()), schema=schema)


def _arrow_schema(pa: Any, columns: Columns) -> Any:
    types = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}
    return pa.schema([(name, types[kind]) for name, kind in columns.items()])


def pyarrow() -> tuple[Any, Any]:
    """pyarrow and its Parquet part: 100 MB, so an extra, loaded when needed."""
    try:
        return import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError as error:
        raise ExportError(
            "Parquet needs pyarrow: install it with `pip install 'ioplan[parquet]'`, "
            "or export as csv"
        ) from error


def _write_pkb(source: Tabular, out: BinaryIO) -> None:
    write_pkb(_run_rows(source), out)


def _write_virtualclient(source: Tabular, out: BinaryIO) -> None:
    write_virtualclient(_run_rows(source), out)


def _run_rows(source: Tabular) -> Iterable[Row]:
    """Raises ExportError for rows of anything else."""
    if "scope" not in source.columns():
        raise ExportError("metrics are of runs: leave --series out, or export as csv")
    return source.rows()


WRITERS: dict[str, Callable[[Tabular, BinaryIO], None]] = {
    "json": lambda source, out: source.write_json(out),
    "jsonl": _write_jsonl,
    "csv": _write_csv,
    "parquet": _write_parquet,
    "virtualclient": _write_virtualclient,
    "pkb": _write_pkb,
}
