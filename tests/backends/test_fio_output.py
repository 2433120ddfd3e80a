"""What fio 3.33 has printed, replayed byte by byte, and spoilt in every known way."""

import json
import re
from collections import Counter
from math import inf
from statistics import fmean, stdev

import pytest
from fio_jobs import events, replay, stand_in
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Struct

from golden import Golden
from ioplan.job import Failure, Job, Progress, Result, Started
from ioplan.results.measure import (
    CountsBuilder,
    Histogram,
    Measurement,
    bucket_index,
    bucket_range,
)
from ioplan.results.measure.histogram import BITS
from ioplan_fio.counts import LAST_EDGE_NS, LAST_NS, edges_ns, to_bins
from ioplan_fio.document import LiveReport
from ioplan_fio.timeline import Timeline
from ioplan_testing import check_consistent

pytestmark = pytest.mark.slow

RECORDINGS = Golden("fio_recordings")
FIO_BITS = 6


class Recording(Struct, frozen=True):
    """What a real fio was told, and all that came of it."""

    job: Job
    out: str
    said: str
    code: int

    @classmethod
    def of(cls, name):
        kept = RECORDINGS[name].input
        return cls(**{**kept, "job": Job.model_validate(kept["job"])})


@pytest.fixture
def target(tmp_path):
    path = tmp_path / "target.bin"
    path.write_bytes(bytes(1 << 20))
    return path


def played(folder, target, name, *, out=None, said=None, code=None):
    """The events of a recording, or of one that was spoilt."""
    kept = Recording.of(name)
    program = replay(
        folder,
        kept.out if out is None else out,
        kept.said if said is None else said,
        kept.code if code is None else code,
    )
    return events(kept.job, program, target)


def failure(found):
    assert isinstance(found[-1], Failure), found[-1]
    assert "KeyError" not in found[-1].message and len(found[-1].message) < 500
    return found[-1]


def measured(found):
    measurement = Measurement()
    for event in found:
        measurement.add(event)
    return measurement


def last_document(out):
    return json.loads(out[out.rindex("\n{\n") :])


def altered(out, pattern, new, count=0):
    text, times = re.subn(pattern, new, out, count=count)
    assert times
    return text


@pytest.mark.parametrize("name", ["streams", "mixed"])
def test_the_figures_are_fios_and_the_intervals_add_up_to_them(name, tmp_path, target):
    found = played(tmp_path, target, name)
    assert isinstance(found[0], Started) and found[0].mode == "io_uring"
    result = measured(found)
    check_consistent(found, Recording.of(name).job)
    said = last_document(Recording.of(name).out)["jobs"]
    assert isinstance(said, list)
    for stream in result.streams:
        own = [one for one in said if one["jobname"] == stream.name]
        for direction, part in stream.directions.items():
            key = "sync" if direction == "flush" else direction
            lat = [one[key]["lat_ns"] for one in own]
            assert part.latency
            assert part.ios == sum(one["N"] for one in lat)
            total_ns = sum(one["mean"] * one["N"] for one in lat)
            assert part.latency.mean_ns * part.ios == pytest.approx(total_ns, rel=1e-7)
            assert part.latency.min_ns == min(one["min"] for one in lat)
            assert part.latency.max_ns == max(one["max"] for one in lat)
    intervals = [e for e in found if isinstance(e, Progress) and not e.warmup]
    assert len(intervals) >= 2 and isinstance(found[-1], Result)
    assert sum(e.interval_ns for e in intervals) == found[-1].run_ns
    for place, stream in enumerate(found[-1].streams):
        parts = [e.streams[place] for e in intervals]
        assert sum(part.sync_ios for part in parts) == stream.sync_ios
        for direction, counts in stream.directions.items():
            own = [p.directions[direction] for p in parts if direction in p.directions]
            bins = Histogram.merged(Histogram.of(one.bins) for one in own)
            assert in_fios(bins) == in_fios(Histogram.of(counts.bins))
            assert sum(one.ios for one in own) == counts.ios
            assert sum(one.bytes for one in own) == counts.bytes
            assert sum(one.sum_ns for one in own) == pytest.approx(counts.sum_ns)
            assert min(one.min_ns for one in own) == counts.min_ns
            assert max(one.max_ns for one in own) == counts.max_ns


