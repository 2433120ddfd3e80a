"""A group of targets of which one stalls: its record has the gap, the other's has none."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from command import ioplan, plan_file
from serving import server_of

from ioplan.store.store import Store
from ioplan.witness.device import Device

STALL_S, LENGTH_S = 1.0, 5
PLAN = f"""
test "Group" {{
  run random 4KiB 100/0, qd 4, rate 300 iops for {LENGTH_S}s
  expect gap < {STALL_S / 2}s
}}
"""


class Stall:
    """A device that answers nothing for a while, once it has seen I/O of a run."""

    def __init__(self, device: Device) -> None:
        self.log = Path(f"{device.folder}.iolog")
        self.pid = int(server_of(device))
        self.lasted_s = 0.0
        self.thread = threading.Thread(target=self.make, daemon=True)

    def make(self) -> None:
        began = self.log.stat().st_size
        while self.log.stat().st_size < began + 200 * 64:
            time.sleep(0.01)
        os.kill(self.pid, signal.SIGSTOP)
        since_s = time.monotonic()
        time.sleep(STALL_S)
        os.kill(self.pid, signal.SIGCONT)
        self.lasted_s = time.monotonic() - since_s


@pytest.mark.long
def test_a_stall_of_one_target_is_in_its_record_only(
    device: Callable[..., Device],
    tmp_path: Path,
    store_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    stalls, steady = device(), device()
    stall = Stall(stalls)
    stall.thread.start()
    targets = ("--target", stalls.disk, "--target", steady.disk)
    done = ioplan("run", plan_file(tmp_path, PLAN), *targets, "--interval", "250ms")
    stall.thread.join()
    assert done.code == 1, done.out + done.err
    assert "each of the 2 targets gets each rate of the plan in full" in done.out
    gaps_s = {}
    with Store.open(store_path) as store:
        for session in store.sessions():
            (record,) = store.records(session.id)
            gaps_s[session.target] = (record.streams[0].gap_ns or 0) / 1e9
    assert gaps_s[str(stalls.disk)] == pytest.approx(stall.lasted_s, abs=0.25)
    assert gaps_s[str(steady.disk)] < STALL_S / 2
