"""Figures as the tools of fleets take them: VirtualClient's metrics, PKB's samples.

A row for each figure of a run that was measured; percentiles only with enough samples.
VirtualClient writes such a `metrics.csv` with each name in its first line;
PerfKitBenchmarker's samples are an object of metric, value, unit, metadata and
timestamp in each line.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, BinaryIO, NamedTuple
from uuid import NAMESPACE_URL, uuid5

from ioplan.core.version import __version__
from ioplan.records.record import PERCENTILES

# Values as cells of CSV, which people open in spreadsheets.

FORMULA = ("=", "+", "-", "@", "\t", "\r")


def csv_cell(value: Any) -> Any:
    """A text that a spreadsheet would calculate gets a quote before it."""
    if isinstance(value, str) and value.startswith(FORMULA):
        return f"'{value}"
    return str(value).lower() if isinstance(value, bool) else value


Row = dict[str, Any]
HIGHER, LOWER = "HigherIsBetter", "LowerIsBetter"
FIGURES = (
    ("iops", "iops", "ops/sec", HIGHER),
    ("bandwidth_bytes_per_s", "bandwidth", "bytes/sec", HIGHER),
    ("errors", "errors", "count", LOWER),
    *(
        (f"{name}_ns", f"latency_{name}", "nanoseconds", LOWER)
        for name in ("mean", "max")
    ),
    *(
        (f"p{one:g}_ns", f"latency_p{one:g}", "nanoseconds", LOWER)
        for one in PERCENTILES
    ),
)
"""The column of a flat row, the metric, its unit, and which way is better."""
COLUMNS = (
    *("Timestamp", "ExperimentId", "ClientId", "Profile", "ProfileName", "ToolName"),
    *("ScenarioName", "ScenarioStartTime", "ScenarioEndTime", "MetricCategorization"),
    *("MetricName", "MetricValue", "MetricUnit", "MetricDescription"),
    *("MetricRelativity", "ExecutionSystem", "OperatingSystemPlatform", "OperationId"),
    *("OperationParentId", "AppHost", "AppName", "AppVersion", "AppTelemetryVersion"),
    "Tags",
)
TOOL = "ioplan"


class Metric(NamedTuple):
    """A figure of a row; `name` has the direction, and the stream if there is one."""

    name: str
    value: float
    unit: str
    relativity: str


def metrics(rows: Iterable[Row]) -> Iterator[tuple[Row, Metric]]:
    """The metrics of measured runs that were not done once more since."""
    for row in rows:
        if row["kind"] == "run" and row["status"] == "ok" and row.get("current", True):
            yield from ((row, one) for one in _of(row))


def _of(row: Row) -> Iterator[Metric]:
    parts = (row.get("stream"), None if row["scope"] == "total" else row["scope"])
    before = "".join(f"{part}_" for part in parts if part)
    for column, name, unit, better in FIGURES:
        value = row.get(column)
        if value is None or row.get(f"{column[:-3]}_supported") is False:
            continue
        yield Metric(before + name, value, unit, better)


def write_virtualclient(rows: Iterable[Row], out: BinaryIO) -> None:
    """CSV as VirtualClient's own, a line for each metric."""
    text = io.TextIOWrapper(out, encoding="utf-8", newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row, metric in metrics(rows):
        found = _virtualclient(row, metric)
        writer.writerow([csv_cell(found.get(name, "")) for name in COLUMNS])
    text.detach()


def _virtualclient(row: Row, metric: Metric) -> dict[str, Any]:
    start = datetime.fromisoformat(row["started_at"])
    end = start + timedelta(seconds=row["run_s"])
    host = row.get("host_name") or ""
    run = f"{row['session']}/{row['seq']}"
    return {
        **dict.fromkeys(("Timestamp", "ScenarioEndTime"), _moment(end)),
        "ScenarioStartTime": _moment(start),
        "ExperimentId": row["session"],
        **{"ClientId": host, "AppHost": host, "ExecutionSystem": row["backend"]},
        **dict.fromkeys(("Profile", "ProfileName", "ToolName", "AppName"), TOOL),
        "ScenarioName": row["test"],
        "MetricCategorization": " ".join(f"{k}={v}" for k, v in _cell(row).items()),
        "MetricName": metric.name,
        "MetricValue": metric.value,
        "MetricUnit": metric.unit,
        "MetricRelativity": metric.relativity,
        "OperatingSystemPlatform": "Unix",
        "OperationId": uuid5(NAMESPACE_URL, run),
        "OperationParentId": uuid5(NAMESPACE_URL, row["session"]),
        **dict.fromkeys(("AppVersion", "AppTelemetryVersion"), __version__),
        "Tags": row.get("tags") or "",
    }


def write_pkb(rows: Iterable[Row], out: BinaryIO) -> None:
    """A sample in each line."""
    for row, metric in metrics(rows):
        end = datetime.fromisoformat(row["started_at"]).timestamp() + row["run_s"]
        sample = {
            "metric": f"{row['test']}:{metric.name}",
            "value": metric.value,
            "unit": metric.unit,
            "metadata": _metadata(row),
            "timestamp": end,
        }
        out.write(json.dumps(sample, ensure_ascii=False).encode() + b"\n")


KNOWN = (
    *("session", "run_id", "backend", "round", "iteration", "step_name", "tags"),
    *("host_name", "drive_serial", "drive_model", "drive_firmware"),
)


def _metadata(row: Row) -> Row:
    """What tells one sample from another, and where it comes from."""
    found = {name: row[name] for name in KNOWN if row.get(name) not in (None, "", 0)}
    return {**found, **_cell(row), "ioplan": __version__}


def _cell(row: Row) -> dict[str, str]:
    pairs = ((k.removeprefix("cell."), v) for k, v in row.items() if v is not None)
    return {name: value for name, value in pairs if f"cell.{name}" in row}


def _moment(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
