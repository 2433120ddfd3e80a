"""What the engine reports is what the device did: latencies that are known before."""

import json
import os
import resource
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from accuracy import (
    Kernel,
    check_arrived,
    check_due,
    check_latencies,
    check_run_time,
    check_stalled,
    check_under_way,
    reads,
    seen_of,
)
from calm import needs_idle_cpu

from ioplan_io_uring import engine_path
from targets import (
    NEEDS_FUSE,
    faulty,
    loop_device,
    needs_faulty,
    needs_root,
    slow,
)

pytestmark = pytest.mark.slow

MS = 1_000_000
BYTES = 32 << 20
STALL_MS = 200
RATE_IOPS = 200
GAP_NS = 1000 * MS / RATE_IOPS
LOCKED_BYTES = resource.getrlimit(resource.RLIMIT_MEMLOCK)[0] if os.geteuid() else -1


def job(path, run_ms, qd, **fields):
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


def run(asked):
    """The result of a run that succeeds."""
    done = subprocess.run(
        [engine_path(), "run", "-"],
        input=json.dumps(asked), capture_output=True, text=True, check=False,
    )  # fmt: skip
    last: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    assert last["event"] == "result", last
    return last


@NEEDS_FUSE
@needs_root
@pytest.mark.parametrize("qd", [1, 4, 8])
@needs_idle_cpu(ms=50)
@pytest.mark.promise("figures.latency")
def test_a_known_latency_is_reported(qd, tmp_path):
    with slow(tmp_path, "5ms") as disk, loop_device(disk, "--direct-io=on") as device:
        began_ns, before = time.monotonic_ns(), Kernel.of(str(device))
        result = run(job(str(device), 600, qd))
        took_ns, after = time.monotonic_ns() - began_ns, Kernel.of(str(device))
    check_run_time(result, 600 * MS, took_ns)
    check_latencies(result, qd, 5 * MS, after.less(before))


@contextmanager
def running(asked):
    """An engine that has been given its job."""
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [engine_path(), "run", "-"], stdin=pipe, stdout=pipe, text=True
    ) as engine:
        assert engine.stdin and engine.stdout
        engine.stdin.write(json.dumps(asked))
        engine.stdin.close()
        yield engine


def stalled(device, asked):
    """All lines of a run whose device stands still for a while; for how many ms."""
    with running(asked) as engine:
        assert engine.stdout
        lines = [json.loads(engine.stdout.readline()) for _ in range(3)]
        stall_ms = stand_still(device)
        assert engine.poll() is None, "the stall came too late"
        lines += map(json.loads, engine.stdout)
    assert lines[-1]["event"] == "result", lines[-1]
    return lines, stall_ms


def stand_still(device):
    """Stop the server behind the device; returns for how many ms."""
    os.kill(device.server, signal.SIGSTOP)
    start = time.monotonic()
    try:
        time.sleep(STALL_MS / 1000)
        return (time.monotonic() - start) * 1000
    finally:
        os.kill(device.server, signal.SIGCONT)


@pytest.mark.long
@needs_faulty
@needs_idle_cpu(ms=50)
@pytest.mark.promise("figures.latency")
def test_a_stall_is_seen_by_all_that_were_under_way(tmp_path):
    with faulty(tmp_path) as device:
        (*_, result), stall_ms = stalled(device, job(device.path, 2000, 8))
    check_under_way(reads(result), stall_ms, 8)


@pytest.mark.long
@needs_faulty
@needs_idle_cpu(ms=50)
@pytest.mark.promise("figures.open_loop")
def test_a_stall_is_seen_by_all_that_should_have_started(tmp_path):
    rate = {"iops": RATE_IOPS, "arrivals": "fixed"}
    with faulty(tmp_path) as device:
        asked = job(device.path, 2000, 1, rate=rate) | {"interval_ns": 5 * MS}
        lines, stall_ms = stalled(device, asked)
    check_stalled(reads(lines[-1]), stall_ms, RATE_IOPS)
    check_arrived(lines[-1]["streams"][0], RATE_IOPS)
    check_due([*seen_of(lines)], GAP_NS)


def zero(run_ms, **fields):
    """A job on what answers at once."""
    return job("/dev/zero", run_ms, **fields)


def resident_kib(pid):
    """What a process has in memory."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    (line,) = (line for line in lines if line.startswith("VmRSS:"))
    return int(line.split()[1])


@pytest.mark.long
def test_an_engine_with_short_intervals_does_not_grow():
    sizes, last = [], ""
    with running({**zero(4000, qd=32), "interval_ns": MS}) as engine:
        assert engine.stdout
        for number, line in enumerate(engine.stdout):
            if number in (1000, 3500):
                sizes.append(resident_kib(engine.pid))
            last = line
    assert json.loads(last)["event"] == "result" and len(sizes) == 2
    assert sizes[1] - sizes[0] < 256


@pytest.mark.skipif(
    0 <= LOCKED_BYTES < 512 * 64 * 4096,
    reason="LEFT OUT: rings of 64 threads need locked memory: ulimit -l",
)
@pytest.mark.long
def test_many_threads_with_deep_queues():
    asked = {**zero(200, qd=512, threads=64), "interval_ns": 10 * MS}
    result = run(asked)
    assert reads(result)["ios"] >= 512 * 64 and reads(result)["errors"] == 0


def warnings(result):
    """All that the engine warned of."""
    return "\n".join(result["warnings"])


@needs_idle_cpu(ms=50)
def test_a_generator_at_its_limit_is_named():
    assert "the generator, not the drive" in warnings(run(zero(300, qd=32)))


@NEEDS_FUSE
@needs_idle_cpu(ms=50)
def test_a_drive_at_its_limit_is_none_of_the_generator(tmp_path):
    with slow(tmp_path, "5ms") as disk:
        assert "the generator" not in warnings(run(job(str(disk), 300, 1)))


def test_a_core_that_others_use_is_named():
    last = max(os.sched_getaffinity(0))
    code = f"import os; os.sched_setaffinity(0, [{last}])\nwhile 1: 0"
    beside = subprocess.Popen([sys.executable, "-c", code])
    try:
        assert "waited for a CPU" in warnings(run(zero(500, qd=32)))
    finally:
        beside.kill()
        beside.wait()
