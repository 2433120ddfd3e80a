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
from ioplan.results.exports.fleets import csv_cell, write_pkb, write_virtualclient

Row = dict[str, Any]
Columns = dict[str, type]
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


def write(source: Tabular, format: str, out: BinaryIO) -> None:
    """Write rows or records. Raises FormatError, ExportError."""
    writer_of(format, WRITERS)(source, out)


def json_text(row: Row) -> str:
    """In one line."""
    return json.dumps(row, ensure_ascii=False, separators=(",", ":"))


def _write_jsonl(source: Tabular, out: BinaryIO) -> None:
    out.writelines(line.encode() + b"\n" for line in source.json_lines())


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
            f"Parquet needs pyarrow: {install_command('parquet')}; or export as csv"
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
