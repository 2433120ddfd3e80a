"""Flat rows for other tools: JSON, JSON lines, CSV, Parquet, and those of fleets.

VirtualClient writes such a `metrics.csv` with each name in its first line;
PerfKitBenchmarker's (PKB's) samples are an object of metric, value, unit, metadata and
timestamp in each line.
"""

from __future__ import annotations

import csv
import io
import json
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from importlib import import_module
from itertools import islice, starmap
from typing import Any, BinaryIO
from uuid import NAMESPACE_URL, uuid5

from msgspec import Struct

from ioplan.core.error_kinds import CommandFault, ExplainedError
from ioplan.core.extras import install_command
from ioplan.core.formats import writer_of
from ioplan.core.version import __version__
from ioplan.records.record import PERCENTILES
from ioplan.results.exports.rows import Columns, Row

JsonMember = tuple[str, str | Iterable[str]]
"""Of an object: a name, and a value as text, or the texts of a list's items."""
FORMULA = ("=", "+", "-", "@", "\t", "\r")
ROWS_PER_GROUP = 50_000
"""How many rows a Parquet file holds in a group, and we in memory."""


class Tabular(Struct, frozen=True):
    """Flat rows, as they are read; one has no value for some of the columns."""

    @abstractmethod
    def columns(self) -> Columns: ...

    @abstractmethod
    def rows(self) -> Iterable[Row]: ...

    @abstractmethod
    def json_members(self) -> Iterable[JsonMember]: ...

    def json_lines(self) -> Iterable[str]:
        return map(json_text, self.rows())


class ExportError(ExplainedError):
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


class _Lines(io.TextIOWrapper):
    """Ends lines as Unix tools want it.

    With such a line end of its own, the csv module leaves a lone carriage return
    unquoted.
    """

    def write(self, line: str) -> int:
        return super().write(line.removesuffix("\r\n") + "\n")


def _write_csv(columns: Iterable[str], rows: Iterable[Row], out: BinaryIO) -> None:
    text = _Lines(out, encoding="utf-8", newline="")
    writer = csv.writer(text, lineterminator="\r\n")
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
    return pa.schema([(name, types[type]) for name, type in columns.items()])


def pyarrow() -> tuple[Any, Any]:
    """pyarrow and its Parquet part: 100 MB, so an extra, loaded when needed."""
    try:
        return import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError as error:
        raise ExportError(
            f"Parquet needs pyarrow: {install_command('parquet')}; or export as csv"
        ) from error


# Metrics for the tools of fleets: a row for each figure of a run that was measured.

HIGHER, LOWER = "HigherIsBetter", "LowerIsBetter"
METRICS = (
    ("iops", "iops", "ops/sec", HIGHER),
    ("bandwidth_bytes_per_s", "bandwidth", "bytes/sec", HIGHER),
    ("errors", "errors", "count", LOWER),
    *(
        (f"{name}_ns", f"latency_{name}", "nanoseconds", LOWER)
        for name in ("mean", "max", *(f"p{percent:g}" for percent in PERCENTILES))
    ),
)
"""The column of a flat row, the metric, its unit, and which way is better."""
VIRTUALCLIENT = (
    *("Timestamp", "ExperimentId", "ClientId", "Profile", "ProfileName", "ToolName"),
    *("ScenarioName", "ScenarioStartTime", "ScenarioEndTime", "MetricCategorization"),
    *("MetricName", "MetricValue", "MetricUnit", "MetricDescription"),
    *("MetricRelativity", "ExecutionSystem", "OperatingSystemPlatform", "OperationId"),
    *("OperationParentId", "AppHost", "AppName", "AppVersion", "AppTelemetryVersion"),
    "Tags",
)
PKB_METADATA = (
    *("session", "run_id", "backend", "round", "iteration", "step_name", "tags"),
    *("host_name", "drive_serial", "drive_model", "drive_firmware"),
)
"""What tells one sample from another, and where it comes from."""


def _metric_rows(source: Tabular, row: Callable[..., Row]) -> Iterator[Row]:
    """A row for each metric. Raises ExportError for rows of anything but runs."""
    if "scope" not in source.columns():
        raise ExportError("metrics are of runs: leave --series out, or export as csv")
    return starmap(row, _metrics(source.rows()))


def _metrics(rows: Iterable[Row]) -> Iterator[tuple[Row, str, float, str, str]]:
    """Each metric of measured runs that were not done once more since: its row, name,
    value, unit, and which way is better. Percentiles only with enough samples."""
    for row in rows:
        is_measured = (row["kind"], row["status"]) == ("run", "ok")
        if not is_measured or not row.get("current", True):
            continue
        parts = (row.get("stream"), row["scope"].replace("total", ""))
        prefix = "".join(f"{part}_" for part in parts if part)
        for column, name, unit, better in METRICS:
            value = row.get(column)
            if value is not None and row.get(f"{column[:-3]}_supported", True):
                yield row, prefix + name, value, unit, better


def _virtualclient(row: Row, name: str, value: float, unit: str, better: str) -> Row:
    start = datetime.fromisoformat(row["started_at"])
    end = start + timedelta(seconds=row["run_s"])
    run = f"{row['session']}/{row['seq']}"
    return {
        **dict.fromkeys(("Timestamp", "ScenarioEndTime"), _moment(end)),
        "ScenarioStartTime": _moment(start),
        "ExperimentId": row["session"],
        **dict.fromkeys(("ClientId", "AppHost"), row.get("host_name") or ""),
        **dict.fromkeys(("Profile", "ProfileName", "ToolName", "AppName"), "ioplan"),
        **dict.fromkeys(("AppVersion", "AppTelemetryVersion"), __version__),
        "ExecutionSystem": row["backend"],
        "ScenarioName": row["test"],
        "MetricCategorization": " ".join(f"{k}={v}" for k, v in _cell(row).items()),
        "MetricName": name,
        "MetricValue": value,
        "MetricUnit": unit,
        "MetricRelativity": better,
        "OperatingSystemPlatform": "Unix",
        "OperationId": uuid5(NAMESPACE_URL, run),
        "OperationParentId": uuid5(NAMESPACE_URL, row["session"]),
        "Tags": row.get("tags") or "",
    }


def _pkb(row: Row, name: str, value: float, unit: str, _: str) -> Row:
    start_s = datetime.fromisoformat(row["started_at"]).timestamp()
    metadata = {key: row[key] for key in PKB_METADATA if row.get(key)}
    return {
        "metric": f"{row['test']}:{name}",
        "value": value,
        "unit": unit,
        "metadata": {**metadata, **_cell(row), "ioplan": __version__},
        "timestamp": start_s + row["run_s"],
    }


def _cell(row: Row) -> dict[str, str]:
    prefix = "cell."
    return {
        name.removeprefix(prefix): value
        for name, value in row.items()
        if name.startswith(prefix) and value is not None
    }


def _moment(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


WRITERS: dict[str, Callable[[Tabular, BinaryIO], None]] = {
    "json": _write_json,
    "jsonl": lambda source, out: _write_lines(source.json_lines(), out),
    "csv": lambda source, out: _write_csv(source.columns(), source.rows(), out),
    "parquet": _write_parquet,
    "virtualclient": lambda source, out: _write_csv(
        VIRTUALCLIENT, _metric_rows(source, _virtualclient), out
    ),
    "pkb": lambda source, out: _write_lines(
        map(json_text, _metric_rows(source, _pkb)), out
    ),
}
