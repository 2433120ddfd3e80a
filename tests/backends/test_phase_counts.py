"""What backends count in phases: those that cover a run add up to it."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from command import ioplan

PLAN = """workload database {
  reader = random 8KiB 70/30, qd 4
  log = sequential 4KiB 0/100, rate 300 iops, sync every 4
  writer = random 4KiB 0/100, qd 32,
      burst 200ms of RATE iops as checkpoint, then 300ms of 100 iops as calm
}
test "Phases" {
  run database for 2s, warmup 300ms
  expect log.commit.p50 < 10s during calm
  expect iops during 0s..700ms > 1
  expect writer.p50 < 100s during 700ms..2s
}
"""


def run(backend: str, target: list[str], rate: str, folder: Path) -> dict[str, Any]:
    """The record, with its histograms."""
    file, store = folder / "phases.ioplan", folder / "store.db"
    file.write_text(PLAN.replace("RATE", rate))
    done = ioplan("run", file, *target, "--backend", backend, "--store", store)
    assert done.code == 0, done
    told = ioplan("export", "last", "--format", "json", "--detail", "--store", store)
    found = json.loads(told.out)
    (record,), (detail,) = found["runs"], found["details"]
    return {**record, "detail": detail}


def bins(record: dict[str, Any], *phases: str) -> dict[tuple[str, str], Counter[int]]:
    """Of these phases together, by stream and direction."""
    found: dict[tuple[str, str], Counter[int]] = {}
    for one in record["detail"]["histograms"]:
        if one["phase"] in phases:
            key = one["stream"], one["direction"]
            flat = one["bins"]
            counted = dict(zip(flat[::2], flat[1::2], strict=True))
            found.setdefault(key, Counter()).update(counted)
    return found


@pytest.mark.slow
@pytest.mark.long
def test_phases_of_the_engine_cover_its_run_bin_by_bin(tmp_path: Path) -> None:
    target = ["--target", str(tmp_path / "file"), "--create", "64MiB"]
    record = run("io_uring", target, "2_000", tmp_path)
    assert bins(record, "checkpoint", "calm") == bins(record, "")
    assert bins(record, "0s..700ms", "700ms..2s") == bins(record, "")
    assert ("log", "commit") in bins(record, "calm")
    assert ("reader", "read") in bins(record, "checkpoint")


def ios(record: dict[str, Any], phase: str) -> int:
    (found,) = (s for s in record["phases"][phase]["streams"] if s["name"] == "writer")
    total: int = found["total"]["ios"]
    return total


@pytest.mark.parametrize("rate", ["2_000", "400_000"])
def test_phases_of_the_simulated_drive_cover_its_run(rate: str, tmp_path: Path) -> None:
    record = run("sim", [], rate, tmp_path)
    whole = {key: one.total() for key, one in bins(record, "").items()}
    for phases in (("checkpoint", "calm"), ("0s..700ms", "700ms..2s")):
        parts = {key: one.total() for key, one in bins(record, *phases).items()}
        assert parts.keys() == whole.keys()
        for key, total in whole.items():
            # what fell due in the warm-up and completed after it is of no phase
            assert 0 <= total - parts[key] <= 32
    if rate == "2_000":
        assert ios(record, "checkpoint") == pytest.approx(4 * 400, abs=8)
        assert ios(record, "calm") == pytest.approx(4 * 30, abs=8)


def test_what_waits_in_a_simulated_queue_is_of_the_phase_it_was_due_in(
    tmp_path: Path,
) -> None:
    record = run("sim", [], "400_000", tmp_path)
    done = ios(record, "checkpoint") + ios(record, "calm")
    assert ios(record, "checkpoint") > 0.99 * done  # though most completed in the calm
    assert record["phases"]["calm"]["run_s"] == pytest.approx(1.2)
