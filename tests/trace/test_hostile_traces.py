"""Traces that somebody has spoilt: one clear error, or all I/Os with a count."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from command import Done, ioplan

FIRST_NS = 128166372003061629
MSR = [f"{FIRST_NS + 9 * n},usr,0,Read,{4096 * n},4096,100" for n in range(9)]
TEXT = "\n".join(MSR) + "\n"
HEADER = struct.Struct("<8sQQQQ24x")
RECORD = struct.Struct("<QQIBBH")
VSCSI = struct.Struct("<IIIHHQQ")
BLKTRACE = struct.Struct("<IIQQIIIIIHH")
MAGIC, QUEUED_READ = 0x65617407, 1 | 1 << 16


SPC = b"0,8,512,R,0.0\n"
PACKED = gzip.compress(TEXT.encode(), mtime=0)


def named(one: Any) -> str:
    """Of a case, in the list of tests: what it says."""
    return one if isinstance(one, str) else ""


def msr(line: str) -> bytes:
    return f"{TEXT}{line}\n".encode()


def ours(time_ns: int = 9, flags: int = 0) -> bytes:
    head = HEADER.pack(b"IOTRACE1", 2, time_ns, 4096, 0)
    return (
        head
        + RECORD.pack(0, 0, 4096, 0, 0, 0)
        + RECORD.pack(time_ns, 0, 4096, 1, flags, 0)
    )


def vscsi(block: int = 8, version: int = 1) -> bytes:
    good = [VSCSI.pack(n, 4096, 1, 0x28, 1 << 8, 8, n) for n in range(3)]
    return b"".join([*good, VSCSI.pack(9, 4096, 1, 0x28, version << 8, block, 9)])


def blktrace(sector: int) -> bytes:
    asked = (4096, QUEUED_READ, 1, 8 << 20, 0, 0, 0)
    places = enumerate((8, sector))
    return b"".join(BLKTRACE.pack(MAGIC, n, n, at, *asked) for n, at in places)


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


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (PACKED, "it is packed by gzip; unpack it before"),
        (PACKED[:30], "it is packed by gzip"),
        (b"\x28\xb5\x2f\xfd" + bytes(9), "it is packed by zstd"),
        (b"\xfd7zXZ\x00", "it is packed by xz"),
        (TEXT.encode("utf-16"), "it is text in UTF-16"),
        (TEXT.encode()[:-9], "line 9: 6 fields, where there should be 7"),
        (b"\n \n", "no known trace"),
        (msr("9" * 30 + ",usr,0,Read,0,4096,1"), "ns from the first one"),
        (msr(f"{FIRST_NS},usr,0,Read,0,4096,{'9' * 30}"), "line 10: an I/O that took"),
        (msr(f"{FIRST_NS},usr,0,Read,{'9' * 5000},4096,1"), "9' is no number"),
        (msr(f"{FIRST_NS},usr,0,Read,{2**63},4096,1"), "is beyond any device"),
        (msr(f"{FIRST_NS},usr,0,Read,0,{2**32},1"), "an I/O of 4294967296 bytes"),
        (msr(f"{FIRST_NS},usr,0,Read,-1,4096,1"), "line 10: '-1' is no number"),
        (msr(f"{FIRST_NS},usr,0,Read,0,٤٠٩٦,1"), "line 10: '٤٠٩٦' is no number"),
        (msr("nan,usr,0,Read,0,4096,1"), "line 10: 'nan' is no number"),
        (msr("1" * 70_000), "line 10 is longer than 65536 characters"),
        (msr(f"{FIRST_NS},b,0,Read,0,4096,1"), "it has I/Os of 2 devices; name one"),
        (ours(time_ns=2**64 - 1), "I/O 2, at byte 88, is more than 292 years"),
        (ours(flags=2), "I/O 2, at byte 88, has an unknown flag"),
        (vscsi(block=2**60), "at byte 96: the offset"),
        (vscsi(version=7), "at byte 96: no record of version 1"),
        (blktrace(2**60), "at byte 48: the offset"),
        (b"PAR1" + bytes(99), "no whole Parquet file"),
        (b"419,R,nan,4096,1\n", "no known trace"),
        (SPC + b"0,5,512,R,inf\n", "line 2: 'inf' is no number"),
        (SPC + b"0,5,512,X,9.0\n", "line 2: 'X' is neither"),
        (msr("1,2,3"), "line 10: 3 fields"),
        (blktrace(16)[:-1], "is cut off at byte 48"),
        (blktrace(16) + bytes(48), "no event of blktrace at byte 96"),
        (b"fio version 3 iolog\n1 /dev/x add\n", "there is no I/O in it"),
        (b"0,5,0,R,9.0\n", "there is no I/O in it"),
        (b"", "the file is empty"),
    ],
    ids=named,
)
@pytest.mark.promise("traces.refused")
def test_what_cannot_be_is_refused_with_its_place(
    data: bytes, says: str, tmp_path: Path
) -> None:
    done = tried(tmp_path, data)
    assert done.code == 2 and says in " ".join(done.err.split()), done.err
    assert done.err.count("error: ") == 1


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


@pytest.mark.parametrize(
    ("data", "lines"),
    [
        (b"\xef\xbb\xbf" + TEXT.encode(), []),
        (TEXT.replace("\n", "\r\n").encode(), []),
        (TEXT[:-1].encode(), []),
        (("\n\n" + TEXT + "\n").encode(), []),
        ("\n".join(MSR[::-1]).encode(), ["sorted: 8 I/Os were earlier than one"]),
        (msr(f"{FIRST_NS + 99},usr,0,Read,0,0,1"), ["left out: of 0 bytes: 1"]),
    ],
    ids=named,
)
def test_what_only_looks_odd_is_read_whole(
    data: bytes, lines: list[str], tmp_path: Path
) -> None:
    done = tried(tmp_path, data)
    assert done.code == 0 and "MSR Cambridge: 9 I/Os in 7.20 µs" in done.out
    assert all(line in done.out for line in lines)
    assert done.out.count("left out") + done.out.count("sorted") == len(lines)
