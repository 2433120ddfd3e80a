"""Each format of traces: what is written comes back; what is broken has one clear error."""

import shutil
import subprocess

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from command import ioplan
from hypothesis import given
from hypothesis import strategies as st
from traces import converted, figure, info_of

from golden import Golden
from ioplan.trace import (
    BLKTRACE,
    DISCARD,
    DTYPE,
    FLUSH,
    READ,
    WRITE,
    Prepared,
    cut,
    write,
)

IOS = [
    (0, READ, 4096, 4096),
    (1_000_000_000, WRITE, 8192, 512),
    (3_000_000_000, READ, 1 << 40, 65536),
]
"""Time since the first in ns, kind, offset, size: whole seconds, which all can say."""
FUA, IS_FLUSH = 1, 1 << 2
FORMATS = Golden("traces")
TRACES = {name: case.input.encode("latin-1") for name, case in FORMATS.items()}
HEADINGS = {
    name: case.files["heading"].encode("latin-1")
    for name, case in FORMATS.items()
    if case.files
}


def file_of(data, folder):
    path = folder / "trace"
    path.write_bytes(data)
    return path


def read(data, folder, *words):
    ios, _ = converted(data, folder, *words)
    return [(int(t), int(k), int(o), int(s)) for t, o, s, k, *_ in ios.tolist()]


@pytest.mark.parametrize("name", TRACES)
def test_each_format_is_told_and_read(name, tmp_path):
    assert read(TRACES[name], tmp_path) == IOS
    told = info_of(tmp_path / "trace")
    assert told.startswith(f"{name.partition(',')[0]}: 3 I/Os in ")


@pytest.mark.parametrize("name", HEADINGS)
def test_headings_of_columns_are_counted(name, tmp_path):
    """At the begin, and where files were joined."""
    first, *others = TRACES[name].splitlines(keepends=True)
    data = b"".join([HEADINGS[name], first, HEADINGS[name], *others])
    assert read(data, tmp_path) == IOS
    shown = info_of(tmp_path / "trace")
    assert shown.startswith(name) and "left out: headings: 2\n" in shown
    done = ioplan("trace", "info", file_of(HEADINGS[name], tmp_path))
    assert done.code == 2 and "there is no I/O in it" in done.err


@pytest.mark.parametrize(
    "name", sorted(n for n in TRACES if n[:3] not in ("blk", "vsc") or n == "blkparse")
)
def test_comments_are_counted(name, tmp_path):
    """Before a heading, and between the I/Os."""
    first, *others = TRACES[name].splitlines(keepends=True)
    mine = [b"# by us\n", b"\n", HEADINGS.get(name, b""), first, b"# on\n", *others]
    assert read(b"".join(mine), tmp_path) == IOS
    shown = info_of(tmp_path / "trace")
    assert shown.startswith(name) and "left out: comments: 2\n" in shown


def test_blanks_after_commas(tmp_path):
    for name in ("SPC", "MSR Cambridge", "Alibaba block", "Tencent block"):
        data = TRACES[name].replace(b",", b", ")
        assert read(data, tmp_path) == IOS
        assert info_of(tmp_path / "trace").startswith(name)


def test_biosnoop_with_the_kernel_letters_and_the_queue(tmp_path):
    """Queued 2 ms and under way for 3: begun 5 ms before; flushes and FUA are kept."""
    line = b"{} a 1 vda {} 8 4096 2.000 3.000\n".decode()
    data = line.format("1.005", "FF") + line.format("1.006", "WFS")
    ios, _ = converted(data.encode(), tmp_path)
    assert ios["kind"].tolist() == [FLUSH, WRITE] and ios["flags"].tolist() == [0, FUA]
    assert ios["time_ns"].tolist() == [0, 1_000_000]
    assert ios["response_ns"].tolist() == [5_000_000] * 2


def test_the_formats_are_all_tried(tmp_path):
    told = ioplan("trace", "info", file_of(b"?\n", tmp_path)).err.partition(
        "these are: "
    )
    assert {*" ".join(told[2].split()).split(", ")} == {
        *TRACES, "ioplan trace", "Parquet"
    } - {"vscsi, version 2"}  # fmt: skip


def test_parquet_is_read_by_its_columns(tmp_path):
    columns = list(zip(*IOS, strict=True))
    kinds = [("read", "write")[kind] for kind in columns[1]]
    table = pa.table(
        {"time_ns": columns[0], "kind": kinds, "offset": columns[2], "size": columns[3]}
    )
    pq.write_table(table, tmp_path / "t")
    assert read((tmp_path / "t").read_bytes(), tmp_path) == IOS
    pq.write_table(table.drop(["size"]), tmp_path / "t")
    assert "no column size" in ioplan("trace", "info", tmp_path / "t").err


def test_a_record_that_is_cut_off(tmp_path):
    done = ioplan("trace", "info", file_of(TRACES["vscsi, version 2"][:-3], tmp_path))
    assert "cut off at byte 80" in done.err


