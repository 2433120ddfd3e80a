"""Several block devices in one run, counted by the kernel; the guard sees each."""

import json
from contextlib import ExitStack

import pytest
from arrivals import arrivals
from command import ioplan, last_records, plan_file

from ioplan.runner import Tree, device_counts, disk_of
from targets import ELSEWHERE, loop_device, needs_root, sparse, tell

pytestmark = [pytest.mark.slow, pytest.mark.machine]

RATE, LENGTH_S = 1500, 2
SAMPLES = 1_000
"""Blocks of a device that the guard reads at a look."""
PLAN = f"""
test "T" {{
  run random 4KiB 50/50, rate {RATE} iops over all, qd 24 over all for {LENGTH_S}s
}}
"""


@pytest.fixture
def devices(tmp_path, store_path):
    """Three loop devices by the names of the lab beside them."""
    with ExitStack() as stack:
        found, lines = {}, []
        for name in ("one", "two", "three"):
            backing = sparse(tmp_path / f"{name}.img", 16 << 20)
            found[name] = stack.enter_context(loop_device(backing))
            said = {"backing_file": str(backing), "writable": True}
            said |= {"cannot_see_users": True} if ELSEWHERE else {}
            lines.append(f"[targets.{name}]")
            lines += [f"{key} = {json.dumps(value)}" for key, value in said.items()]
        (tmp_path / "lab.toml").write_text(
            "\n".join([*lines, "[groups]", 'all = ["one", "two", "three"]', ""])
        )
        yield found


def run(folder, plan, *names, target="all"):
    words = [f"--overwrite={folder / name}.img" for name in names]
    lab = folder / "lab.toml"
    path = plan_file(folder, plan)
    return ioplan("run", path, "--lab", lab, "--target", target, *words)


def counted(devices):
    found = {n: device_counts(disk_of(Tree(), str(d))) for n, d in devices.items()}
    return {n: one.ios for n, one in found.items() if one}


@needs_root
@pytest.mark.long
def test_the_kernel_counts_on_each_device_what_the_run_tells(
    tmp_path, store_path, devices
):
    assert run(tmp_path, PLAN, *devices).code == 0  # reads each device once before
    before = counted(devices)
    done = run(tmp_path, PLAN, *devices)
    after = counted(devices)
    assert done.code == 0, done.err
    record = last_records(store_path)[0]
    assert sum(one.total.ios for one in record.targets.values()) == record.total.ios
    assert arrivals(record) == pytest.approx(RATE * LENGTH_S, rel=0.01)
    for name, target in record.targets.items():
        # the guard samples each device before and after; others look when it is closed
        for direction, more in (("write", 24), ("read", 2 * SAMPLES + 300)):
            ios = after[name][direction] - before[name][direction]
            wanted = target.directions[direction].ios
            assert wanted <= ios <= wanted + more, direction
        assert target.total.ios == pytest.approx(record.total.ios / 3, abs=2)
    assert {
        one["identity"]["backing_file"] for one in record.target["members"].values()
    }


@needs_root
@pytest.mark.long
@pytest.mark.promise("safety.all_targets")
def test_a_device_without_consent_or_with_data_stops_all(tmp_path, devices):
    done = run(tmp_path, PLAN, "one", "three")
    assert done.code == 2
    assert "two" in done.err
    tell("mkfs.ext4", "-q", devices["three"])
    done = run(tmp_path, PLAN, *devices)
    assert done.code == 2
    assert "ext4" in done.err
    for name in ("one", "two"):
        assert not any((tmp_path / f"{name}.img").read_bytes())