def in_fios(histogram):
    """Counts by fio's bucket, of two of ours: only the extremes say in which half an
    I/O is, and the last of these is the last document's."""
    found: Counter[int] = Counter()
    for index, count in zip(histogram.index, histogram.count, strict=True):
        found[fio_middle(bucket_range(int(index))[0])] += int(count)
    return found


def test_of_one_thread_the_deviation_is_fios(tmp_path, target):
    result = measured(played(tmp_path, target, "mixed"))
    said = last_document(Recording.of("mixed").out)["jobs"]
    assert isinstance(said, list)
    for direction, part in result.directions.items():
        lat = said[0][direction]["lat_ns"]
        of_a_sample = (part.ios / (part.ios - 1)) ** 0.5
        assert part.latency
        assert part.latency.stddev_ns * of_a_sample == pytest.approx(lat["stddev"])
    assert result.directions["write"].bytes == 8192 * result.directions["write"].ios


def test_the_threads_of_a_stream_are_one_and_the_warm_up_is_not_counted(
    tmp_path, target
):
    found = played(tmp_path, target, "streams")
    warm = [e for e in found if isinstance(e, Progress) and e.warmup]
    assert warm and found.index(warm[-1]) < len(warm) + 1
    result = measured(found)
    reader, writer = result.streams
    assert (reader.name, writer.name) == ("reader", "writer")
    assert set(reader.directions) == {"read"} and set(writer.directions) == {
        "write",
        "flush",
    }
    assert writer.directions["flush"].ios == writer.sync_ios
    assert reader.total.iops == pytest.approx(300, rel=0.1)
    assert writer.sync_ios == pytest.approx(writer.total.ios / 8, abs=2)
    assert result.run_ns == pytest.approx(400_000_000, rel=0.01)
    assert 0 < result.cpu_percent < 100


def test_threads_that_measured_for_other_times_are_told(tmp_path, target):
    out = altered(
        Recording.of("streams").out,
        r'"job_runtime" : (39|40)\d',
        '"job_runtime" : 200',
        1,
    )
    last = out.rindex('"job_runtime" : 40')
    out = out[:last] + '"job_runtime" : 900' + out[last + len('"job_runtime" : 400') :]
    found = played(tmp_path, target, "streams", out=out)[-1]
    assert isinstance(found, Result) and "900 ms" in found.warnings[0]
    assert played(tmp_path, target, "streams")[-1].warnings == ()


def test_text_before_the_documents_is_no_harm(tmp_path, target):
    assert Recording.of("depth").out.startswith("note: both iodepth")
    assert isinstance(played(tmp_path, target, "depth")[-1], Result)


@pytest.mark.parametrize(
    "text", ["fio: a message\n", "note: {\n", "\n\n", "}\n", "{]\n"]
)
def test_text_between_the_documents_is_no_harm(text, tmp_path, target):
    out = text + Recording.of("mixed").out.replace("\n}\n", "\n}\n" + text)
    found = played(tmp_path, target, "mixed", out=out)
    assert isinstance(found[-1], Result)
    assert found[-1] == played(tmp_path, target, "mixed")[-1]


def test_a_run_that_is_stopped_gives_what_was_done(tmp_path, target):
    last = played(tmp_path, target, "stopped")[-1]
    assert isinstance(last, Result) and last.stopped
    assert last.streams[0].directions["read"].ios > 50
    assert 300_000_000 < last.run_ns < 900_000_000


