"""The footprint of a trace, against a map of each block."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from command import ioplan, plan_file
from hypothesis import given
from hypothesis import strategies as some

from ioplan.trace import (
    DISCARD,
    DTYPE,
    READ,
    WRITE,
    Prepared,
    TraceError,
    file_of,
    known_survey,
    write,
)

ROW = some.tuples(
    some.sampled_from((READ, WRITE, DISCARD)),
    some.integers(0, 2000),
    some.integers(1, 700),
)


@given(rows=some.lists(ROW, min_size=1, max_size=30))
def test_each_block_that_is_touched_is_written_once(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[int, int, int]]
) -> None:
    path = tmp_path_factory.mktemp("trace") / "a.iotrace"
    ios = np.zeros(len(rows), DTYPE)
    kinds, starts, counts = np.array(rows).T
    ios["kind"], ios["offset"], ios["size"] = kinds, starts * 512, counts * 512
    write(path, [ios])
    touched = np.zeros(3000, int)
    for kind, start, count in rows:
        if kind != DISCARD:
            touched[start : start + count] = 1
    known = known_survey(path)
    if not touched.any():
        with pytest.raises(TraceError, match="reads and writes nothing"):
            known.footprint()
        return
    facts = known.footprint().facts
    found = np.zeros(3000, int)
    for one in Prepared.open(file_of(facts.digest)).ios:
        assert one["kind"] == WRITE and one["size"] <= 128 << 10
        start = int(one["offset"]) // 512
        found[start : start + int(one["size"]) // 512] += 1
    assert (found == touched).all()
    assert facts.moving.moved_bytes == int(touched.sum()) * 512


@pytest.mark.parametrize(
    ("written", "replayed", "warns"),
    [
        ("footprint of a", "replay a", False),
        ("footprint of a", "replay b", True),
        ("footprint of a", "random 4KiB 100/0, qd 1 for 1s", False),
        ("footprint of a", "replay a 1ns..5ns", False),
        ("footprint of a", "replay a, offsets wrapped", True),
        ("footprint of a, region 0%..50%", "replay a, region 50%..100%", True),
        ("sequential 128KiB, 1 pass", "replay b", False),
    ],
)
def test_only_replays_of_its_own_trace_find_it_written(
    tmp_path: Path, written: str, replayed: str, warns: bool
) -> None:
    """Of what else reads there, it may be that it was written."""
    ios = np.zeros(10, DTYPE)
    ios["size"], ios["time_ns"] = 4096, np.arange(10)
    for name in ("a", "b"):
        ios["offset"] += 4096
        write(tmp_path / f"{name}.iotrace", [ios])
    text = f"""trace a = "a.iotrace"
        trace b = "b.iotrace"
        precondition written {{ purge write {written} }}
        test "T" {{ after written run {replayed} }}"""
    done = ioplan("check", plan_file(tmp_path, text))
    assert done.code == 0 and ("unwritten reads" in done.err + done.out) == warns
