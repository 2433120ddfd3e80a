"""A group of targets of which one stalls: its record has the gap, the other's has none."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from calm import needs_idle_cpu
from command import ioplan, plan_file

from ioplan.results.store import Store
from ioplan_witness import Device
from targets import Stall

PLAN = """
test "Group" {{
  run random 4KiB 100/0, qd 4, rate 300 iops for {length}s
  expect gap < {bound}s
}}
"""
INTERVAL_S = 0.25


@pytest.mark.long
@pytest.mark.parametrize("stall_s", [0.5, 2, 10])
@needs_idle_cpu(50)
def test_a_stall_of_one_target_is_in_its_record_only(
    stall_s: float,
    device: Callable[..., Device],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    store_path = tmp_path / "store.db"
    stalls, steady = device(), device()
    stall = Stall(stalls, stall_s)
    stall.thread.start()
    targets = ("--target", stalls.disk, "--target", steady.disk)
    plan = plan_file(tmp_path, PLAN.format(length=stall_s + 4, bound=stall_s / 2))
    words = ("--interval", f"{INTERVAL_S * 1000:.0f}ms", "--store", store_path)
    done = ioplan("run", plan, *targets, *words)
    stall.thread.join()
    assert done.code == 1, done.out + done.err
    assert "each of the 2 targets gets each rate of the plan in full" in done.out
    gaps_s = {}
    with Store.open(store_path) as store:
        for session in store.sessions():
            (record,) = store.records(session.id)
            gaps_s[session.target] = (record.streams[0].gap_ns or 0) / 1e9
    assert gaps_s[str(stalls.disk)] == pytest.approx(stall.lasted_s, abs=INTERVAL_S)
    assert gaps_s[str(steady.disk)] < stall_s / 2