def test_issued_events_count_where_none_is_queued(tmp_path):
    queued = TRACES["blkparse"]
    issued = queued.replace(b" Q ", b" D ")
    assert read(issued, tmp_path) == IOS
    ios, left = converted(issued + queued, tmp_path)
    assert left == {"events D": 3} and len(ios) == 3


ISSUED = b"        fio-9       [001] d..1. 0.5: block_rq_issue: 7,0 WS 4096 () 8 + 8 none,0,0 [fio]\n"
LOST = b"CPU:1 [LOST 345 EVENTS]\n"


@pytest.mark.promise("traces.counted")
def test_events_of_the_kernel_that_are_lost_are_counted(tmp_path):
    """Of issued ones with their bytes and priority those count that stand alone."""
    assert read(LOST + ISSUED + LOST, tmp_path) == [(0, WRITE, 4096, 4096)]
    head = b"# tracer: nop\n#\n"
    data = head + TRACES["ftrace"] + LOST + ISSUED + LOST
    ios, left = converted(data, tmp_path)
    asked = {"events that the kernel lost": 690, "events block_rq_issue": 1}
    assert left == {**asked, "comments": 2} and len(ios) == 3


def test_flush_fua_and_discard_are_kept(tmp_path):
    row = "  8,0    3        1     {}.000000000   697  Q   {} 8 + 8 [fio]\n"
    text = row.format(0, "FWFS") + row.format(1, "D") + row.format(2, "WFS")
    text += "  8,0    3        1     3.000000000   697  Q   FN [fio]\n"
    ios, _ = converted(text.encode(), tmp_path)
    assert ios["kind"].tolist() == [FLUSH, WRITE, DISCARD, WRITE, FLUSH]
    assert ios["flags"].tolist() == [0, FUA, 0, FUA, 0]
    flush = BLKTRACE.pack(
        0x65617407, 9, 5, 0, 0, 1 | IS_FLUSH << 16, 1, 8 << 20, 0, 0, 0
    )
    assert read(flush + flush, tmp_path) == [(0, FLUSH, 0, 0)] * 2


def test_files_of_several_cpus_are_one_trace(tmp_path):
    whole, size = TRACES["blktrace"], BLKTRACE.size + 3
    (tmp_path / "sda.blktrace.0").write_bytes(whole[size : 2 * size])
    (tmp_path / "sda.blktrace.1").write_bytes(whole[:size] + whole[2 * size :])
    first = tmp_path / "sda.blktrace.0"
    done = ioplan("trace", "convert", first, "-o", tmp_path / "o")
    assert done.code == 0 and "sorted" not in done.out
    assert Prepared.open(tmp_path / "o").ios["time_ns"].tolist() == [
        io[0] for io in IOS
    ]


@given(name=st.sampled_from(sorted(TRACES)), data=st.data())
def test_damage_is_an_error_or_a_trace(name, data, tmp_path_factory):
    """Any bytes in the place of others: never anything else."""
    whole, folder = TRACES[name], tmp_path_factory.mktemp("damaged")
    at = data.draw(st.integers(0, len(whole)))
    end = data.draw(st.integers(at, min(len(whole), at + 40)))
    made = whole[:at] + data.draw(st.binary(max_size=20)) + whole[end:]
    path = file_of(made, folder)
    done = ioplan("trace", "convert", path, "-o", folder / "o")
    if done.code:
        assert done.code == 2 and done.err.count("error: ") == 1
        return
    times = Prepared.open(folder / "o").ios["time_ns"].tolist()
    assert times == sorted(times) and times[0] == 0


@pytest.mark.promise("traces.counted")
def test_what_goes_backwards_is_sorted_and_counted(tmp_path):
    data = b"".join(reversed(TRACES["Alibaba block"].splitlines(keepends=True)))
    assert read(data, tmp_path) == IOS
    done = ioplan("trace", "info", tmp_path / "trace")
    assert "sorted: 2 I/Os were earlier than one before them" in done.out


@pytest.mark.promise("traces.counted")
def test_one_of_several_devices(tmp_path):
    data = TRACES["Alibaba block"] + b"7,W,0,512,1600000000000000\n"
    assert read(data, tmp_path, "--volume", "419") == IOS
    done = ioplan("trace", "info", tmp_path / "trace", "--volume", "7")
    assert "1 write" in done.out and "left out: of other devices: 3" in done.out


def test_info_says_what_is_in_it(tmp_path):
    shown = info_of(file_of(TRACES["MSR Cambridge"], tmp_path))
    assert "MSR Cambridge: 3 I/Os in 3 s" in shown
    assert max(map(len, shown.splitlines())) <= 80
    assert "2 reads, 1 write; 66.7 % reads" in shown
    assert all(f"{size} 33.3 %" in shown for size in ("512B", "4KiB", "64KiB"))


