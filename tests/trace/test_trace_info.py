"""What `trace info` says, and how long each I/O took, by each format that tells it."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from traces import converted, figure, info_of

from ioplan.trace import (
    ANSWERED,
    BLKTRACE,
    CHUNK,
    DTYPE,
    NO_RESPONSE,
    VSCSI_2,
    Prepared,
    TraceError,
    cut,
    known_survey,
    write,
)

MIB = 1 << 20


def recorded(count=3000):
    """Poisson arrivals each ms, which take 5 ms each; every tenth is not known."""
    rng = np.random.default_rng(5)
    made = np.zeros(count, ANSWERED)
    made["time_ns"] = np.cumsum(rng.exponential(1e6, count)).astype("u8")
    made["time_ns"] -= made["time_ns"][0]
    made["size"] = 4096
    made["response_ns"] = rng.exponential(5e6, count).astype("u8")
    made["response_ns"][::10] = NO_RESPONSE
    return made


def test_outstanding_is_what_counting_gives(tmp_path):
    """Each arrival against all others, whatever the parts in which it is read."""
    made = recorded(CHUNK + 5000)
    write(tmp_path / "x", [made])
    shown = info_of(tmp_path / "x")
    known = made[made["response_ns"] != NO_RESPONSE]
    begun = known["time_ns"].astype(np.int64)
    ends = begun + known["response_ns"].astype(np.int64)
    begun_by = np.searchsorted(begun, begun, "right")
    there = begun_by - np.searchsorted(np.sort(ends), begun, "right")
    assert figure(shown, r"at most (\d+)") == there.max()
    assert f"of {len(made) - len(known):,} I/Os not known" in shown
    span_ns = int(made["time_ns"][-1])
    mean = (np.minimum(ends, span_ns) - begun).sum() / span_ns
    assert figure(shown, r"outstanding +(\S+) on average") == pytest.approx(
        mean, rel=0.01
    )
    assert 4 < mean < 5  # Little's law: 0.9 for each ms, of 5 ms


def test_a_share_is_in_the_hottest_tenth(tmp_path):
    made = np.zeros(1000, DTYPE)
    made["time_ns"], made["size"] = np.arange(1000) * 10**6, 4096
    made["offset"] = (np.arange(1000) % 20) << 20
    made["offset"][:500] = 1 << 20
    write(tmp_path / "x", [made])
    shown = info_of(tmp_path / "x")
    assert "locality    55.0 % begin in" in shown and "rate        1,000 IOPS" in shown


def test_info_draws_them(tmp_path):
    write(tmp_path / "x", [recorded()])
    lines = info_of(tmp_path / "x").splitlines()
    assert max(map(len, lines)) <= 80
    (line,) = [one for one in lines if one.startswith("outstanding")]
    assert line.endswith("of 300 I/Os not known") and "at most" in line
    assert sum(one.startswith("            |") for one in lines) == 2
    without = recorded()
    without["response_ns"] = NO_RESPONSE
    for made in (without, recorded()[list(DTYPE.names or ())].astype(DTYPE)):
        write(tmp_path / "x", [made])
        assert "not known: no completion" in info_of(tmp_path / "x")


def test_all_units_of_a_large_io_are_touched(tmp_path, monkeypatch):
    """A discard of 64 MiB, 8 MiB within it, and some beside and across its end."""
    monkeypatch.setattr("ioplan.trace.summary.MOST_WIDE", 1)
    made = np.zeros(6, DTYPE)
    made["time_ns"] = np.arange(6) * 10**9
    made["offset"] = np.array([0, 3 * MIB, 4096, 200 * MIB, 60 * MIB, 150 * MIB])
    made["size"] = [64 * MIB, 8 * MIB, 4096, 4096, 10 * MIB, MIB + 1]
    write(tmp_path / "x", [made])
    assert "76.5 MB touched" in info_of(tmp_path / "x"), "70 MiB, and 1, and 2"


def test_what_takes_no_time_finds_itself_beside_others(tmp_path):
    made = np.zeros(4, ANSWERED)
    made["time_ns"] = [0, 0, 500, 500]
    made["size"], made["response_ns"] = 4096, [1000, 1000, 0, 0]
    write(tmp_path / "x", [made])
    assert "at most 4\n" in info_of(tmp_path / "x")


@pytest.mark.parametrize(
    ("times_ms", "text"),
    [
        ((0, 500, 1000), "2.00 IOPS, 0.00819 MB/s; highest second 2"),
        ((0, 2), "500 IOPS"),
    ],
)
def test_the_mean_is_not_above_the_highest_second(times_ms, text, tmp_path):
    made = np.zeros(len(times_ms), DTYPE)
    made["time_ns"], made["size"] = np.array(times_ms) * 10**6, 4096
    write(tmp_path / "x", [made])
    lines = info_of(tmp_path / "x").splitlines()
    (line,) = [one for one in lines if one.startswith("rate")]
    assert text in line and ("highest" in line) == (len(times_ms) == 3)


@pytest.mark.parametrize(
    ("readers", "share"), [(1, 1.0), (2, 0.99), (32, 0.84), (33, 0)]
)
def test_several_that_read_in_sequence_are_sequential(
    readers, share, tmp_path, monkeypatch
):
    monkeypatch.setattr("ioplan.trace.prepared.CHUNK", 37)
    made = np.zeros(200, DTYPE)
    at = np.arange(200)
    made["time_ns"], made["size"] = at, 4096
    made["offset"] = (at % readers) * (1 << 30) + (at // readers) * 4096
    write(tmp_path / "x", [made])
    found = figure(info_of(tmp_path / "x"), r"sequential +(\S+) %")
    assert found == pytest.approx(100 * share, abs=0.6)


# how long each I/O took: by each format that tells it, and kept in the trace file

MS_NS = 1_000_000


def responses(data, folder):
    """When each I/O began, and how long it took, in ms; -1 for what is not known."""
    ios, _ = converted(data, folder)
    took = [one if one != NO_RESPONSE else -MS_NS for one in ios["response_ns"]]
    facts = known_survey(folder / "out.iotrace").facts
    assert facts.answered == sum(one >= 0 for one in took)
    times = ios["time_ns"].tolist()
    return [(a // MS_NS, int(b) // MS_NS) for a, b in zip(times, took, strict=True)]


def blkparse(*events):
    form = "  8,0    3        1 {:14.9f}   697  {}   W {} + {} [fio]\n"
    lines = (form.format(ms / 1e3, what, at, size) for ms, what, at, size in events)
    return "".join(lines).encode()


def ftrace(*events):
    form = "  fio-9  [001] ..... {:.6f}: {}: 7,0 W {}{} + {} [{}]\n"
    return "".join(
        form.format(ms / 1e3, what, "() " * ("rq" in what), at, size, 0)
        for ms, what, at, size in events
    ).encode()


def blktrace(*events):
    return b"".join(
        BLKTRACE.pack(
            *(0x65617407, 1, ms * MS_NS, at, size * 512, what | 2 << 16),
            *(1, 8 << 20, 0, 0, 0),
        )
        for ms, what, at, size in events
    )


def vscsi(*ios):
    rows = (
        VSCSI_2.pack(0x28, 2 << 8, 1, 512, 1, 0, ms * 1000, took * 1000)
        for ms, took in ios
    )
    return b"".join(rows)


HFPLAYER = (
    b"#DUMP_OFFSET.I,ELAPSED_USECS.D,ELAPSED_TICKS.I,CMD.S\n"
    b"1,81000.000,1,WR_IN,0,1,1,1,1,0,2254431928,8,121408,6,1,5000.910\n"
    b"1,84000.000,1,RD_IN,0,1,1,1,1,0,2254431928,8,121408,6,1,2000.000\n"
)
MSR = (
    b"128166372003000000,hm,1,Read,0,512,50000\n"
    b"128166372003030000,hm,1,Write,0,512,20000\n"
)
BIOSNOOP = (
    b"TIME(s)     COMM           PID    DISK    T SECTOR     BYTES  LAT(ms)\n"
    b"0.000000 a 697 vda R 8 4096 5.00\n0.000000 a b 697 vda W 8 4096 2.00\n"
)
SAME = {
    "MSR Cambridge": MSR,
    "hfplayer": HFPLAYER,
    "vscsi": vscsi((1, 5), (4, 2)),
    "biosnoop, by completion": BIOSNOOP,
    "blkparse": blkparse((0, "Q", 8, 8), (3, "Q", 64, 8), (5, "C", 8, 8))
    + blkparse((5, "C", 64, 8)),
    "ftrace": ftrace((0, "block_bio_queue", 8, 8), (3, "block_bio_queue", 64, 8))
    + ftrace((5, "block_rq_complete", 64, 8), (5, "block_rq_complete", 8, 8)),
    "blktrace": blktrace((0, 1, 8, 8), (3, 1, 64, 8), (5, 8, 8, 8), (5, 8, 64, 8)),
}


@pytest.mark.parametrize("name", SAME)
def test_each_format_tells_how_long_it_took(name, tmp_path):
    assert responses(SAME[name], tmp_path) == [(0, 5), (3, 2)]


def test_parquet_may_lack_some(tmp_path):
    columns = {"time_ns": [0, 3 * MS_NS], "kind": [0, 1], "offset": [0, 0]}
    table = pa.table(columns | {"size": [512, 512], "response_ns": [5 * MS_NS, None]})
    pq.write_table(table, tmp_path / "t")
    assert responses((tmp_path / "t").read_bytes(), tmp_path) == [(0, 5), (3, -1)]


def test_completions_of_what_was_merged_split_or_twice(tmp_path):
    merged = blkparse((0, "Q", 8, 8), (1, "Q", 16, 8), (9, "C", 8, 16))
    assert responses(merged, tmp_path) == [(0, 9), (1, 8)]
    split = blkparse((0, "Q", 8, 16), (4, "C", 16, 8), (9, "C", 8, 8))
    assert responses(split, tmp_path) == [(0, 9)]
    twice = blkparse((0, "Q", 8, 8), (1, "Q", 8, 8), (4, "C", 8, 8), (9, "C", 8, 8))
    assert responses(twice, tmp_path) == [(0, 4), (1, 8)]


def test_a_completion_is_of_an_io_of_its_kind(tmp_path):
    """A read and a write at one place, of which the later one is complete first."""
    text = blkparse((0, "Q", 8, 8), (1, "Q", 8, 8), (4, "C", 8, 8), (9, "C", 8, 8))
    lines = text.decode().splitlines()
    for at in (1, 2):
        lines[at] = lines[at].replace(" W ", " RS ")
    assert responses("\n".join(lines).encode(), tmp_path) == [(0, 9), (1, 3)]
    queued, done, read = 1, 8, 1 << 17
    events = blktrace((0, queued, 8, 8), (1, queued, 8, 8), (4, done, 8, 8))
    size = BLKTRACE.size
    fields = [
        list(BLKTRACE.unpack(events[n * size : (n + 1) * size])) for n in range(3)
    ]
    for at in (1, 2):
        fields[at][5] = fields[at][5] & 0xFFFF | read >> 1
    assert responses(b"".join(BLKTRACE.pack(*one) for one in fields), tmp_path) == [
        *((0, -1), (1, 3))
    ]


def test_what_is_never_complete_holds_up_nobody(tmp_path, monkeypatch):
    """Nor does a completion of what began before the recording disturb."""
    lost = blkparse((0, "C", 99, 8), (0, "Q", 8, 8), (1, "Q", 80, 8), (4, "C", 80, 8))
    assert responses(lost, tmp_path) == [(0, -1), (1, 3)]
    monkeypatch.setattr("ioplan.trace.pairs.MOST_WAITING", 3)
    many = [(n, what, 800 + 8 * n, 8) for n in range(1, 9) for what in "QC"]
    found = responses(blkparse((0, "Q", 8, 8), *many, (9, "C", 8, 8)), tmp_path)
    assert found == [(0, -1), *((n, 0) for n in range(1, 9))]


def test_what_has_no_completions_has_the_shorter_records(tmp_path):
    converted(blkparse((0, "Q", 8, 8), (1, "D", 8, 8)), tmp_path)
    out = tmp_path / "out.iotrace"
    assert not Prepared.open(out).header.answers
    assert known_survey(out).facts.answered == 0
    assert out.stat().st_size == 64 + 24


def test_they_stay_with_their_ios(tmp_path):
    """Sorted and cut; and it is told how many are known."""
    rows = [(n, n * 512, 512, n % 2, 0, 0, n * 7 or NO_RESPONSE) for n in range(100)]
    write(tmp_path / "x", [np.array(rows, ANSWERED)])
    cut(Prepared.open(tmp_path / "x"), 10, 20, tmp_path / "y")
    own = Prepared.open(tmp_path / "y").ios["response_ns"].tolist()
    assert own == [*range(70, 140, 7)]
    assert known_survey(tmp_path / "x").facts.answered == 99
    data = b"".join(reversed(MSR.splitlines(keepends=True)))
    assert responses(data, tmp_path) == [(0, 5), (3, 2)]


@pytest.mark.parametrize("flags", [2, 3, 1 << 40])
def test_a_newer_file_is_refused(flags, tmp_path):
    write(tmp_path / "x", [np.zeros(3, ANSWERED)])
    whole = (tmp_path / "x").read_bytes()
    (tmp_path / "x").write_bytes(whole[:32] + flags.to_bytes(8, "little") + whole[40:])
    with pytest.raises(TraceError, match="newer ioplan: flags"):
        Prepared.open(tmp_path / "x")
    (tmp_path / "x").write_bytes(whole[:-8])
    with pytest.raises(TraceError, match="need 160"):
        Prepared.open(tmp_path / "x")
