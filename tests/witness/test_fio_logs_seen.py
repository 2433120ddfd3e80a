"""What fio's own logs say of an interval, against the device: why they are not used."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from fio_jobs import NEEDS_FIO

from ioplan_witness import KINDS, Device, seen

pytestmark = [pytest.mark.long, pytest.mark.machine, NEEDS_FIO]
INTERVAL_MS, SECONDS, SYNC_EVERY = 200, 2, 4
NEAR_MS = 90
"""What FUSE and a busy host may add to an I/O."""
LATENCY = [
    {"direction": "flush", "value": "15ms"},
    {"shape": "values", "values": ["1ms", "5ms", "110ms"], "weights": [60, 35, 5]},
]
JOB = (
    *("--rw=write", "--bs=16k", "--ioengine=psync", f"--fsync={SYNC_EVERY}"),
    *("--direct=1", f"--runtime={SECONDS}", "--time_based", "--size=32m", "--thread=1"),
    *("--per_job_logs=1", "--write_hist_log=hist", "--write_lat_log=all"),
    f"--log_hist_msec={INTERVAL_MS}",
)


def rows(path: Path) -> npt.NDArray[np.int64]:
    lines = path.read_text().splitlines()
    return np.array([[int(cell) for cell in line.split(",")] for line in lines])


def test_neither_of_fios_logs_has_what_an_interval_is_made_of(
    device: Callable[..., Device], tmp_path: Path
) -> None:
    """The log of histograms ends an interval at the first I/O after its time, whenever
    that comes, and may lack the last one; the log of each I/O has them all to the ms;
    neither has a flush."""
    one = device(size="64MiB", latency=LATENCY)
    call = ("fio", "--name=log", f"--filename={one.disk}", *JOB)
    subprocess.run(call, cwd=tmp_path, check=True, capture_output=True)
    log = seen(one)
    writes = np.sort(log["done_ns"][log["kind"] == KINDS.index("write")])
    flushes = int((log["kind"] == KINDS.index("flush")).sum())
    assert flushes >= len(writes) // SYNC_EVERY - 1
    hist, every = (
        rows(tmp_path / "hist_clat_hist.1.log"),
        rows(tmp_path / "all_lat.1.log"),
    )
    assert set(hist[:, 1]) == set(every[:, 2]) == {1}, "writes, and no flush"
    assert len(every) == len(writes)
    assert len(writes) // 2 < hist[:, 3:].sum() <= len(writes), (
        "the last may be missing"
    )
    late_ms = hist[:-1, 0] - INTERVAL_MS * np.round(hist[:-1, 0] / INTERVAL_MS)
    assert np.abs(late_ms).max() > INTERVAL_MS / 10, "intervals of other lengths"
    since_ms = (writes - writes[0]).astype(np.int64) / 1e6
    apart_ms = every[:, 0] - every[0, 0] - since_ms
    assert np.abs(apart_ms).max() < NEAR_MS