def test_figures_are_those_of_known_arrivals(tmp_path):
    """Fixed arrivals have a variation of 0, Poisson's of 1, gamma ones what a plan says."""
    rng, count = np.random.default_rng(7), 200_000
    for gaps, variation in (
        (rng.exponential(1e6, count), 1.0),
        (np.full(count, 1e6), 0.0),
        (rng.gamma(1.33**-2, 1.33**2 * 1e6, count), 1.33),
    ):
        times = np.cumsum(gaps).astype("u8")
        rows = np.zeros(count, DTYPE)
        rows["time_ns"], rows["size"] = times - times[0], 4096
        rows["offset"] = np.arange(count) * 4096
        write(tmp_path / "x", [rows])
        shown = info_of(tmp_path / "x")
        found = figure(shown, r"variation (\S+)")
        assert found == pytest.approx(variation, abs=0.015)
        assert "up to 819 MB, 820 MB touched" in shown
        assert figure(shown, r"sequential +(\S+) %") == pytest.approx(100, abs=0.1)


def test_a_part_begins_at_its_first(tmp_path):
    converted(TRACES["SPC"], tmp_path)
    (tmp_path / "out.iotrace").rename(tmp_path / "x")
    header = cut(Prepared.open(tmp_path / "x"), 500_000_000, 10**10, tmp_path / "y")
    assert (header.count, header.span_ns) == (2, 2_000_000_000)
    done = ioplan("trace", "cut", tmp_path / "x", "10s..20s", "-o", tmp_path / "z")
    assert done.code == 2 and "there is no I/O in this part" in done.err
    for part in ("20s..10s", "1s", "1s..2GiB", "a..b"):
        done = ioplan("trace", "cut", tmp_path / "x", part, "-o", tmp_path / "z")
        assert done.code == 2 and "is no part of a trace" in done.err


@pytest.mark.long
@pytest.mark.skipif(not shutil.which("fio"), reason="LEFT OUT: fio is not installed")
def test_what_fio_writes_is_read(tmp_path):
    """Its own log of its I/O: as many, as large, and as long as it says."""
    words = ("--rw=randrw", "--bs=4k", "--size=4M", "--rate_iops=200", "--fsync=8")
    command = ["fio", "--name=a", f"--filename={tmp_path}/f", *words]
    log = f"--write_iolog={tmp_path}/log"
    subprocess.run([*command, log], check=True, capture_output=True)
    ios, left = converted((tmp_path / "log").read_bytes(), tmp_path)
    data = ios[ios["kind"] != FLUSH]
    assert len(data) == 1024 and set(data["size"].tolist()) == {4096}
    assert ios["time_ns"][-1] == pytest.approx(2.56e9, rel=0.15), "two rates of 200"
    assert left["lines 'open'"] >= 1


def test_what_is_there_is_not_overwritten(tmp_path):
    """A file only with --force, and whole or not at all; a device never."""
    trace, out = file_of(TRACES["SPC"], tmp_path), tmp_path / "x"
    out.write_text("mine")
    done = ioplan("trace", "convert", trace, "-o", out)
    assert done.code == 2 and "--force" in done.err and out.read_text() == "mine"
    broken = tmp_path / "broken"
    broken.write_bytes(TRACES["SPC"] + b"nonsense\n")
    done = ioplan("trace", "convert", broken, "-o", out, "--force")
    assert done.code == 2 and out.read_text() == "mine"
    for device in ("/dev/null", tmp_path):
        done = ioplan("trace", "convert", trace, "-o", device, "--force")
        assert done.code == 2 and "not a regular file" in done.err
    assert ioplan("trace", "convert", trace, "-o", out, "--force").code == 0
    assert {*tmp_path.iterdir()} == {trace, out, broken}


# traces that somebody has spoilt: one clear error, or all I/Os with a count

HOSTILE = Golden("hostile_traces")
WHOLE = [name for name in HOSTILE if name.startswith("whole: ")]


def named(one):
    """Of a case, in the list of tests: what it says."""
    return one if isinstance(one, str) else ""


def tried(folder, data):
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
def test_what_cannot_be_is_refused_with_its_place(name, tmp_path):
    done = tried(tmp_path, HOSTILE[name].input.encode("latin-1"))
    assert done.code == 2 and HOSTILE[name].expected in " ".join(done.err.split())
    assert done.err.count("error: ") == 1


def test_a_line_without_end_is_refused(tmp_path):
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
def test_columns_of_parquet_that_are_no_trace(column, values, says, tmp_path):
    told = {"time_ns": [0, 9], "kind": ["read", "write"]}
    told |= {"offset": [0, 0], "size": [512, 512], column: values}
    pq.write_table(pa.table(told), tmp_path / "made")
    data = (tmp_path / "made").read_bytes()
    (tmp_path / "made").unlink()
    done = tried(tmp_path, data)
    assert done.code == 2 and says in " ".join(done.err.split()), done.err


@pytest.mark.parametrize("name", WHOLE)
def test_what_only_looks_odd_is_read_whole(name, tmp_path):
    done = tried(tmp_path, HOSTILE[name].input.encode("latin-1"))
    lines = HOSTILE[name].expected
    assert done.code == 0 and "MSR Cambridge: 9 I/Os in 7.20 µs" in done.out
    assert all(line in done.out for line in lines)
    assert done.out.count("left out") + done.out.count("sorted") == len(lines)
