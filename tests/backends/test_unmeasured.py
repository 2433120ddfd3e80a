"""What a plan asks for and a backend does not measure is told before the run."""

from __future__ import annotations

from typing import Any

import pytest
from plans import checked

from ioplan.planner import summary_of
from ioplan.runner import shortfalls
from ioplan.runner.prepare.fit import EXACT_ONLY, SAMPLE_TARGET, Shortfall
from ioplan_fio.backend import FioBackend
from ioplan_io_uring.backend import IoUringBackend
from ioplan_sim import SimBackend
from ioplan_spdk.backend import SpdkBackend

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
HEATMAP = "chart heatmap latency over time"


def found(line: str, backend: Any, plan: str = PLAN) -> list[Shortfall]:
    summary = summary_of(checked(plan.format(line=line)))
    return shortfalls(summary, backend, SAMPLE_TARGET, {})


@pytest.mark.parametrize(
    "line", ["expect log.commit.p99 < 2s", "expect log.p99 <= 90% of log.commit.p99"]
)
def test_an_expected_commit_that_nobody_measures_is_refused(line: str) -> None:
    (one,) = found(line, FioBackend())
    assert "does not measure the latency of a commit" in one.text
    assert not EXACT_ONLY.takes(one.gap) and not one.gap.instead


@pytest.mark.parametrize("line", ["headline commit.p99", "chart table log.commit.mean"])
def test_a_commit_that_is_only_shown_is_warned_of(line: str) -> None:
    (one,) = found(line, FioBackend())
    assert EXACT_ONLY.takes(one.gap) and "stays empty" in one.warning


@pytest.mark.parametrize("backend", [IoUringBackend(), SimBackend()])
@pytest.mark.parametrize("line", ["expect log.commit.p99 < 2s", HEATMAP])
def test_what_is_measured_is_exact(line: str, backend: Any) -> None:
    assert not found(line, backend)


def test_a_flush_of_fio_is_measured() -> None:
    assert not found("expect log.flush.p99 < 2s", FioBackend())


OF_COUNTS = (
    *(HEATMAP, "chart heatmap p99 over time", "chart lines read.p99 over time"),
    *("chart lines p95 over time", "chart scatter read.mean"),
)


@pytest.mark.parametrize("line", OF_COUNTS)
def test_charts_of_counts_of_intervals_are_warned_of(line: str) -> None:
    (fio,) = found(line, FioBackend(), READS)
    assert fio.gap.field == "interval" and "to about 0.1 s" in fio.warning
    (spdk,) = found(line, SpdkBackend(), READS)
    assert "does not count the I/Os of each interval" in spdk.warning
    assert "stay empty" in spdk.warning
    assert all(EXACT_ONLY.takes(one.gap) for one in (fio, spdk))


@pytest.mark.parametrize("backend", [FioBackend(), SpdkBackend()])
@pytest.mark.parametrize(
    "line", ["chart lines iops, p99 over time", "chart table p95, read.p99"]
)
def test_other_charts_are_exact(line: str, backend: Any) -> None:
    assert not found(line, backend, READS)


def test_the_clause_says_the_same_and_is_refused() -> None:
    """A chart is drawn all the same; who writes `interval` wants it so."""
    clause = READS.replace("100/0", "100/0, interval 1s")
    (one,) = found(HEATMAP, FioBackend(), clause)
    assert not EXACT_ONLY.takes(one.gap)
