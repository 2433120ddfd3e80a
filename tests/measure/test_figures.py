"""Events to results, and metrics over one run and over several."""

import time
from statistics import mean, pstdev

import pytest
from figures import (
    BLOCK_BYTES,
    SECOND_NS,
    counts,
    flat,
    histogram,
    latencies_ns,
    measured,
    measurement,
    progress,
    record,
    result,
    run,
    stream,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from ioplan.job import Counts, Cpu, Failure, Result, Started
from ioplan.language import Metric, parse_metric
from ioplan.results.measure import Figure, Sample, consistent, figure

latency_lists = st.lists(st.integers(1, 10**10), min_size=1, max_size=60)


def agrees(got, samples, seconds):
    assert (got.ios, got.bytes) == (len(samples), len(samples) * BLOCK_BYTES)
    assert got.iops == pytest.approx(len(samples) / seconds)
    assert got.bandwidth_bytes_per_s == pytest.approx(got.iops * BLOCK_BYTES)
    assert got.latency is not None
    assert got.latency.mean_ns == pytest.approx(mean(samples))
    assert (got.latency.min_ns, got.latency.max_ns) == (min(samples), max(samples))
    deviation = pytest.approx(pstdev(samples), rel=1e-3, abs=1e-6 * max(samples))
    assert got.latency.stddev_ns == deviation


@settings(max_examples=40)
@given(latency_lists, latency_lists, latency_lists)
def test_results_are_of_the_samples(a, b, c):
    one = stream("one", read=counts(a), write=counts(b))
    made = measured(result(2, one, stream("two", read=counts(c))))
    agrees(made.streams[0].directions["read"], a, 2)
    agrees(made.streams[0].total, a + b, 2)
    agrees(made.directions["read"], a + c, 2)
    agrees(made.directions["write"], b, 2)
    agrees(made.total, a + b + c, 2)


@settings(max_examples=40)
@given(st.lists(latency_lists, min_size=1, max_size=4))
def test_without_a_result_the_progress_stands_for_it(parts):
    made = measured(
        *(progress(s, stream(read=counts(p))) for s, p in enumerate(parts, start=1))
    )
    assert not made.complete and made.run_ns == len(parts) * SECOND_NS
    agrees(made.total, flat(parts), len(parts))
    assert made.detail.histograms[0].bins == histogram(flat(parts)).bins()


def test_nothing_at_all():
    made = measured(Started(mode="sync"), Failure(cause="gone", message="it is gone"))
    assert made.run_ns == 0 and made.streams == () and made.directions == {}
    assert made.total.latency is None and made.total.iops == 0
    assert made.failure is not None
    (point,) = measured(progress(1, stream(read=Counts()))).series
    assert (point.mean_ns, point.p50_ns, point.max_ns) == (None, None, 0)
    assert measurement().cpu_percent == pytest.approx(100 * 0.5 / 3)  # of all its time


def test_percentiles_come_from_the_histogram_and_stay_within_the_extremes():
    """Without a histogram there are none; a deviation is never negative."""
    latency = latency_of([90_001] * 1000)
    assert latency.stddev_ns == 0
    assert {p.latency_ns for p in latency.percentiles} == {90_001}
    supported = {p.percent: p.supported for p in latency.percentiles}
    assert supported[99.0] and not supported[99.9]
    assert latency_of([5, 6], bins=()).percentiles == ()
    assert latency_of([10**9 + 1] * 3, sum_sq_ns2=3.0 * 10**18).stddev_ns == 0


def latency_of(latencies_ns, **more):
    latency = measured(
        result(1, stream(read=counts(latencies_ns, **more)))
    ).total.latency
    assert latency is not None
    return latency


def test_trims_are_beside_the_total_and_warm_up_is_left_out():
    part = stream(read=counts([100, 120]), trim=counts([110] * 3 + [9_000]))
    warm = progress(1, stream(read=counts([1])), warmup=True)
    made = measured(warm, progress(1, part), result(1, part))
    assert made.total.ios == made.streams[0].total.ios == 2
    assert made.directions["trim"].ios == 4
    (point,) = made.series
    assert point.ios == {"read": 2, "trim": 4}
    assert (point.mean_ns, point.max_ns, point.p50_ns) == (110, 120, 100)
    assert measured(warm, progress(1, stream(read=counts([7])))).total.ios == 1


def test_an_interval_merges_reads_and_writes_of_all_streams():
    a, b, c = (latencies_ns(seed, 3000) for seed in (1, 2, 3))
    one = stream("one", read=counts(a), write=counts(b, errors=2))
    (point,) = measured(progress(1, one, stream("two", read=counts(c)))).series
    assert point.ios == {"read": 6000, "write": 3000}
    ordered = sorted(a + b + c)
    exact = [ordered[n] for n in (4499, 8909, 8990)]
    found = [point.p50_ns, point.p99_ns, point.p99_9_ns]
    assert found == pytest.approx(exact, rel=0.01)
    assert point.mean_ns == pytest.approx(mean(ordered))
    assert (point.max_ns, point.errors) == (ordered[-1], 2)


def test_a_streams_rate_is_over_its_own_time():
    """One that was done with its share after a tenth of the run."""
    fast = stream("fast", read=counts([100] * 50))
    fast = fast.model_copy(update={"run_ns": SECOND_NS // 10})
    made = measured(result(1, fast, stream("slow", read=counts([100] * 50))))
    one, other = made.streams
    assert (one.run_s, one.total.iops, one.directions["read"].iops) == (0.1, 500, 500)
    assert (other.run_s, other.total.iops) == (None, 50)
    assert made.total.iops == 100
    sample = Sample(record(1, made), made.detail)
    for name, iops in (("fast", 500), ("slow", 50), (None, 100)):
        assert figure(Metric(name="iops", stream=name), [sample]).value == iops


def test_the_backlog_is_a_level_and_flushes_add_up():
    parts = [
        stream(read=counts([5])).model_copy(
            update={"backlog_ios": level, "sync_ios": 2, "verify_errors": 1}
        )
        for level in (9, 4)
    ]
    (only,) = measured(*(progress(s + 1, p) for s, p in enumerate(parts))).streams
    assert (only.backlog_ios, only.sync_ios, only.verify_errors) == (4, 4, 2)


@pytest.mark.long
def test_an_hour_of_intervals_takes_seconds_at_most():
    """Half a second on an idle machine; what merges anew each time takes minutes."""
    base = [counts(latencies_ns(seed, 3000)) for seed in range(4)]
    assert min(len(part.bins) // 2 for part in base) >= 200
    pairs = [stream(read=base[n], write=base[2 + n]) for n in (0, 1)]
    events = [progress(second, pairs[second % 2]) for second in range(1, 3601)]
    begin_s = time.process_time()
    made = measured(*events)
    assert made.total.ios == 3600 * 6000 and len(made.detail.series) == 3600
    assert time.process_time() - begin_s < 10


STREAMS = ("reader", "writer")
PARTS = [
    ("reader", "read"),
    ("reader", "trim"),
    ("writer", "read"),
    ("writer", "write"),
]
METRICS = [
    *("iops", "bandwidth", "mean", "min", "max", "stddev", "p50", "p90", "p99"),
    *("read.iops", "write.mean", "trim.max", "read.p50", "reader.iops"),
    *("writer.stddev", "writer.read.p90", "reader.trim.iops", "trim.errors"),
    *("errors", "writer.errors", "cpu", "iops_per_cpu"),
]
latencies = st.fixed_dictionaries(
    {part: st.lists(st.integers(1, 10**9), max_size=60) for part in PARTS}
)


def sample(data, run_ns=SECOND_NS, cpu_ns=0, **errors):
    """A run in which these latencies occurred; `errors` by direction."""

    def part(name):
        return {
            direction: counts(values, errors=errors.get(direction, 0))
            for (owner, direction), values in data.items()
            if owner == name and (values or errors.get(direction))
        }

    streams = tuple(stream(name, **part(name)) for name in STREAMS)
    cpu = Cpu(user_ns=cpu_ns // 2, system_ns=cpu_ns - cpu_ns // 2)
    made = measured(Result(run_ns=run_ns, streams=streams, cpu=cpu))
    return Sample(record(1, made), made.detail)


def value(name, *samples):
    return figure(parse_metric(name, STREAMS), samples).value


@given(
    st.lists(
        st.tuples(latencies, st.integers(1, 10**10), st.integers(0, 10**10)),
        min_size=1,
        max_size=4,
    )
)
@pytest.mark.long
def test_pooled_is_the_union(runs):
    union = {part: flat(data[part] for data, _, _ in runs) for part in PARTS}
    whole = sample(union, sum(ns for _, ns, _ in runs), sum(cpu for _, _, cpu in runs))
    parts = [sample(*run) for run in runs]
    for name in METRICS:
        metric = parse_metric(name, STREAMS)
        pooled, merged = figure(metric, parts), figure(metric, [whole])
        assert pooled.why == merged.why
        if merged.value is None:
            assert pooled.value is None
        else:
            # 5 ns: stddev from sums of squares, as floats, of up to a second
            near = pytest.approx(merged.value, rel=1e-6, abs=5)
            assert pooled.value == near, name


@given(latencies)
def test_of_one_run_it_is_what_the_record_says(data):
    run = sample(data)
    total = run.record.total
    if total.ios or not data["reader", "trim"]:
        assert value("iops", run) == pytest.approx(total.iops)
        assert value("bandwidth", run) == pytest.approx(total.bandwidth_bytes_per_s)
    if total.latency is None:
        assert value("mean", run) is None
        return
    for percentile in total.latency.percentiles:
        shown = percentile.latency_ns if percentile.supported else None
        assert value(f"p{percentile.percent:g}", run) == shown
    for name in ("mean", "min", "max", "stddev"):
        told = getattr(total.latency, f"{name}_ns")
        assert value(name, run) == pytest.approx(told)


RUN = sample(
    {
        ("reader", "read"): [100] * 20,
        ("reader", "trim"): [7000] * 4,
        ("writer", "read"): [200] * 10,
        ("writer", "write"): [600] * 10,
    },
    run_ns=2 * SECOND_NS,
    cpu_ns=SECOND_NS,
)
SCOPES = {
    "iops": 20,  # reads and writes, no trims
    **{"read.iops": 15, "write.iops": 5, "trim.iops": 2, "reader.iops": 10},
    **{"writer.iops": 10, "writer.read.iops": 5, "reader.write.iops": 0},
    "bandwidth": 20 * 4096,
    "mean": (20 * 100 + 10 * 200 + 10 * 600) / 40,
    "read.mean": (20 * 100 + 10 * 200) / 30,
    **{"trim.mean": 7000, "writer.mean": 400, "min": 100, "writer.min": 200},
    **{"max": 600, "reader.max": 100, "reader.stddev": 0, "writer.stddev": 200},
    **{"reader.p50": 100, "write.p0": 600, "errors": 0, "cpu": 50},
    "iops_per_cpu": 20 / 50,
}


def test_scopes():
    assert {name: value(name, RUN) for name in SCOPES} == pytest.approx(SCOPES)


@pytest.mark.promise("verdicts.few_samples")
def test_no_value_has_a_reason():
    unmeasured = ("watts", "temperature", "iops_per_watt", "bandwidth_per_watt")
    reasons = {
        "reader.write.mean": "no I/O completed",
        "reader.write.p50": "no latency was measured",
        "p99": "needs 1,000 I/Os, had 40",
        "read.p99.999": "needs 1,000,000 I/Os, had 30",
        **dict.fromkeys(unmeasured, "it was not measured"),
        "verified": "nothing was verified",
    }
    for name, why in reasons.items():
        assert figure(parse_metric(name, STREAMS), [RUN]) == Figure(None, why)
    half = sample({("reader", "read"): [100] * 10})  # two support what one does not
    assert value("p50", sample({("reader", "read"): [100] * 19})) is None
    assert value("p50", half, half) == 100


def test_no_time_or_discards_alone_are_no_rate():
    run, trims = sample({}, run_ns=0), sample({("reader", "trim"): [7000] * 4})
    for name in ("iops", "bandwidth", "cpu", "iops_per_cpu"):
        assert figure(parse_metric(name), [run]) == Figure(None, "nothing was measured")
    idle = figure(parse_metric("iops_per_cpu"), [sample({})])
    assert idle == Figure(None, "no CPU time was measured")
    for name in ("iops", "bandwidth"):
        why = f"only discards completed: see trim.{name}"
        for asked in (name, f"reader.{name}"):
            assert figure(parse_metric(asked, STREAMS), [trims]) == Figure(None, why)
        assert value(f"read.{name}", trims) == 0


def test_errors_of_all_directions_count():
    """Also of trims, which no other figure of the whole includes. A small deviation
    survives a large mean: the difference of two sums of squares would lose it."""
    run = sample({part: [100] for part in PARTS}, read=1, write=10, trim=100)
    assert value("errors", run) == 112  # two streams read
    assert value("trim.errors", run, run) == 200
    assert value("writer.errors", run) == 11
    assert value("reader.trim.errors", run) == 100
    close = sample({("reader", "read"): [10**9, 10**9 + 2]})
    deviation = pytest.approx(value("stddev", close), abs=1e-6)
    assert value("stddev", *[close] * 5) == deviation


def test_verified_is_of_what_verifying_streams_read():
    read = counts([100] * 4)
    some, none = stream("reader", read=read), stream("writer", read=read)
    some = some.model_copy(update={"verified_bytes": read.bytes * 3 // 4})
    made = measured(Result(run_ns=SECOND_NS, streams=(some, none)))
    run = Sample(record(1, made), made.detail)
    assert value("verified", run) == value("verified", run, run) == 75
    assert value("reader.verified", run) == 75
    assert value("writer.verified", run) is value("write.verified", run) is None


@pytest.mark.promise("figures.unmeasured")
def test_cpu_that_nobody_measured_is_not_0():
    measured = sample({("reader", "read"): [100]}, cpu_ns=SECOND_NS)
    data = {"cpu": None, "cpu_percent": None}
    unmeasured = Sample(record(2).model_copy(update=data), measured.detail)
    found = figure(parse_metric("cpu"), [measured, unmeasured])
    assert found == Figure(None, "it was not measured")
    assert figure(parse_metric("iops_per_cpu"), [unmeasured]).value is None


def test_a_histogram_without_a_latency_contradicts():
    made, detail = run(1)

    def untimed(part):
        directions = {d: untimed_one(own) for d, own in part.directions.items()}
        change = {"directions": directions, "total": untimed_one(part.total)}
        return part.model_copy(update=change)

    def untimed_one(result):
        return result.model_copy(update={"latency": None})

    false = untimed(made).model_copy(update={"streams": (*map(untimed, made.streams),)})
    assert consistent(false, detail).cause == "inconsistent"
    median = figure(parse_metric("p50"), [Sample(false, detail)])
    assert median == Figure(None, "no latency was measured")


@pytest.mark.parametrize("change", [{"bits": 8}, {"bits": 0}, {"bins": (-1, 5)}])
def test_a_histogram_of_another_layout_contradicts(change):
    made, detail = run(1)
    first, *others = detail.histograms
    histograms = (first.model_copy(update=change), *others)
    false = detail.model_copy(update={"histograms": histograms})
    assert consistent(made, detail).status == "ok"
    assert consistent(made, false).cause == "inconsistent"
