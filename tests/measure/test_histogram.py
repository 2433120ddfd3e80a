"""Histograms: error, order, addition; what is counted in each interval, packed."""

import lzma
import math
import struct
import tracemalloc
from itertools import pairwise
from math import inf

import numpy as np
import pytest
from command import ioplan, plan_file
from figures import SECOND_NS, counts, flat, histogram, measured, progress, stream
from hypothesis import given, settings
from hypothesis import strategies as st

from ioplan.job import Counts
from ioplan.records import PERCENTILES
from ioplan.results.measure import (
    CountsBuilder,
    Histogram,
    IntervalCounts,
    Measurement,
    bucket_index,
    bucket_range,
    counts_of,
    interval_counts,
)
from ioplan.results.store import Store
from ioplan.workload import COUNTED

LAST = 2**64 - 1
BUCKETS = bucket_index(LAST) + 1
values = st.integers(0, 2**62)
samples = st.lists(
    st.one_of(values, st.integers(0, 300), st.integers(10_000, 10_000_000)),
    min_size=1,
    max_size=300,
)


@given(st.integers(0, LAST), st.integers(1, 12))
def test_a_value_lies_in_its_bucket(value, bits):
    """Of a 128th of its values, as the engine's and fio's are with their 7 bits."""
    lower, upper = bucket_range(bucket_index(value))
    assert upper - lower == max(1, 1 << max(0, value.bit_length() - 8))
    index = bucket_index(value, bits)
    lower, upper = bucket_range(index, bits)
    assert lower <= value < upper
    assert index <= bucket_index(LAST, bits)
    assert upper - lower <= max(1, lower / 2**bits)


@given(samples)
def test_figures_are_those_of_the_samples(latencies):
    """Percentiles within 1 percent, alone or several at once; the mean within a half."""
    found, ordered = histogram(latencies), sorted(latencies)
    for percent in PERCENTILES:
        rank = max(1, math.ceil(round(len(ordered) * percent / 100, 6)))
        exact = ordered[rank - 1]
        assert abs(found.percentile_ns(percent) - exact) <= exact * 0.01
    single = [found.percentile_ns(percent) for percent in PERCENTILES]
    assert found.percentiles_ns(PERCENTILES) == single
    exact_mean = pytest.approx(sum(latencies) / len(latencies), rel=0.005)
    assert found.mean_ns() == exact_mean


@given(st.lists(samples, min_size=2, max_size=4))
def test_addition_is_counting_all_samples(parts):
    merged = Histogram.merged(map(histogram, parts))
    assert merged.bins() == histogram(flat(parts)).bins()
    assert merged.total == sum(map(len, parts))
    assert Histogram.merged([]).bins() == histogram([]).bins()


def test_buckets_leave_no_gap_and_others_are_refused():
    edges = [bucket_range(index) for index in range(BUCKETS)]
    assert edges[0][0] == 0 and edges[-1][1] == 2**64
    assert all(a[1] == b[0] for a, b in pairwise(edges))
    for bins in ([1], [-1, 5], [5, -1], [BUCKETS, 1], [1, 2, 3], [1, 1 << 62]):
        with pytest.raises(ValueError):
            Histogram.of(bins)
    thousand, one = Histogram.of([100, 1000]), Histogram.of([1, 1])
    assert (thousand.beyond(99.0), thousand.beyond(99.9)) == (10, 1)
    assert one.percentile_ns(-1) == one.percentile_ns(200) == 1, "as a record may have"
    with pytest.raises(ValueError, match="no latency"):
        Histogram.of([]).percentile_ns(50)
    with pytest.raises(ValueError, match="resolution"):
        Histogram.merged((one, Histogram.of([1, 1], bits=6)))


latencies = st.lists(st.integers(0, 2**40) | st.integers(0, 300), max_size=30)
cells = latencies.map(lambda values: counts(values, errors=len(values) % 3))
directions = st.dictionaries(st.sampled_from(COUNTED), cells, max_size=3)
intervals = st.lists(
    st.dictionaries(st.sampled_from(["a", "b\u00e4", ""]), directions, max_size=3),
    max_size=9,
)


