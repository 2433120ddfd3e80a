"""Phases of a run, against what the device saw of each I/O."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command import ioplan

from ioplan_witness import Device, seen

pytestmark = [pytest.mark.slow, pytest.mark.machine]
Starts = Callable[..., Device]
BLOCK = 4096
PHASES = (("busy", 0.6, 203), ("calm", 0.4, 53))
"""Rates that put no I/O on the edge of a phase."""
WHOLE_S = sum(length_s for _, length_s, _ in PHASES)
TIMES = 3
LATENCY_MS = {"busy": 1, "calm": 6}
STALL_MS = 200
PLAN = """test "Phases" {
  run sequential 4KiB 0/100, qd 1,
      burst 600ms of 203 iops as busy, then 400ms of 53 iops as calm for 3s
  expect p50 < 1s during calm
}
"""


def schedule() -> list[tuple[str, int]]:
    """Of each I/O by its number, when it is due: the phase, and how often that came."""
    found = []
    for number in range(TIMES * 1000):
        left, turn = float(number), 0
        while True:
            for name, length_s, per_s in PHASES:
                if left < length_s * per_s:
                    found.append((name, turn))
                    break
                left -= length_s * per_s
            else:
                turn += 1
                continue
            break
    return [one for one in found if one[1] < TIMES]


def edges(found: list[tuple[str, int]]) -> list[tuple[str, int, int]]:
    """The numbers at which each phase begins and ends, whenever it comes."""
    starts = [n for n, one in enumerate(found) if n == 0 or found[n - 1] != one]
    ends = [*starts[1:], len(found)]
    return [(found[a][0], a, b) for a, b in zip(starts, ends, strict=True)]


def rule(name: str, first: int, end: int) -> dict[str, Any]:
    place = [f"{first * BLOCK}B", f"{end * BLOCK}B"]
    return {"range": place, "value": f"{LATENCY_MS[name]}ms"}


def run(device: Device, folder: Path, qd: int = 1) -> dict[str, Any]:
    """The record."""
    file, store = folder / "phases.ioplan", folder / "store.db"
    file.write_text(PLAN.replace("qd 1", f"qd {qd}"))
    target = ("--target", device.disk, "--overwrite-data", device.disk)
    options = ("--backend", "io_uring", "--store", store, "--interval", "100ms")
    done = ioplan("run", file, *target, *options)
    assert done.code == 0, done
    told = ioplan("export", "last", "--format", "json", "--detail", "--store", store)
    found = json.loads(told.out)
    (record,), (detail,) = found["runs"], found["details"]
    return {**record, "detail": detail}


@pytest.mark.long_but_first
@pytest.mark.parametrize("qd", [4, 1])
@pytest.mark.promise("figures.phases")
def test_each_io_is_counted_in_the_phase_in_which_it_was_due(
    qd: int, device: Starts, tmp_path: Path
) -> None:
    """By blocking calls, which the engine makes at a depth of 1, and by io_uring."""
    due = schedule()
    rules = [rule(*one) for one in edges(due)]
    one = device(size="64MiB", latency=rules)
    record = run(one, tmp_path, qd)
    assert (record["backend"]["mode"] == "sync") == (qd == 1)
    log = seen(one)
    numbers = [int(n) for n in log["offset"][log["kind"] == 1] // BLOCK]
    assert sorted(numbers) == list(range(len(numbers)))
    for name, *_ in PHASES:
        seen_ios = sum(due[number][0] == name for number in numbers)
        found = record["phases"][name]["directions"]["write"]
        assert found["ios"] == seen_ios
        assert found["latency"]["min_ns"] >= LATENCY_MS[name] * 1e6
    assert record["phases"]["busy"]["directions"]["write"]["latency"]["min_ns"] < 6e6
    assert record["phases"]["busy"]["run_s"] == pytest.approx(1.8, abs=0.01)
    assert record["phases"]["calm"]["run_s"] == pytest.approx(1.2, abs=0.01)


@pytest.mark.long_but_first
@pytest.mark.parametrize(("stalled", "other"), [("busy", "calm"), ("calm", "busy")])
def test_a_stall_is_in_its_phase_and_its_interval_only(
    stalled: str, other: str, device: Starts, tmp_path: Path
) -> None:
    _, first, end = [one for one in edges(schedule()) if one[0] == stalled][1]
    at = first + (end - first) // 8
    stall = {"range": [f"{at * BLOCK}B", f"{(at + 1) * BLOCK}B"]}
    slow = [stall | {"value": f"{STALL_MS}ms"}, {"value": "1ms"}]
    record = run(device(size="64MiB", latency=slow), tmp_path)
    phases = {n: one["total"]["latency"] for n, one in record["phases"].items()}
    assert phases[stalled]["max_ns"] >= STALL_MS * 1e6 > phases[other]["max_ns"]
    ends_s = [
        point["t_s"]
        for point in record["detail"]["series"]
        if point["max_ns"] >= STALL_MS * 1e6
    ]
    begin_s = 1.0 if stalled == "busy" else 1.6
    assert 1 <= len(ends_s) <= 2  # what came next has waited nearly as long
    assert all(begin_s + STALL_MS / 1e3 < end_s < begin_s + 0.6 for end_s in ends_s)
