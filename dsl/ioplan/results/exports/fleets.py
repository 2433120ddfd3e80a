"""Figures as the tools of fleets take them: VirtualClient's metrics, PKB's samples.

A row for each figure of a run that was measured; percentiles only with enough samples.
VirtualClient writes such a `metrics.csv` with each name in its first line;
PerfKitBenchmarker's samples are an object of metric, value, unit, metadata and
timestamp in each line.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import starmap
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from ioplan.core.version import __version__
from ioplan.records.record import PERCENTILES

Row = dict[str, Any]
HIGHER, LOWER = "HigherIsBetter", "LowerIsBetter"
FIGURES = (
    ("iops", "iops", "ops/sec", HIGHER),
    ("bandwidth_bytes_per_s", "bandwidth", "bytes/sec", HIGHER),
    ("errors", "errors", "count", LOWER),
    *(
        (f"{name}_ns", f"latency_{name}", "nanoseconds", LOWER)
        for name in ("mean", "max", *(f"p{percent:g}" for percent in PERCENTILES))
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
SESSION = (
    *("session", "run_id", "backend", "round", "iteration", "step_name", "tags"),
    *("host_name", "drive_serial", "drive_model", "drive_firmware"),
)
"""What tells one sample from another, and where it comes from."""


def _metrics(rows: Iterable[Row]) -> Iterator[tuple[Row, str, float, str, str]]:
    """Each metric of measured runs that were not done once more since: its row, name,
    value, unit, and which way is better."""
    for row in rows:
        status = (row["kind"], row["status"], row.get("current", True))
        if status != ("run", "ok", True):
            continue
        parts = (row.get("stream"), row["scope"].replace("total", ""))
        prefix = "".join(f"{part}_" for part in parts if part)
        for column, name, unit, better in FIGURES:
            value = row.get(column)
            if value is not None and row.get(f"{column[:-3]}_supported", True):
                yield row, prefix + name, value, unit, better


def virtualclient_rows(rows: Iterable[Row]) -> Iterator[Row]:
    """A row of COLUMNS for each metric."""
    return starmap(_virtualclient, _metrics(rows))


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


def pkb_samples(rows: Iterable[Row]) -> Iterator[Row]:
    """An object for each metric."""
    for row, name, value, unit, _ in _metrics(rows):
        start_s = datetime.fromisoformat(row["started_at"]).timestamp()
        known = {key: row[key] for key in SESSION if row.get(key)}
        yield {
            "metric": f"{row['test']}:{name}",
            "value": value,
            "unit": unit,
            "metadata": {**known, **_cell(row), "ioplan": __version__},
            "timestamp": start_s + row["run_s"],
        }


def _cell(row: Row) -> dict[str, str]:
    return {
        name.removeprefix("cell."): value
        for name, value in row.items()
        if name.startswith("cell.") and value is not None
    }


def _moment(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
