"""Plans on a real scratch file, by the real engine."""

import json
import subprocess
import tempfile
from pathlib import Path

import pytest
from command import ioplan, plan_file
from without_io_uring import engine_without_io_uring

from ioplan_io_uring import engine_path
from targets import needs_root, sparse, tmpfs

pytestmark = pytest.mark.slow

GIB = 1 << 30

SHORT = """
precondition filled { write sequential 128KiB, qd 8, 1 pass }
test "Short" { after filled run random 4KiB 50/50, qd 8 for 100ms }
"""


@pytest.fixture
def scratch(tmp_path):
    return tmp_path / "scratch.bin"


@pytest.mark.long
@pytest.mark.promise("figures.little")
def test_littles_law_holds_on_a_real_file(tmp_path, scratch, store_path):
    text = 'test "L" { run random 4KiB 100/0 for 500ms vary qd in 4, 16, 64 }'
    done = ioplan(
        "run", plan_file(tmp_path, text), "--target", scratch, "--create", "64MiB",
        "--json",
    )  # fmt: skip
    for record in done.records:
        total, qd = record["total"], int(record["asked"]["cell"]["qd"])
        held = total["iops"] * total["latency"]["mean_ns"] / 1e9
        assert held == pytest.approx(qd, rel=0.02)


@pytest.mark.long
def test_without_io_uring_it_says_so_and_goes_on(
    tmp_path, scratch, store_path, monkeypatch
):
    monkeypatch.setenv("IOPLAN_ENGINE", engine_without_io_uring(tmp_path))
    path = plan_file(tmp_path, SHORT)
    done = ioplan("run", path, "--target", scratch, "--create", "32MiB", "--json")
    assert done.code == 0, done.err
    for record in done.records:
        backend = record["backend"]
        assert backend["mode"] == "sync" and "not permitted" in backend["reason"]
    assert "sync" in ioplan("backends").out
    shown = ioplan("run", path, "--target", scratch)
    assert "sync mode" in shown.out


@pytest.mark.skipif(
    not Path("/dev/shm").is_dir(), reason="LEFT OUT: there is no /dev/shm here"
)
@pytest.mark.promise("figures.direct")
def test_a_file_in_memory_is_refused(tmp_path, store_path):
    plan = plan_file(tmp_path, 'test "R" { run random 4KiB 100/0 for 1MiB }')
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        target = f"{folder}/scratch.bin"
        done = ioplan("run", plan, "--target", target, "--create", "1MiB", "--json")
    assert done.code == 3, done.out
    assert [line["kind"] for line in done.of("error")] == ["no-direct-io"]


def test_the_ways_to_reach_a_drive_are_the_labs(tmp_path, scratch, store_path):
    path = plan_file(tmp_path, 'test "R" { run random 4KiB 100/0 for 1MiB }')
    words = ["run", path, "--target", scratch, "--create", "1MiB"]
    on = [*words, "--backend", "io_uring", "--option"]
    assert "did you mean 'polled'?" in ioplan(*on, "poled=true").err
    assert "write true or false" in ioplan(*on, "polled=perhaps").err
    # The engine is told, and says what it needs.
    done = ioplan(*on, "passthrough=true")
    assert done.code == 3 and "no whole NVMe namespace" in done.err + done.out


def test_what_a_way_cannot_do_is_refused_before_the_run(tmp_path, scratch, store_path):
    text = 'test "W" { run random 4KiB 0/100, sync every 4 for 1MiB }'
    words = ["run", plan_file(tmp_path, text), "--target", scratch, "--create", "1MiB"]
    done = ioplan(*words, "--backend", "io_uring", "--option", "polled=true")
    assert done.code == 2 and "polled I/O has no sync" in done.err
    assert "sync every 4" in done.err


@needs_root
def test_no_room_for_the_stamps_is_said_before_any_io(tmp_path):
    small, target = tmp_path / "small", tmp_path / "target.bin"
    sparse(target, GIB)
    sizes = [{"size_bytes": 4096, "percent": 100}]
    stream = {
        **{"pattern": "random", "read_percent": 0, "verify": True},
        **{"read_sizes": sizes, "write_sizes": sizes},
        **{"region_start_bytes": 0, "region_end_bytes": GIB},
    }
    job = {
        **{"target": str(target), "capacity_bytes": GIB, "block_bytes": 512},
        **{"read_only": False, "run_ns": 10**9, "streams": [stream]},
        "stamps": str(small / "map"),
    }
    with tmpfs(small, "2M"):
        done = subprocess.run(
            [engine_path(), "run", "-"],
            input=json.dumps(job),
            capture_output=True,
            text=True,
            check=False,
        )
    (failure,) = map(json.loads, done.stdout.splitlines())
    assert (done.returncode, failure["cause"]) == (1, "no-space")
    assert "needs 32 MiB; make room" in failure["message"]
    assert target.stat().st_blocks == 0