@pytest.mark.parametrize(
    ("number", "cause"), [(61, "device-error"), (28, "device-error")]
)
@pytest.mark.parametrize("code", [0, 1])
def test_the_first_error_ends_the_run_whatever_the_exit_code(
    number, cause, code, tmp_path, target
):
    out = altered(
        Recording.of("ended-psync").out, r'"error" : 5', f'"error" : {number}'
    )
    said = "fio: io_u error on file /data/t: Some error: read offset=4096, buflen=512\n"
    found = played(tmp_path, target, "ended-psync", out=out, said=said, code=code)
    told = failure(found)
    assert told.cause == cause and f"err={number}" in told.message
    assert "offset=4096" in told.message
    assert any(isinstance(event, Progress) for event in found)


def test_a_death(tmp_path, target):
    program = stand_in(tmp_path, "kill -9 $$")
    told = failure(events(Recording.of("mixed").job, program, target))
    assert told.cause == "backend-died" and "signal 9" in told.message


@pytest.mark.parametrize("flood", ["yes $(printf %01000d)", "tr '\\0' x < /dev/zero"])
def test_a_flood_without_a_result(flood, tmp_path, target, monkeypatch):
    """However long a busy machine takes to read it."""
    monkeypatch.setattr("ioplan_fio.execution.OVERDUE_S", inf)
    told = failure(events(Recording.of("mixed").job, stand_in(tmp_path, flood), target))
    assert told.cause == "backend-garbage"
    assert "it printed 32 MiB without a result" in told.message


SPOILT = Golden("fio_spoilt")


@pytest.mark.parametrize("name", SPOILT)
def test_what_is_spoilt_is_a_failure(name, tmp_path, target):
    """A part of the output replaced, cut off, or all of it; or another exit code."""
    how, expected = dict(SPOILT[name].input), SPOILT[name].expected
    recording = how.pop("recording")
    out = Recording.of(recording).out
    if "replace" in how:
        how["out"] = altered(out, *how.pop("replace"))
    elif "share" in how:
        how["out"] = out[: int(len(out) * how.pop("share"))]
    told = failure(played(tmp_path, target, recording, **how))
    assert told.cause == expected["cause"], told
    assert re.search(expected["says"], told.message), told


def reads(*counters):
    """Whether reports with these counts of latencies and bytes look like a dead drive."""
    from ioplan_fio.document import Splitter
    from ioplan_fio.faults import EmptyReads

    kept, splitter = Recording.of("mixed"), Splitter()
    whole = [
        r for line in kept.out.splitlines(keepends=True) if (r := splitter.feed(line))
    ]
    one_stream = kept.job.model_copy(update={"streams": kept.job.streams[:1]})
    found = EmptyReads(one_stream)
    for ios, size in counters:
        (first, *_) = whole[-1].jobs
        lat = first.read.lat.model_copy(update={"count": ios})
        read = first.read.model_copy(update={"lat": lat, "io_bytes": size})
        jobs = (first.model_copy(update={"read": read}),)
        found.add(whole[-1].model_copy(update={"jobs": jobs}))
    return found.found


def test_bytes_older_than_latencies_are_no_dead_drive():
    """fio reads its counters one after the other while its threads go on."""
    assert not reads((0, 0), (5000, 0), (9000, 36_000_000))
    assert not reads((1000, 4_096_000), (5000, 4_096_000))
    assert reads((1000, 4_096_000), (5000, 4_096_000), (9000, 4_096_000))


