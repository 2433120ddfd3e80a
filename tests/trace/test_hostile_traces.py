"""Traces that somebody has spoilt: one clear error, or all I/Os with a count."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from command import Done, ioplan

from golden import Golden

HOSTILE = Golden("hostile_traces")
WHOLE = [name for name in HOSTILE if name.startswith("whole: ")]


def named(one: Any) -> str:
    """Of a case, in the list of tests: what it says."""
    return one if isinstance(one, str) else ""


def tried(folder: Path, data: bytes) -> Done:
    """All three commands say the same, and leave nothing."""
    path, out = folder / "t", folder / "o"
    path.write_bytes(data)
    done = ioplan("trace", "info", path)
    cut = ioplan("trace", "cut", path, "0s..1s", "-o", out)
    assert (cut.code, cut.err) == (done.code, done.err)
    if not data.startswith(b"IOTRACE1"):
        made = ioplan("trace", "convert", path, "-o", folder / "p")
        assert (made.code, made.err) == (done.code, done.err)
    kept = {"t", "o", "p"} if done.code == 0 else {"t"}
    assert {one.name for one in folder.iterdir()} <= kept
    return done


@pytest.mark.parametrize("name", sorted({*HOSTILE} - {*WHOLE}))
@pytest.mark.promise("traces.refused")
def test_what_cannot_be_is_refused_with_its_place(name: str, tmp_path: Path) -> None:
    done = tried(tmp_path, HOSTILE[name].input.encode("latin-1"))
    assert done.code == 2 and HOSTILE[name].expected in " ".join(done.err.split())
    assert done.err.count("error: ") == 1


def test_a_line_without_end_is_refused(tmp_path: Path) -> None:
    done = tried(tmp_path, b"419,R,0,512,1\n" + b"1" * 70_000)
    assert done.code == 2 and "line 2 is longer than 65536 characters" in done.err


@pytest.mark.parametrize(
    ("column", "values", "says"),
    [
        ("time_ns", [0.5, float("nan")], "time_ns has double, and no whole numbers"),
        ("time_ns", ["1", "2"], "time_ns has string"),
        ("time_ns", pa.array([1, 2], pa.timestamp("ns")), "has timestamp[ns]"),
        ("size", [True, False], "size has bool"),
        ("size", [4096, -1], "row 2: no numbers from 0 on"),
        ("offset", [None, 0], "row 1: no numbers from 0 on"),
        ("offset", pa.array([0, 2**64 - 1], pa.uint64()), "row 2: the offset"),
        ("kind", ["read", None], "row 2: None is no kind of I/O"),
        ("kind", [0, 9], "row 2: 9 is no kind of I/O"),
    ],
    ids=named,
)
def test_columns_of_parquet_that_are_no_trace(
    column: str, values: Any, says: str, tmp_path: Path
) -> None:
    told = {"time_ns": [0, 9], "kind": ["read", "write"]}
    told |= {"offset": [0, 0], "size": [512, 512], column: values}
    pq.write_table(pa.table(told), tmp_path / "made")
    data = (tmp_path / "made").read_bytes()
    (tmp_path / "made").unlink()
    done = tried(tmp_path, data)
    assert done.code == 2 and says in " ".join(done.err.split()), done.err


@pytest.mark.parametrize("name", WHOLE)
def test_what_only_looks_odd_is_read_whole(name: str, tmp_path: Path) -> None:
    done = tried(tmp_path, HOSTILE[name].input.encode("latin-1"))
    lines = HOSTILE[name].expected
    assert done.code == 0 and "MSR Cambridge: 9 I/Os in 7.20 µs" in done.out
    assert all(line in done.out for line in lines)
    assert done.out.count("left out") + done.out.count("sorted") == len(lines)
