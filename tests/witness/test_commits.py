"""Latencies of flushes and commits, against what the device saw of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import ioplan

from ioplan.witness.device import Device
from ioplan.witness.log import Entries, seen

pytestmark = [pytest.mark.slow, pytest.mark.machine]
Starts = Callable[..., Device]
FLUSH_MS = 40
NEAR_NS = 10_000_000
"""What FUSE and a busy host add; a flush is four times as long."""
SERIALISED_NS = NEAR_NS + FLUSH_MS * 10**6
"""A write that is issued during a flush arrives after it: FUSE locks the file."""
RESOLUTION = 2.0**-7
"""Of the engine's histogram: a median may be so much below the latency itself."""
PLAN = """test "Log" {{
  run sequential 4KiB 0/100, qd {qd}, sync every {every} for 3s
}}
"""


def traced_commits_ns(log: Entries) -> list[int]:
    """From the arrival of the first write that a flush newly covers to its end."""
    writes = [one for one in log if one["kind"] == 1]
    found = []
    for flush in (one for one in log if one["kind"] == 2):
        covered = [w for w in writes if w["done_ns"] <= flush["arrived_ns"]]
        if covered:
            first_ns = min(int(w["arrived_ns"]) for w in covered)
            found.append(int(flush["done_ns"]) - first_ns)
        writes = [w for w in writes if w["done_ns"] > flush["arrived_ns"]]
    return found


def run(plan: str, device: Device, folder: Path) -> dict[str, dict[str, Any]]:
    """The record's figures by direction."""
    file, store = folder / "log.ioplan", folder / "store.db"
    file.write_text(plan)
    target = ("--target", device.disk, "--overwrite-data", device.disk)
    done = ioplan("run", file, *target, "--backend", "io_uring", "--store", store)
    assert done.code == 0, done
    told = ioplan("export", "last", "--format", "json", "--store", store)
    (record,) = json.loads(told.out)["runs"]
    directions: dict[str, dict[str, Any]] = record["directions"]
    return directions


def median_ns(directions: dict[str, dict[str, Any]], direction: str) -> float:
    percentiles = directions[direction]["latency"]["percentiles"]
    return float(next(p["latency_ns"] for p in percentiles if p["percent"] == 50))


@pytest.mark.long_but_first
@pytest.mark.parametrize(("qd", "every"), [(1, 1), (1, 4), (4, 8)])
def test_flushes_and_commits_took_as_long_as_the_device_saw(
    qd: int, every: int, device: Starts, tmp_path: Path
) -> None:
    slow = {"direction": "flush", "value": f"{FLUSH_MS}ms"}
    one = device(size="64MiB", latency=[slow, {"value": "1ms"}])
    found = run(PLAN.format(qd=qd, every=every), one, tmp_path)
    log = seen(one)
    flushes, commits_ns = log[log["kind"] == 2], traced_commits_ns(log)
    assert abs(found["flush"]["ios"] - len(flushes)) <= 1
    assert abs(found["commit"]["ios"] - len(commits_ns)) <= qd
    took_ns = np.median(flushes["done_ns"] - flushes["arrived_ns"])
    assert median_ns(found, "flush") == pytest.approx(took_ns, abs=NEAR_NS)
    near_ns = NEAR_NS if qd == 1 else SERIALISED_NS
    commit_ns = np.median(commits_ns)
    assert -RESOLUTION * commit_ns < median_ns(found, "commit") - commit_ns < near_ns
    assert median_ns(found, "commit") > median_ns(found, "flush") > FLUSH_MS * 1e6


def test_without_flushes_there_are_neither(device: Starts, tmp_path: Path) -> None:
    plan = 'test "Log" { run sequential 4KiB 0/100 for 200ms }\n'
    assert set(run(plan, device(size="64MiB"), tmp_path)) == {"write"}
