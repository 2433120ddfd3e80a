"""Latencies of flushes and commits, against what the device saw of them."""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from command import ioplan, succeed
from device_parts import short_first
from msgspec import Struct, field
from without_io_uring import engine_without_io_uring

from ioplan_witness import seen

pytestmark = [pytest.mark.slow, pytest.mark.machine]
FLUSH_MS = 40
NEAR_NS = 10_000_000
"""What FUSE and a busy host add; a flush is four times as long."""
SERIALISED_NS = NEAR_NS + FLUSH_MS * 10**6
"""A write that is issued during a flush arrives after it: FUSE locks the file."""
RESOLUTION = 2.0**-7
"""Of the engine's histogram: a percentile may be so much below the latency itself."""
PERCENTS = (50, 90)
EVEN = {"value": f"{FLUSH_MS}ms"}
UNEVEN = {"shape": "values", "values": ["20ms", "60ms"], "weights": [70, 30]}


class Log(Struct, frozen=True):
    """A stream that flushes, by what it does and how long the device's flushes take."""

    load: str
    qd: int = 1
    flush: Mapping[str, Any] = field(default_factory=lambda: EVEN)
    beside: str = ""
    blocking: bool = False

    @property
    def plan(self):
        beside = f"  beside = {self.beside}\n" if self.beside else ""
        streams = f"  log = {self.load}, qd {self.qd}\n{beside}"
        return f'workload w {{\n{streams}}}\ntest "Log" {{ run w for 2s }}\n'


CASES = {
    "after each write": Log("sequential 4KiB 0/100, sync every 1"),
    "after four": Log("sequential 4KiB 0/100, sync every 4"),
    "four at a time": Log("sequential 4KiB 0/100, sync every 8", qd=4),
    "at a rate": Log("sequential 4KiB 0/100, rate 15 iops, sync every 1"),
    "beside a reader": Log(
        "sequential 4KiB 0/100, sync every 2", beside="random 4KiB 100/0, qd 4"
    ),
    "uneven flushes": Log("sequential 4KiB 0/100, sync every 1", flush=UNEVEN),
    "blocking calls": Log("sequential 4KiB 0/100, sync every 2", blocking=True),
}
SHORT = ("beside a reader",)


def traced_commits_ns(log):
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


def run(plan, device, folder):
    """The figures of the log by direction."""
    file, store = folder / "log.ioplan", folder / "store.db"
    file.write_text(plan)
    target = ("--target", device.disk, "--overwrite-data", device.disk)
    succeed("run", file, *target, "--backend", "io_uring", "--store", store)
    told = ioplan("export", "last", "--format", "json", "--store", store)
    (record,) = json.loads(told.out)["runs"]
    directions: dict[str, dict[str, Any]] = record["streams"][0]["directions"]
    return directions


def percentiles_ns(figures):
    found = figures["latency"]["percentiles"]
    return {one["percent"]: one["latency_ns"] for one in found}


def check(told_ns, took_ns, near_ns=NEAR_NS):
    """Percentiles against latencies: never shorter, and longer by `near_ns` at most."""
    for percent in PERCENTS:
        seen_ns = float(np.percentile(took_ns, percent))
        more_ns = told_ns[percent] - seen_ns
        assert -RESOLUTION * seen_ns < more_ns < near_ns, (percent, seen_ns)


@pytest.mark.parametrize("name", short_first(CASES, SHORT))
@pytest.mark.promise("figures.commit")
def test_flushes_and_commits_took_as_long_as_the_device_saw(
    name, device, tmp_path, monkeypatch
):
    case = CASES[name]
    if case.blocking:
        monkeypatch.setenv("IOPLAN_ENGINE", engine_without_io_uring(tmp_path))
    slow = {"direction": "flush", **case.flush}
    one = device(size="64MiB", latency=[slow, {"value": "1ms"}])
    found = run(case.plan, one, tmp_path)
    log = seen(one)
    flushes, commits_ns = log[log["kind"] == 2], traced_commits_ns(log)
    assert abs(found["flush"]["ios"] - len(flushes)) <= 1
    assert abs(found["commit"]["ios"] - len(commits_ns)) <= case.qd
    flush_ns, commit_ns = (percentiles_ns(found[d]) for d in ("flush", "commit"))
    check(flush_ns, (flushes["done_ns"] - flushes["arrived_ns"]).astype(np.int64))
    check(commit_ns, commits_ns, NEAR_NS if case.qd == 1 else SERIALISED_NS)
    assert all(commit_ns[percent] > flush_ns[percent] for percent in PERCENTS)