def events(found):
    return [
        progress(second, *(stream(name, **by) for name, by in streams.items()))
        for second, streams in enumerate(found, 1)
    ]


def packed(found):
    return measured(*found).detail.intervals


@settings(max_examples=60)
@given(intervals, st.integers(1, 4))
@pytest.mark.long
def test_each_interval_comes_back(found, chunk):
    made = events(found)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(interval_counts, "MOST_INTERVALS", chunk)
        read = IntervalCounts(packed(made))
        slices = list(read.between(-inf, inf))
    assert len(read) == len(slices) == len(made)
    for one, event in zip(slices, made, strict=True):
        assert one.end_ns == event.t_ns
        assert one.begin_ns == event.t_ns - event.interval_ns
        cells = {key: cell.counts() for key, cell in one.cells.items()}
        assert cells == {
            (part.name, direction): cell
            for part in event.streams
            for direction, cell in part.directions.items()
            if cell.ios or cell.errors
        }


def test_a_stretch_has_the_intervals_that_begin_in_it(monkeypatch):
    monkeypatch.setattr(interval_counts, "MOST_INTERVALS", 3)
    made = [progress(second, stream(read=counts([second]))) for second in range(1, 8)]
    read = IntervalCounts(packed(made))
    for begin_s, end_s, ends in (
        (0, 10, [1, 2, 3, 4, 5, 6, 7]),
        (2, 4, [3, 4]),
        (2.1, 4.1, [4, 5]),
        (6, 7, [7]),
        (7, 9, []),
        (3, 3, []),
    ):
        found = read.between(begin_s * 1e9, end_s * 1e9)
        assert [one.end_ns // SECOND_NS for one in found] == ends


SOUND = packed([progress(s, stream(read=counts([10, 2**33 * s]))) for s in (1, 2)])


@settings(max_examples=60)
@given(st.binary(max_size=60), st.integers(0, len(SOUND) - 1), st.integers(1, 255))
def test_damaged_bytes_are_told(noise, at, flip):
    flipped = bytes([*SOUND[:at], SOUND[at] ^ flip, *SOUND[at + 1 :]])
    body = interval_counts.HEAD.size + 1
    for damaged in (SOUND[: max(1, at)], b"\x01" + noise, flipped):
        if len(damaged) == 1 or (damaged == flipped and at < body):
            continue  # nothing at all, or another time: of those nobody can tell
        with pytest.raises(ValueError):
            list(IntervalCounts(damaged).between(-inf, inf))
    with pytest.raises(ValueError, match="layout 9"):
        IntervalCounts(b"\x09" + SOUND[1:])


@pytest.mark.parametrize(
    "header",
    [
        b"[" * 100_000,
        b'[["main","read",1%s,1]]' % (b"0" * 30),
        b'[["main","read",-1,1]]',
        b'[["main","read",1,9]]',
        b'[["main","all",0,1]]',
        b'{"main": 1}',
        b"7",
    ],
)
def test_a_header_that_lies_is_damaged(header):
    raw = struct.pack("<I", len(header)) + header + bytes(200)
    body = lzma.compress(raw)
    head = interval_counts.HEAD.pack(len(body), 1, 0, SECOND_NS)
    with pytest.raises(ValueError, match="damaged"):
        list(IntervalCounts(bytes([interval_counts.VERSION]) + head + body))


def test_numbers_of_a_backend_that_cannot_be_do_no_harm():
    """A warm-up is in none."""
    wrong = Counts(ios=1, sum_ns=2**70, min_ns=-(2**70), max_ns=2**64, bins=(5, 1))
    warm = progress(1, stream(read=counts([7])), warmup=True)
    made = packed([warm, progress(1, stream(read=wrong))])
    (found,) = IntervalCounts(made).between(-inf, inf)
    cell = found.cells["main", "read"]
    assert (cell.ios, cell.sum_ns) == (1, 2**63 - 1)
    assert cell.histogram().flat() == (5, 1)


PLAN = """
workload mixed {
  reader = random 4KiB 70/30, qd 4
  log    = sequential 16KiB 0/100, sync every 8
}
test "T" { run mixed for 1s, warmup 100ms }
"""
ROUNDED = {"iops", "bandwidth_bytes_per_s", "latency"}
"""Rates are over a stream's own time, and a deviation of floats."""
INEXACT = {"stddev_ns"}


@pytest.mark.parametrize(
    "backend", ["sim", pytest.param("io_uring", marks=pytest.mark.slow)]
)
@pytest.mark.long
@pytest.mark.promise("figures.intervals")
def test_intervals_add_up_to_runs(tmp_path, store_path, backend):
    """Bin by bin, for each stream and direction, and each sum to its last digit."""
    asked = ("--backend", backend, "--create", "64MiB", "--interval", "100ms")
    target = () if backend == "sim" else ("--target", tmp_path / "scratch.bin")
    done = ioplan("run", plan_file(tmp_path, PLAN), *target, *asked)
    assert done.code == 0, done.err
    with Store.open(store_path) as store:
        record, *_ = store.records(store.session("last").id)
        detail = store.whole_detail(record.session, record.seq)
        assert store.detail(record.session, record.seq).intervals == b""
    found = IntervalCounts(detail.intervals)
    assert len(found) == len(detail.series) >= 10
    builders = counts_of(list(found.between(-inf, inf)))
    assert {(o.stream, o.direction): o.bins for o in detail.histograms} == {
        (name, direction): part.histogram().flat()
        for name, builder in builders.items()
        for direction, part in builder.directions.items()
    }
    run_ns = round(record.run_s * SECOND_NS)
    for one in record.streams:
        assert one.directions.keys() == builders[one.name].directions.keys()
        for direction, told in one.directions.items():
            summed = builders[one.name].directions[direction].result(run_ns)
            ours, theirs = (x.model_dump(exclude=ROUNDED) for x in (summed, told))
            assert ours == theirs
            assert summed.latency and told.latency
            exact = [x.latency.model_dump(exclude=INEXACT) for x in (summed, told)]
            assert exact[0] == exact[1]
            deviation_ns = pytest.approx(told.latency.stddev_ns, rel=1e-6)
            assert summed.latency.stddev_ns == deviation_ns
    assert {"flush", "commit", "write"} <= builders["log"].directions.keys()


def test_sums_of_intervals_are_those_of_one():
    parts = [[5, 9, 12], [2**30], []]
    made = [progress(s, stream(read=counts(p))) for s, p in enumerate(parts, 1)]
    summed = counts_of(list(IntervalCounts(packed(made)).between(-inf, inf)))
    whole = CountsBuilder.merged([counts(flat(parts))])
    assert summed["main"].directions["read"].counts() == whole.counts()


@pytest.mark.long
def test_an_hour_of_two_streams_is_small():
    """Reads and writes of each, 500 a second; the packed counts, and all that is held."""
    draw, made = np.random.default_rng(1), Measurement()
    shape = np.histogram(draw.lognormal(11.4, 0.4, 100_000), EDGES_NS)[0] / 200
    tracemalloc.start()
    for second in range(1, 3601):
        streams = [
            stream(n, read=drawn(shape, draw), write=drawn(shape, draw)) for n in "ab"
        ]
        made.add(progress(second, *streams))
    held_bytes, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(made.detail.intervals) < 2e6
    assert held_bytes < 7e6


EDGES_NS = [bucket_range(index)[0] for index in range(1000, 2000)]


def drawn(shape, draw):
    found = Histogram.of_dense(np.append(np.zeros(1000, np.int64), draw.poisson(shape)))
    sums = {"ios": found.total, "bytes": 4096 * found.total}
    return Counts(**sums, sum_ns=int(found.total * found.mean_ns()), bins=found.bins())
