"""The trace file, and the footprint of one: what is written is what is mapped."""

import os
import struct
import tracemalloc
from hashlib import sha256

import numpy as np
import pytest
from command import ioplan, plan_file
from hypothesis import given
from hypothesis import strategies as some

from ioplan.trace import (
    CHUNK,
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

Rows = list[tuple[int, int, int, int, int, int]]
ROWS: Rows = [
    (0, 4096, 4096, 0, 0, 1),
    (10, 8192, 512, 1, 1, 2),
    (10, 0, 0, 2, 0, 2),
    (90, 1 << 40, 65536, 3, 0, 0),
]


def made(path, rows):
    write(path, [np.array(rows, DTYPE)])
    return path


def moved(draw):
    gaps = draw(some.lists(some.integers(0, 1 << 40), min_size=1, max_size=30))
    times = np.cumsum([0, *gaps[1:]]).tolist()
    offset, size = some.integers(0, 1 << 62), some.integers(1, (1 << 32) - 1)
    kind, other = some.sampled_from((0, 1, 3)), some.integers(0, 1)
    rest = some.tuples(offset, size, kind, other, some.integers(0, 65535))
    return [(t, *draw(rest)) for t in times]


@given(rows=some.composite(moved)(), cut=some.integers(0, 30))
def test_what_is_written_in_any_chunks_is_mapped(tmp_path_factory, rows, cut):
    path = tmp_path_factory.mktemp("trace") / "a.iotrace"
    ios = np.array(rows, DTYPE)
    header = write(path, [ios[:cut], ios[cut:]])
    found = Prepared.open(path)
    assert found.header == header
    assert found.ios.tolist() == rows
    facts = known_survey(path).facts
    assert facts.moving.end_bytes == max(row[1] + row[2] for row in rows)
    assert facts.span_ns == rows[-1][0]
    assert facts.digest == sha256(path.read_bytes()).hexdigest()
    assert all(row[1] % facts.grid_bytes == 0 for row in rows)
    assert any((row[1] | row[2]) % (2 * facts.grid_bytes) for row in rows)


def test_the_layout_is_the_documented_one(tmp_path):
    data = made(tmp_path / "a", ROWS).read_bytes()
    assert data[:40] == struct.pack("<8sQQQQ", b"IOTRACE1", 4, 90, (1 << 40) + 65536, 0)
    assert not any(data[40:64])
    assert data[64 + 24 : 64 + 48] == struct.pack("<QQIBBH", 10, 8192, 512, 1, 1, 2)


def test_a_survey_counts_each_kind(tmp_path):
    facts = known_survey(made(tmp_path / "a", ROWS)).facts
    kinds = facts.reads.ios, facts.writes.ios, facts.flushes, facts.discards.ios
    assert kinds == (1, 1, 1, 1)
    assert (facts.grid_bytes, max(facts.moving.sizes)) == (512, 65536)


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ((9, 0, 512, 0, 0, 0), "I/O 5, at byte 160, is earlier than the one before"),
        ((91, 0, 512, 4, 0, 0), "I/O 5, at byte 160, is of an unknown kind"),
        ((91, 0, 0, 1, 0, 0), "I/O 5, at byte 160, has a size"),
        ((91, 0, 512, 2, 0, 0), "I/O 5, at byte 160, has a size"),
        ((91, 512, 0, 2, 0, 0), "I/O 5, at byte 160, is a flush with an offset"),
        ((91, (1 << 64) - 512, 512, 0, 0, 0), "I/O 5, at byte 160, ends beyond"),
    ],
)
def test_an_impossible_io_is_named(tmp_path, row, why):
    with pytest.raises(TraceError, match=why):
        known_survey(made(tmp_path / "a", [*ROWS, row]))


def test_a_fault_in_a_later_chunk_has_its_own_number(tmp_path):
    ios = np.zeros(CHUNK + 3, DTYPE)
    ios["size"], ios["time_ns"] = 512, 7
    ios["time_ns"][0], ios["time_ns"][CHUNK] = 0, 6  # earlier, across the edge
    write(tmp_path / "a", [ios])
    with pytest.raises(TraceError, match=f"I/O {CHUNK + 1}, .* earlier"):
        known_survey(tmp_path / "a")


@pytest.mark.parametrize(
    ("at", "value", "why"),
    [(16, 91, "last time"), (24, 1 << 41, "end are"), (64, 5, "first time")],
)
def test_a_header_that_says_something_else_is_refused(tmp_path, at, value, why):
    data = bytearray(made(tmp_path / "a", ROWS).read_bytes())
    struct.pack_into("<Q", data, at, value)
    (tmp_path / "b").write_bytes(data)
    with pytest.raises(TraceError, match=why):
        known_survey(tmp_path / "b")


@pytest.mark.parametrize("length", [0, 7, 8, 63, 64, 65, 64 + 95, 64 + 97])
def test_a_cut_off_file_is_refused(tmp_path, length):
    data = made(tmp_path / "a", ROWS).read_bytes() + b"\0"
    (tmp_path / "b").write_bytes(data[:length])
    with pytest.raises(TraceError):
        Prepared.open(tmp_path / "b")


def test_without_an_io_it_is_refused(tmp_path):
    with pytest.raises(TraceError, match="no I/O"):
        Prepared.open(made(tmp_path / "a", []))


def test_what_is_broken_off_while_written_is_no_trace(tmp_path):
    def chunks():
        yield np.array(ROWS, DTYPE)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write(tmp_path / "a", chunks())
    with pytest.raises(TraceError, match="no ioplan trace"):
        Prepared.open(tmp_path / "a")


def test_a_changed_file_is_read_again(tmp_path):
    path = made(tmp_path / "a", ROWS)
    before = known_survey(path).facts
    assert known_survey(path).facts is before
    made(path, ROWS[:2])
    os.utime(path, ns=(1, 1))
    assert known_survey(path).facts.digest != before.digest


def test_a_survey_takes_no_more_memory_for_a_longer_trace(tmp_path):
    ios = np.zeros(CHUNK, DTYPE)
    ios["size"] = 512
    write(tmp_path / "a", (ios for _ in range(8)))
    tracemalloc.start()
    known_survey(tmp_path / "a")
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 4 * ios.nbytes  # the trace is 8 times that


# the footprint of a trace, against a map of each block

ROW = some.tuples(
    some.sampled_from((READ, WRITE, DISCARD)),
    some.integers(0, 2000),
    some.integers(1, 700),
)


@given(rows=some.lists(ROW, min_size=1, max_size=30))
def test_each_block_that_is_touched_is_written_once(tmp_path_factory, rows):
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
    tmp_path, written, replayed, warns
):
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