@settings(max_examples=40)
@given(st.data())
def test_whatever_is_printed_ends_in_an_event(data):
    """Spoilt anywhere, a recording is never an exception."""
    from ioplan_fio.document import GarbledError, Splitter
    from ioplan_fio.faults import run_failure, thread_mismatch
    from ioplan_fio.timeline import Timeline

    kept = Recording.of("mixed")
    at = data.draw(st.integers(0, len(kept.out) - 1))
    junk = data.draw(st.text(max_size=5))
    out = kept.out[:at] + junk + kept.out[at + data.draw(st.integers(0, 40)) :]
    splitter, timeline = Splitter(), Timeline(kept.job)
    try:
        for line in out.splitlines(keepends=True):
            report = splitter.feed(line)
            if report and not thread_mismatch(kept.job, report):
                timeline.add(report)
    except GarbledError:
        return
    run_failure(kept.job, timeline.last, 0, splitter.messages, stopped=False)
    timeline.finish()
    timeline.result(stopped=False, facts={})


def fio_middle(value_ns):
    """stat.c: plat_val_to_idx, then plat_idx_to_val."""
    top = value_ns.bit_length() - 1
    if top <= FIO_BITS:
        return value_ns
    shift = top - FIO_BITS
    return (value_ns >> shift << shift) + (1 << shift >> 1)


def fio_bins(values_ns):
    """As fio counts: its last bucket holds whatever is longer."""
    return Counter(min(LAST_NS, fio_middle(value_ns)) for value_ns in values_ns)


