"""Phases of runs as rows of CSV and Parquet, against the records of the same session."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
from command import ioplan, plan_file

pytestmark = pytest.mark.usefixtures("rough_sim")
PLAN = """
workload mixed {
  reader = random 8KiB 100/0, qd 4, rate 4_000 iops
  writer = random 8KiB 0/100, qd 4,
      burst 1s of 2_000 iops as busy, then 4s of 100 iops as calm
}
test "Burst" { run mixed for 10s expect p50 < 1s during 2s..3s }
test "Plain" { run random 4KiB 100/0 for 1s }
"""


def exported(folder: Path, format: str) -> list[dict[str, Any]]:
    out = folder / f"out.{format}"
    done = ioplan("export", "last", "--phases", "--format", format, "-o", out)
    assert done.code == 0, done.err
    if format == "csv":
        return list(csv.DictReader(io.StringIO(out.read_text())))
    rows: list[dict[str, Any]] = pyarrow.parquet.read_table(out).to_pylist()
    return rows


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_each_phase_has_its_figures(
    format: str, tmp_path: Path, store_path: Path
) -> None:
    plan = plan_file(tmp_path, PLAN)
    assert ioplan("run", plan, "--backend", "sim", "--create", "64MiB").code == 0
    told = json.loads(ioplan("export", "last", "--format", "json").out)
    (record, _), rows = told["runs"], exported(tmp_path, format)
    assert {row["test"] for row in rows} == {"Burst"}
    named = [(r["phase"], r["scope"], r["stream"] or "") for r in rows]
    assert len(set(named)) == len(named) == 15
    for row in rows:
        phase = record["phases"][row["phase"]]
        seconds = {"busy": 2, "calm": 8, "2s..3s": 1}[row["phase"]]
        assert float(row["phase_s"]) == phase["run_s"] == seconds
        part = phase
        if row["stream"]:
            (part,) = [s for s in phase["streams"] if s["name"] == row["stream"]]
        scope = row["scope"]
        found = part["total"] if scope == "total" else part["directions"][scope]
        assert int(row["ios"]) == found["ios"]
        assert float(row["iops"]) == found["iops"]
        p99 = next(p for p in found["latency"]["percentiles"] if p["percent"] == 99)
        assert float(row["p99_ns"]) == p99["latency_ns"]
    whole = sum(int(r["ios"]) for r in rows if r["stream"] and ".." not in r["phase"])
    assert whole == record["total"]["ios"]


def test_phases_of_whole_records_are_refused(tmp_path: Path, store_path: Path) -> None:
    plan = plan_file(tmp_path, 'test "T" { run random 4KiB 100/0 for 100ms }')
    assert ioplan("run", plan, "--backend", "sim", "--create", "64MiB").code == 0
    done = ioplan("export", "last", "--phases", "--format", "json")
    assert done.code == 2 and "csv or parquet" in done.err
