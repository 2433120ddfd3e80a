"""Flat rows for other tools: JSON, JSON lines, CSV or Parquet."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable
from importlib import import_module
from itertools import islice
from typing import Any, BinaryIO, Protocol

from ioplan.core.error_kinds import CommandFault, ExplainedError
from ioplan.core.extras import install_command
from ioplan.core.formats import writer_of
from ioplan.results.exports.fleets import COLUMNS, pkb_samples, virtualclient_rows

Row = dict[str, Any]
Columns = dict[str, type]
JsonMember = tuple[str, str | Iterable[str]]
"""Of an object: a name, and a value as text, or the texts of a list's items."""
FORMULA = ("=", "+", "-", "@", "\t", "\r")
ROWS_PER_GROUP = 50_000
"""How many rows a Parquet file holds in a group, and we in memory."""


class Tabular(Protocol):
    """Anything that is flat rows."""

    def columns(self) -> Columns:
        """The columns with their types, in order."""

    def rows(self) -> Iterable[Row]:
        """The rows, as they are read."""

    def json_lines(self) -> Iterable[str]:
        """A value for each row or record."""

    def json_members(self) -> Iterable[JsonMember]:
        """All of it as one object."""


class ExportError(ExplainedError):
    """A session cannot be exported so; the text says what to do."""

    kind = CommandFault.EXPORT


def write(source: Tabular, format: str, out: BinaryIO) -> None:
    """Write rows or records. Raises FormatError, ExportError."""
    writer_of(format, WRITERS)(source, out)


def json_text(row: Row) -> str:
    """In one line."""
    return json.dumps(row, ensure_ascii=False, separators=(",", ":"))


def _write_json(source: Tabular, out: BinaryIO) -> None:
    comma = "{"
    for name, value in source.json_members():
        out.write(f'{comma}"{name}":'.encode())
        comma = ",\n"
        if isinstance(value, str):
            out.write(value.encode())
            continue
        out.write(b"[")
        for number, item in enumerate(value):
            out.write(f"{',' if number else ''}\n{item}".encode())
        out.write(b"]")
    out.write(b"}\n")


def _write_lines(lines: Iterable[str], out: BinaryIO) -> None:
    out.writelines(line.encode() + b"\n" for line in lines)


class _Lines:
    """Ends lines as Unix tools want it.

    With such a line end of its own, the csv module leaves a lone carriage return
    unquoted.
    """

    def __init__(self, out: io.TextIOBase) -> None:
        self._out = out

    def write(self, line: str) -> int:
        return self._out.write(line.removesuffix("\r\n") + "\n")


def _write_csv(columns: Iterable[str], rows: Iterable[Row], out: BinaryIO) -> None:
    text = io.TextIOWrapper(out, encoding="utf-8", newline="")
    writer = csv.writer(_Lines(text), lineterminator="\r\n")
    writer.writerow(names := list(columns))
    for row in rows:
        writer.writerow([_csv_cell(row.get(name)) for name in names])
    text.detach()  # flushes, and leaves the stream open


def _csv_cell(value: Any) -> Any:
    """A text that a spreadsheet would calculate gets a quote before it."""
    if isinstance(value, str) and value.startswith(FORMULA):
        return f"'{value}"
    return str(value).lower() if isinstance(value, bool) else value


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
            f"Parquet needs pyarrow: {install_command('parquet')}; or export as csv"
        ) from error


def _run_rows(source: Tabular) -> Iterable[Row]:
    """Raises ExportError for rows of anything else."""
    if "scope" not in source.columns():
        raise ExportError("metrics are of runs: leave --series out, or export as csv")
    return source.rows()


WRITERS: dict[str, Callable[[Tabular, BinaryIO], None]] = {
    "json": _write_json,
    "jsonl": lambda source, out: _write_lines(source.json_lines(), out),
    "csv": lambda source, out: _write_csv(source.columns(), source.rows(), out),
    "parquet": _write_parquet,
    "virtualclient": lambda source, out: _write_csv(
        COLUMNS, virtualclient_rows(_run_rows(source)), out
    ),
    "pkb": lambda source, out: _write_lines(
        map(json_text, pkb_samples(_run_rows(source))), out
    ),
}
