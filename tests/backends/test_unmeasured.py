"""What a plan asks for and a backend does not measure is told before the run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command import ioplan, plan_file

PLAN = """
workload database {{
  log = sequential 16KiB 0/100, sync every 1
  reader = random 8KiB 100/0
}}
test "T" {{
  run database for 2s
  {line}
}}
"""
READS = 'test "T" {{ run random 4KiB 100/0 for 20s {line} }}'
INTERVAL = READS.replace("100/0", "100/0, interval 1s")
HEATMAP = "chart heatmap latency over time"
COMMIT, ABOUT = "does not measure the latency of a commit", "to about 0.1 s"
NO_COUNTS = "does not count the I/Os of each interval"
ROWS: list[tuple[str, str, str, str, str]] = [
    # an expected commit that nobody measures is refused, one that is shown is warned of
    ("fio", PLAN, "expect log.commit.p99 < 2s", "impossible", COMMIT),
    ("fio", PLAN, "expect log.p99 <= 90% of log.commit.p99", "impossible", COMMIT),
    ("fio", PLAN, "headline commit.p99", "near", COMMIT),
    ("fio", PLAN, "chart table log.commit.mean", "near", COMMIT),
    ("fio", PLAN, "expect log.flush.p99 < 2s", "exact", ""),
    # what is measured is exact
    *(
        (backend, PLAN, line, "exact", "")
        for backend in ("io_uring", "sim")
        for line in ("expect log.commit.p99 < 2s", HEATMAP)
    ),
    # charts of the counts of intervals, and others
    *(
        (backend, READS, line, "near", says)
        for backend, says in (("fio", ABOUT), ("spdk", NO_COUNTS))
        for line in (
            *(HEATMAP, "chart heatmap p99 over time", "chart lines p95 over time"),
            *("chart lines read.p99 over time", "chart scatter read.mean"),
        )
    ),
    *(
        (backend, READS, line, "exact", "")
        for backend in ("fio", "spdk")
        for line in ("chart lines iops, p99 over time", "chart table p95, read.p99")
    ),
    # a chart is drawn all the same; who writes `interval` wants it so
    ("fio", INTERVAL, HEATMAP, "approximate", ABOUT),
]


def gaps_of(backend: str, text: str, folder: Path) -> tuple[str, list[dict[str, Any]]]:
    """How the test fits, and what is not exact."""
    done = ioplan("plan", plan_file(folder, text), "--backend", backend, "--json")
    (test,) = json.loads(done.out)["fit"]["tests"]
    return test["fit"], test["gaps"]


@pytest.mark.slow
@pytest.mark.parametrize(("backend", "plan", "line", "fit", "says"), ROWS)
def test_what_is_not_measured_is_told(
    backend: str, plan: str, line: str, fit: str, says: str, tmp_path: Path
) -> None:
    found, gaps = gaps_of(backend, plan.format(line=line), tmp_path)
    assert found == fit
    assert [says in gap["reason"] for gap in gaps] == [True] * bool(says)
    if fit == "near":
        assert "stay" in gaps[0]["instead"] or "earlier or later" in gaps[0]["instead"]