@given(st.lists(st.integers(0, LAST_EDGE_NS - 1), min_size=1, max_size=300))
def test_fios_buckets_keep_every_count_and_its_place(values_ns):
    fio = fio_bins(values_ns)
    low, high = min(values_ns), max(values_ns)
    bins = to_bins(fio, low, high, sum(values_ns))
    ours = CountsBuilder(bins=bins).histogram()
    assert ours.bits == BITS and ours.total == len(values_ns)
    assert ours.index[0] >= bucket_index(low) and ours.index[-1] <= bucket_index(high)
    lowest, highest = edges_ns(fio)
    assert lowest <= low and high <= highest
    exact = sorted(values_ns)
    for percent in (0, 50, 90, 100):
        rank = max(1, -(-len(exact) * percent // 100))
        assert ours.percentile_ns(percent) == pytest.approx(
            exact[rank - 1], rel=0.016, abs=1
        )
    binned = sum(exact) / len(exact)
    assert ours.mean_ns() == pytest.approx(binned, rel=0.016, abs=1)


@given(
    st.lists(st.integers(0, LAST_EDGE_NS), max_size=100),
    st.lists(st.integers(LAST_EDGE_NS, 1 << 40), min_size=1, max_size=50),
)
def test_latencies_beyond_fios_last_bucket_keep_their_mean(within_ns, beyond_ns):
    """A stall of 25 s at QD 32 is 32 I/Os in a bucket that is called 17 s."""
    values_ns = within_ns + beyond_ns
    fio, low, high = fio_bins(values_ns), min(values_ns), max(values_ns)
    assert edges_ns(fio)[1] >= high
    bins = to_bins(fio, low, high, sum(values_ns))
    ours = CountsBuilder(bins=bins).histogram()
    assert ours.total == len(values_ns)
    assert ours.percentile_ns(100) == pytest.approx(high, rel=0.01)
    assert ours.mean_ns() == pytest.approx(sum(values_ns) / len(values_ns), rel=0.016)


NAMES = "min_ns", "max_ns", "mean_ns", "stddev_ns", "count", "bins"


@st.composite
def torn(draw):
    """Latencies of a thread, and which of them the documents know."""
    near = st.integers(20_000, 30_000)
    far = st.one_of(st.integers(1, 1 << 20), st.integers(1 << 20, 1 << 33))
    values_ns = draw(
        st.lists(st.one_of(near, near, near, far), min_size=4, max_size=120)
    )
    most = len(values_ns)
    at = sorted(draw(st.lists(st.integers(1, most), min_size=1, max_size=6)))
    late = st.integers(0, 3)
    documents = [{name: min(most, k + draw(late)) for name in NAMES} for k in at]
    grown = [
        {n: max(one[n] for one in documents[: i + 1]) for n in NAMES}
        for i in range(len(at))
    ]
    return values_ns, [*grown, dict.fromkeys(NAMES, most)]


def figures(values_ns, seen):
    """What fio says of them."""
    mean = fmean(values_ns[: seen["mean_ns"]])
    return {
        "min": min(values_ns[: seen["min_ns"]]),
        "max": max(values_ns[: seen["max_ns"]]),
        "mean": mean,
        "stddev": stdev(values_ns[:spread]) if (spread := seen["stddev_ns"]) > 1 else 0,
        "N": seen["count"],
        "bins": dict(fio_bins(values_ns[: seen["bins"]])),
    }  # fmt: skip


def documents(values_ns, told):
    """One thread's documents, 100 ms apart."""
    kept = json.loads(json.dumps(last_document(Recording.of("mixed").out)))
    thread = kept["jobs"][0]
    none = {"min": 0, "max": 0, "mean": 0.0, "stddev": 0.0, "N": 0, "bins": {}}
    for number, seen in enumerate(told, 1):
        thread["job_runtime"] = 100 * number
        for direction in ("read", "write", "trim"):
            counts = figures(values_ns, seen) if direction == "read" else none
            size = counts["N"] * 4096
            thread[direction] |= {
                "io_bytes": size, "total_ios": counts["N"], "lat_ns": counts, "clat_ns": counts,
            }  # fmt: skip
        yield LiveReport.model_validate(kept)


@given(torn())
def test_documents_whose_figures_are_of_different_moments(drawn):
    """fio's status thread takes no lock: a bucket may be newer than the maximum."""
    values_ns, told = drawn
    run = Recording.of("mixed").job.model_copy(
        update={"warmup_ns": 0, "run_ns": 100_000_000 * len(told)}
    )
    run = run.model_copy(update={"streams": run.streams[:1]})
    timeline = Timeline(run)
    found = [timeline.add(one) for one in documents(values_ns, told)]
    found.append(timeline.finish())
    result = timeline.result(stopped=False, facts={})
    counts = result.streams[0].directions["read"]
    exact = to_bins(fio_bins(values_ns), min(values_ns), max(values_ns), sum(values_ns))
    assert counts.bins == CountsBuilder(bins=exact).histogram().bins()
    assert (counts.min_ns, counts.max_ns) == (min(values_ns), max(values_ns))
    own = [
        o.streams[0].directions["read"] for o in found if o and o.streams[0].directions
    ]
    assert sum(one.ios for one in own) == len(values_ns)
    bins = Histogram.merged(Histogram.of(one.bins) for one in own)
    assert in_fios(bins) == fio_bins(values_ns)
    for one in own:
        histogram = Histogram.of(one.bins)
        assert one.ios * one.min_ns <= one.sum_ns <= one.ios * one.max_ns
        assert bucket_range(int(histogram.index[0]))[1] > one.min_ns
        assert bucket_range(int(histogram.index[-1]))[0] <= one.max_ns
        assert one.sum_ns == pytest.approx(
            histogram.mean_ns() * one.ios, rel=0.02, abs=2 * one.ios
        )
    # a sum of another moment is kept within the buckets, an extreme at their edge
    assert sum(one.sum_ns for one in own) == pytest.approx(sum(values_ns), rel=1 / 64)
    whole = counts.sum_sq_ns2
    assert sum(one.sum_sq_ns2 for one in own) == pytest.approx(whole, rel=1 / 32)
    assert max(one.max_ns for one in own) == pytest.approx(max(values_ns), rel=1 / 64)
    assert min(one.min_ns for one in own) == pytest.approx(min(values_ns), rel=1 / 64)


def test_a_run_in_which_nothing_was_done(tmp_path, target):
    """A rate so low that no I/O fell due."""
    out = Recording.of("missing").out
    last = played(tmp_path, target, "missing", out=out, said="", code=0)[-1]
    assert isinstance(last, Result) and not last.streams[0].directions
