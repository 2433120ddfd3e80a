"""A shared rate, counted by the test devices below: all of it, in turn, once each."""

import numpy as np
import pytest
from arrivals import arrivals
from calm import needs_idle_cpu
from command import ioplan, last_records, plan_file

from ioplan_witness import read_log
from targets import Stall

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("store_path")]

RATE, LENGTH_S = 400, 3
PLAN = f"""
test "Shared" {{
  run random 4KiB 100/0, rate {RATE} iops over all, qd 16 over all for {LENGTH_S}s
}}
"""


def run_on(folder, devices, plan):
    lab, rows = folder / "lab.toml", devices.items()
    tables = [f'[targets.{name}]\npath = "{one.disk}"\n' for name, one in rows]
    lab.write_text("\n".join(tables))
    targets = [word for name in devices for word in ("--target", name)]
    return ioplan("run", plan_file(folder, plan), "--lab", lab, *targets, "--json")


@pytest.mark.long
def test_devices_see_the_shared_rate_in_turn(device, tmp_path, store_path):
    devices = {name: device() for name in ("one", "two", "three")}
    before = [len(read_log(one.log)) for one in devices.values()]
    done = run_on(tmp_path, devices, PLAN)
    assert done.code == 0, done.err
    (record,) = last_records(store_path)
    for one in devices.values():
        one.tell("flush-log")
    rows = zip(devices.values(), before, strict=True)
    logs = [read_log(one.log)[at:] for one, at in rows]
    whole = [log[(log["size"] == 4096) & (log["kind"] == 0)] for log in logs]
    told = [record.targets[name].total.ios for name in devices]
    assert [len(log) for log in whole] == told
    assert sum(told) == record.total.ios
    assert arrivals(record) == pytest.approx(RATE * LENGTH_S, rel=0.01)
    assert max(told) - min(told) <= 1
    due_ns = np.sort(np.concatenate([log["arrived_ns"] for log in whole]))
    rate = (len(due_ns) - 1) * 1e9 / float(due_ns[-1] - due_ns[0])
    assert rate == pytest.approx(RATE, rel=0.01)


def test_failed_ios_are_those_of_their_target(device, tmp_path):
    fails = device(fault=[{"error": "EIO", "every": 10, "nth": 10}])
    devices = {"sound": device(), "fails": fails}
    rate = "rate 300 iops over all, qd 8 over all"
    plan = f'test "T" {{ run random 4KiB 100/0, {rate}, errors allowed for 2s }}'
    done = run_on(tmp_path, devices, plan)
    assert done.code == 0, done.out
    record = done.record
    of = {n: one["directions"]["read"] for n, one in record["targets"].items()}
    assert of["sound"]["errors"] == 0
    assert of["fails"]["errors"] == record["directions"]["read"]["errors"] > 0
    assert of["fails"]["errors"] == pytest.approx(of["fails"]["ios"] / 9, abs=2)
    assert record["backend"]["facts"]["first_error"]["target"] == "fails"
    plan = plan.replace(", errors allowed", "")
    message = run_on(tmp_path, devices, plan).record["message"]
    assert "of fails" in message


@pytest.mark.long
def test_a_slow_target_takes_the_shared_depth(device, tmp_path):
    """As in a stripe: in a closed loop all go at the pace of the slowest."""
    slow = device(latency=[{"shape": "fixed", "value": "20ms"}])
    devices = {"fast": device(), "slow": slow}
    plan = """test "T" {
      run random 4KiB 100/0, qd 4 over all for 1s
      run random 4KiB 100/0, qd 4, on targets fast, slow for 1s
    }"""
    done = run_on(tmp_path, devices, plan)
    assert done.code == 0, done.out
    shared, each = (
        {n: t["total"]["ios"] for n, t in one["targets"].items()}
        for one in done.records
    )
    assert abs(shared["fast"] - shared["slow"]) <= 4
    assert shared["slow"] <= 4 * 1000 / 20 + 4  # four at a time, each of 20 ms
    assert each["slow"] <= 4 * 1000 / 20 + 4
    assert each["fast"] > 4 * each["slow"]


@pytest.mark.long
@needs_idle_cpu(50)
def test_a_gap_is_that_of_the_target_that_stalls(device, tmp_path):
    """Of the stream as a whole there is none: the other target goes on."""
    devices = {"stalls": device(), "steady": device()}
    stall = Stall(devices["stalls"], 0.5)
    stall.thread.start()
    rate = "rate 400 iops over all, qd 1024 over all"
    done = run_on(
        tmp_path, devices, f'test "T" {{ run random 4KiB 100/0, {rate} for 3s }}'
    )
    stall.thread.join()
    assert done.code == 0, done.out
    record = done.record
    gaps_s = {
        name: one["streams"][0]["gap_ns"] / 1e9
        for name, one in record["targets"].items()
    }
    assert gaps_s["stalls"] == pytest.approx(stall.lasted_s, abs=0.1)
    assert gaps_s["steady"] < stall.lasted_s / 2
    assert record["streams"][0]["gap_ns"] / 1e9 < stall.lasted_s / 2
