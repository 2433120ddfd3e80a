"""`write footprint of NAME`, by what arrived at a test device."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from command import ioplan, plan_file
from recorded import MS_NS, record_of, recorded

from ioplan.trace import READ, WRITE
from ioplan_witness import Device, seen

pytestmark = [pytest.mark.slow, pytest.mark.machine]
PLAN = """
trace web = "web.iotrace"
precondition written { write footprint of web }
test "A" { after written run replay web, only reads }
"""


def test_what_it_reads_or_writes_was_written_before_and_nothing_else(
    device: Callable[..., Device], tmp_path: Path
) -> None:
    trace, made = recorded(tmp_path, mean_gap_ns=MS_NS / 4), device()
    target = ("--target", made.disk, "--overwrite-data", made.disk)
    words = (*target, "--backend", "io_uring", "--json")
    done = ioplan("run", plan_file(tmp_path, PLAN), *words)
    assert [one["record"]["status"] for one in done.of("record")] == ["ok", "ok"]
    assert record_of(done)["directions"]["write"]["ios"] > 0
    touched, written = np.zeros(1024, int), np.zeros(1024, int)
    for io in trace[np.isin(trace["kind"], (READ, WRITE))]:
        touched[blocks(io)] = 1
    entries = seen(made)
    for io in entries[entries["kind"] == WRITE]:
        written[blocks(io)] += 1
    assert (written == touched).all() and 100 < touched.sum() < 1024


def blocks(io: np.void) -> slice:
    start = int(io["offset"]) // 4096
    return slice(start, start + int(io["size"]) // 4096)
