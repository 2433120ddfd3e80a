"""Figures for VirtualClient and PerfKitBenchmarker, as programs read them there."""

from __future__ import annotations

import csv
import json
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from command import ioplan

PLAN = """test "=Reads" {
  run random 4KiB 70/30, qd 4 for 20ms
  vary qd in 1, 4
}
"""


@pytest.fixture
def records(tmp_path: Path, store_path: Path) -> list[dict[str, Any]]:
    plan = tmp_path / "a.ioplan"
    plan.write_text(PLAN)
    assert ioplan("run", plan, "--backend", "sim", "--create", "16MiB").code == 0
    return json.loads(ioplan("export", "last", "--format", "json").out)["runs"]


def expected(records: list[dict[str, Any]]) -> dict[tuple[str, str], float]:
    """From the records: by queue depth and metric."""
    found = {}
    for record in records:
        for before, one in (
            ("", record["total"]),
            *((f"{name}_", record["directions"][name]) for name in ("read", "write")),
        ):
            depth, latency = record["asked"]["cell"]["qd"], one["latency"]
            found[depth, f"{before}iops"] = one["iops"]
            found[depth, f"{before}bandwidth"] = one["bandwidth_bytes_per_s"]
            found[depth, f"{before}errors"] = one["errors"]
            found[depth, f"{before}latency_mean"] = latency["mean_ns"]
            found[depth, f"{before}latency_max"] = latency["max_ns"]
            for p in latency["percentiles"]:
                if p["supported"]:
                    name = f"{before}latency_p{p['percent']:g}"
                    found[depth, name] = p["latency_ns"]
    return found


def test_virtualclient_s_metrics(records: list[dict[str, Any]], tmp_path: Path) -> None:
    """Read as the programs that take its file do: by the names of the columns."""
    out = tmp_path / "metrics.csv"
    done = ioplan("export", "last", "--format", "virtualclient", "-o", out)
    assert done.code == 0, done.err
    with out.open(newline="") as file:
        rows = list(csv.DictReader(file))
    found = {}
    for row in rows:
        times = ("ScenarioStartTime", "ScenarioEndTime", "Timestamp")
        start, end, _ = (
            datetime.strptime(row[name].rstrip("Z"), "%Y-%m-%dT%H:%M:%S.%f")
            for name in times
        )
        assert (end - start).total_seconds() == pytest.approx(0.02, rel=0.01)
        depth = row["MetricCategorization"].removeprefix("qd=")
        found[depth, row["MetricName"]] = float(Decimal(row["MetricValue"]))
        better = row["MetricName"].endswith(("iops", "bandwidth"))
        relativity = "HigherIsBetter" if better else "LowerIsBetter"
        assert row["MetricRelativity"] == relativity
        assert row["ScenarioName"] == "'=Reads" and row["ExecutionSystem"] == "sim"
    assert found == pytest.approx(expected(records))
    assert len({row["OperationId"] for row in rows}) == 2


def test_pkb_s_samples(records: list[dict[str, Any]], tmp_path: Path) -> None:
    out = tmp_path / "samples.json"
    assert ioplan("export", "last", "--format", "pkb", "-o", out).code == 0
    found = {}
    for line in out.read_text().splitlines():
        sample = json.loads(line)
        keys = {"metric", "value", "unit", "metadata", "timestamp"}
        assert sample.keys() == keys and sample["metadata"]["backend"] == "sim"
        name = sample["metric"].removeprefix("=Reads:")
        found[sample["metadata"]["qd"], name] = sample["value"]
    assert found == pytest.approx(expected(records))


def test_a_series_gives_no_metrics(
    records: list[dict[str, Any]],
) -> None:
    done = ioplan("export", "last", "--format", "pkb", "--series")
    assert done.code == 2 and "leave --series out" in done.err
