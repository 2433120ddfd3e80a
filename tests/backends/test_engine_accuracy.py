"""What the engine reports is what the device did: latencies that are known before."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from calm import in_a_calm_moment
from faulty import Faulty, faulty, needs_faulty

from ioplan.measure.histogram import bucket_index
from ioplan_io_uring.engine import engine_path

pytestmark = pytest.mark.slow

MS = 1_000_000
BYTES = 32 << 20
STALL_MS = 200
RATE_IOPS = 200


def job(path: str, run_ms: int, qd: int, **fields: Any) -> dict[str, Any]:
    """Random reads of 4 KiB."""
    sizes = [{"size_bytes": 4096, "percent": 100.0}]
    stream = {
        "name": "main", "pattern": "random", "read_percent": 100.0, "qd": qd,
        "read_sizes": sizes, "write_sizes": sizes, "region_start_bytes": 0,
        "region_end_bytes": BYTES, **fields,
    }  # fmt: skip
    return {
        "target": path, "capacity_bytes": BYTES, "block_bytes": 512,
        "streams": [stream], "run_ns": run_ms * MS, "interval_ns": 100 * MS,
    }  # fmt: skip


def run(asked: dict[str, Any]) -> dict[str, Any]:
    """The result of a run that succeeds."""
    done = subprocess.run(
        [engine_path(), "run", "-"],
        input=json.dumps(asked), capture_output=True, text=True, check=False,
    )  # fmt: skip
    last: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    assert last["event"] == "result", last
    return last


def reads(result: dict[str, Any]) -> dict[str, Any]:
    """The counts of the reads."""
    found: dict[str, Any] = result["streams"][0]["directions"]["read"]
    return found


def mean_ns(result: dict[str, Any]) -> float:
    """Mean latency."""
    counts = reads(result)
    return float(counts["sum_ns"] / counts["ios"])


def slower_than(result: dict[str, Any], latency_ms: float) -> int:
    """How many I/Os took longer."""
    bins = reads(result)["bins"]
    pairs = zip(bins[::2], bins[1::2], strict=True)
    edge = bucket_index(int(latency_ms * MS))
    return sum(count for index, count in pairs if index > edge)


@needs_faulty
@pytest.mark.parametrize("qd", [1, 4, 8])
@in_a_calm_moment
def test_a_known_latency_is_reported(qd: int, tmp_path: Path) -> None:
    with faulty(tmp_path, "--filter=delay", "rdelay=5ms") as device:
        result = run(job(device.path, 600, qd))
    assert reads(result)["min_ns"] >= 5 * MS
    # What stands before the delay does not take all that comes at once.
    # A busy machine adds to it, and never takes away.
    assert slower_than(result, 8) < reads(result)["ios"] / 2 or qd > 1
    held = reads(result)["sum_ns"] / result["run_ns"]
    assert held == pytest.approx(qd, rel=0.02)


def stalled(device: Faulty, asked: dict[str, Any]) -> tuple[dict[str, Any], float]:
    """The result of a run whose device stands still for a while, and that while."""
    took: list[float] = []
    stall = threading.Timer(0.5, lambda: took.append(stand_still(device)))
    stall.start()
    try:
        return run(asked), took[0]
    finally:
        stall.join()


def stand_still(device: Faulty) -> float:
    """Stop the server behind the device; returns for how many ms."""
    os.kill(device.server, signal.SIGSTOP)
    start = time.monotonic()
    try:
        time.sleep(STALL_MS / 1000)
    finally:
        os.kill(device.server, signal.SIGCONT)
    return (time.monotonic() - start) * 1000


@needs_faulty
@in_a_calm_moment
def test_a_stall_is_seen_by_all_that_were_under_way(tmp_path: Path) -> None:
    with faulty(tmp_path) as device:
        result, stall_ms = stalled(device, job(device.path, 1000, 8))
    assert slower_than(result, 0.9 * stall_ms) == 8


@needs_faulty
@in_a_calm_moment
def test_a_stall_is_seen_by_all_that_should_have_started(tmp_path: Path) -> None:
    rate = {"iops": RATE_IOPS, "arrivals": "fixed"}
    with faulty(tmp_path) as device:
        result, stall_ms = stalled(device, job(device.path, 1000, 1, rate=rate))
        beside = stalled_fio(device)
    due = (stall_ms - 20) * RATE_IOPS / 1000
    assert slower_than(result, 20) == pytest.approx(due, rel=0.25)
    assert reads(result)["ios"] == RATE_IOPS
    # fio begins to count when an I/O is issued, and so sees the stall once.
    assert beside < due / 4


def stalled_fio(device: Faulty) -> int:
    """How many I/Os fio finds slower than 20 ms, at the same rate."""
    if not shutil.which("fio"):
        return 0
    stall = threading.Timer(0.5, stand_still, [device])
    stall.start()
    command = [
        "fio", "--name=r", f"--filename={device.path}", "--ioengine=io_uring",
        "--direct=1", "--rw=randread", "--bs=4k", "--iodepth=1", "--time_based",
        "--runtime=1", f"--rate_iops={RATE_IOPS}", "--output-format=json+",
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, check=True, text=True)
    stall.join()
    part = json.loads(done.stdout[done.stdout.index("{") :])["jobs"][0]["read"]
    bins = part["clat_ns"]["bins"]
    return sum(count for ns, count in bins.items() if int(ns) > 20 * MS)


def zero(run_ms: int, **fields: Any) -> dict[str, Any]:
    """A job on what answers at once."""
    return job("/dev/zero", run_ms, **fields)


def resident_kib(pid: int) -> int:
    """What a process has in memory."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    (line,) = (line for line in lines if line.startswith("VmRSS:"))
    return int(line.split()[1])


def test_an_engine_with_short_intervals_does_not_grow() -> None:
    asked = {**zero(4000, qd=32), "interval_ns": MS}
    with subprocess.Popen(
        [engine_path(), "run", "-"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as engine:  # fmt: skip
        assert engine.stdin and engine.stdout
        engine.stdin.write(json.dumps(asked))
        engine.stdin.close()
        sizes, last = [], ""
        for number, line in enumerate(engine.stdout):
            if number in (1000, 3500):
                sizes.append(resident_kib(engine.pid))
            last = line
    assert json.loads(last)["event"] == "result" and len(sizes) == 2
    assert sizes[1] - sizes[0] < 256


def test_many_threads_with_deep_queues() -> None:
    asked = {**zero(200, qd=512, threads=64), "interval_ns": 10 * MS}
    result = run(asked)
    assert reads(result)["ios"] >= 512 * 64 and reads(result)["errors"] == 0


def warnings(result: dict[str, Any]) -> str:
    """All that the engine warned of."""
    return "\n".join(result["warnings"])


@in_a_calm_moment
def test_a_generator_at_its_limit_is_named() -> None:
    assert "the generator, not the drive" in warnings(run(zero(300, qd=32)))


@needs_faulty
@in_a_calm_moment
def test_a_drive_at_its_limit_is_none_of_the_generator(tmp_path: Path) -> None:
    with faulty(tmp_path, "--filter=delay", "rdelay=5ms") as device:
        assert "the generator" not in warnings(run(job(device.path, 300, 1)))


def test_a_core_that_others_use_is_named() -> None:
    last = max(os.sched_getaffinity(0))
    beside = subprocess.Popen(
        [
            sys.executable,
            "-c",
            f"import os; os.sched_setaffinity(0, [{last}])\nwhile 1: 0",
        ]
    )
    try:
        assert "other programs had its CPU" in warnings(run(zero(500, qd=32)))
    finally:
        beside.kill()
        beside.wait()
