"""A replay after completions, by what arrived at a test device, and when it was done."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from recorded import record_of, run
from without_io_uring import engine_without_io_uring

from ioplan.trace import ANSWERED, NO_RESPONSE, WRITE, Ios, write
from ioplan_witness import Device, seen

pytestmark = [pytest.mark.slow, pytest.mark.machine]

MS_NS = 1_000_000
Starts = Callable[..., Device]


def written(folder: Path) -> Ios:
    """Writes, each at a place of its own, of which those that overlap vary; the
    completion of each twentieth is not known."""
    random, count = np.random.default_rng(3), 400
    made = np.zeros(count, ANSWERED)
    made["time_ns"] = np.cumsum(random.exponential(0.5 * MS_NS, count)).astype("u8")
    made["time_ns"] -= made["time_ns"][0]
    made["response_ns"] = random.gamma(2, 1.5 * MS_NS, count).astype("u8")
    made["response_ns"][::20] = NO_RESPONSE
    made["kind"], made["size"] = WRITE, 4096
    made["offset"] = random.permutation(count) * 4096
    write(folder / "web.iotrace", [made])
    return made


def waited_for(trace: Ios, number: int) -> Any:
    """Which I/Os were complete before it began, by the recording."""
    known = trace["response_ns"] != NO_RESPONSE
    ends = np.where(known, trace["time_ns"] + trace["response_ns"] * known, 2**63)
    return ends[:number] <= trace["time_ns"][number], ends


@pytest.mark.parametrize(
    ("speed", "mode"),
    [
        (1, "io_uring"),
        pytest.param(1, "sync", marks=pytest.mark.long),
        (4, "io_uring"),
        (4, "sync"),
    ],
)
def test_each_begins_when_what_had_completed_before_it_has(
    mode: str,
    speed: int,
    device: Starts,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """On a device that is slower than the recorded one: every I/O, to the nanosecond."""
    if mode == "sync":
        monkeypatch.setenv("IOPLAN_ENGINE", engine_without_io_uring(tmp_path))
    trace = written(tmp_path)
    made = device(latency=[{"direction": "write", "value": "9ms"}])
    step = f"run replay web after completion, qd 64, speed {speed}"
    record = record_of(run(made, tmp_path, step))
    entries = seen(made)
    some = entries[entries["kind"] == WRITE]
    order = np.argsort(trace["offset"])
    assert sorted(some["offset"].tolist()) == trace["offset"][order].tolist()
    arrived, done = (np.zeros(len(trace), np.int64) for _ in range(2))
    by_place = np.argsort(some["offset"])
    arrived[order] = some["arrived_ns"][by_place]
    done[order] = some["done_ns"][by_place]
    chained = 0
    for number in range(len(trace)):
        before, ends = waited_for(trace, number)
        if before.any():
            thought_ns = trace["time_ns"][number] - ends[:number][before].max()
            last_ns = done[:number][before].max()
            assert arrived[number] >= last_ns + thought_ns / speed - 1
            chained += 1
    assert chained > 380
    assert (arrived[1:] < done[:-1]).sum() > 200  # those that overlapped do so again
    late = record["backend"]["facts"]["lateness"]["main"]
    begins = [waited_for(trace, n)[0].sum() for n in range(len(trace))]
    assert late["waited"] == pytest.approx((np.diff(begins) > 0).sum() / len(trace))
    assert record["run_s"] > 2 * int(trace["time_ns"][-1]) / speed / 1e9
