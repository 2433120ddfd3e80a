"""Events to results."""

from __future__ import annotations

import time
from statistics import mean, pstdev

import pytest
from figures import (
    BLOCK_BYTES,
    SECOND_NS,
    counts,
    flat,
    latencies_ns,
    measured,
    measurement,
    progress,
    record,
    result,
    stream,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from ioplan.job import Counts, Failure, Progress, Started
from ioplan.language import Metric
from ioplan.records import DirectionResult
from ioplan.results.measure import Histogram, Sample, figure

latency_lists = st.lists(st.integers(1, 10**10), min_size=1, max_size=60)


def agrees(got: DirectionResult, samples: list[int], seconds: int) -> None:
    assert got.ios == len(samples)
    assert got.bytes == len(samples) * BLOCK_BYTES
    assert got.iops == pytest.approx(len(samples) / seconds)
    assert got.bandwidth_bytes_per_s == pytest.approx(got.iops * BLOCK_BYTES)
    assert got.latency is not None
    assert got.latency.mean_ns == pytest.approx(mean(samples))
    assert (got.latency.min_ns, got.latency.max_ns) == (min(samples), max(samples))
    deviation = pytest.approx(pstdev(samples), rel=1e-3, abs=1e-6 * max(samples))
    assert got.latency.stddev_ns == deviation


@settings(max_examples=40)
@given(latency_lists, latency_lists, latency_lists)
def test_results_are_those_of_the_samples(
    a: list[int], b: list[int], c: list[int]
) -> None:
    made = measured(
        result(
            2,
            stream("one", read=counts(a), write=counts(b)),
            stream("two", read=counts(c)),
        )
    )
    agrees(made.streams[0].directions["read"], a, 2)
    agrees(made.streams[0].total, a + b, 2)
    agrees(made.directions["read"], a + c, 2)
    agrees(made.directions["write"], b, 2)
    agrees(made.total, a + b + c, 2)


@settings(max_examples=40)
@given(st.lists(latency_lists, min_size=1, max_size=4))
def test_without_a_result_the_progress_stands_for_it(parts: list[list[int]]) -> None:
    made = measured(
        *(progress(s, stream(read=counts(p))) for s, p in enumerate(parts, start=1))
    )
    assert not made.complete and made.run_ns == len(parts) * SECOND_NS
    agrees(made.total, flat(parts), len(parts))
    assert made.detail.histograms[0].bins == Histogram.of_values(flat(parts)).bins()


def test_nothing_at_all() -> None:
    made = measured(Started(mode="sync"), Failure(cause="gone", message="it is gone"))
    assert made.run_ns == 0 and made.streams == () and made.directions == {}
    assert made.total.latency is None and made.total.iops == 0
    assert made.failure is not None


def test_percentiles_come_from_the_histogram_and_stay_within_the_extremes() -> None:
    made = measured(result(1, stream(read=counts([90_001] * 1000))))
    latency = made.total.latency
    assert latency is not None and latency.stddev_ns == 0
    assert {p.latency_ns for p in latency.percentiles} == {90_001}
    supported = {p.percent: p.supported for p in latency.percentiles}
    assert supported[99.0] and not supported[99.9]


def test_without_a_histogram_there_are_no_percentiles() -> None:
    made = measured(result(1, stream(read=counts([5, 6], bins=()))))
    assert made.total.latency is not None
    assert made.total.latency.percentiles == ()


def test_warm_up_is_left_out() -> None:
    warm = progress(1, stream(read=counts([1])), warmup=True)
    made = measured(warm, progress(1, stream(read=counts([7]))))
    assert [point.max_ns for point in made.series] == [7]
    assert made.total.ios == 1


def test_trims_are_beside_the_total() -> None:
    part = stream(read=counts([100, 120]), trim=counts([110] * 3 + [9_000]))
    made = measured(progress(1, part), result(1, part))
    assert made.total.ios == made.streams[0].total.ios == 2
    assert made.directions["trim"].ios == 4
    (point,) = made.series
    assert point.ios == {"read": 2, "trim": 4}
    assert (point.mean_ns, point.max_ns, point.p50_ns) == (110, 120, 100)


def test_an_interval_merges_reads_and_writes_of_all_streams() -> None:
    a, b, c = (latencies_ns(seed, 3000) for seed in (1, 2, 3))
    one = stream("one", read=counts(a), write=counts(b, errors=2))
    (point,) = measured(progress(1, one, stream("two", read=counts(c)))).series
    assert point.ios == {"read": 6000, "write": 3000}
    ordered = sorted(a + b + c)
    assert point.p50_ns == pytest.approx(ordered[4499], rel=0.01)
    assert point.p99_ns == pytest.approx(ordered[8909], rel=0.01)
    assert point.p99_9_ns == pytest.approx(ordered[8990], rel=0.01)
    assert point.mean_ns == pytest.approx(mean(ordered))
    assert (point.max_ns, point.errors) == (ordered[-1], 2)


def test_a_streams_rate_is_over_its_own_time() -> None:
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


def test_an_interval_in_which_nothing_completed() -> None:
    (point,) = measured(progress(1, stream(read=Counts()))).series
    assert (point.mean_ns, point.p50_ns, point.max_ns) == (None, None, 0)


def test_cancellation_gives_no_negative_deviation() -> None:
    same = counts([10**9 + 1] * 3, sum_sq_ns2=3.0 * 10**18)
    latency = measured(result(1, stream(read=same))).total.latency
    assert latency is not None and latency.stddev_ns == 0


def test_the_backlog_is_a_level_and_flushes_add_up() -> None:
    parts = [
        stream(read=counts([5])).model_copy(
            update={"backlog_ios": level, "sync_ios": 2, "verify_errors": 1}
        )
        for level in (9, 4)
    ]
    (only,) = measured(*(progress(s + 1, p) for s, p in enumerate(parts))).streams
    assert (only.backlog_ios, only.sync_ios, only.verify_errors) == (4, 4, 2)


def test_the_cpu_is_of_the_measured_time() -> None:
    made = measurement()
    assert made.cpu_percent == pytest.approx(100 * 0.5 / 3)


@pytest.mark.long
def test_an_hour_of_intervals_takes_seconds_at_most() -> None:
    """Half a second on an idle machine; what merges anew each time takes minutes."""
    base = [counts(latencies_ns(seed, 3000)) for seed in range(4)]
    assert min(len(part.bins) // 2 for part in base) >= 200
    events = [_hour(second, base) for second in range(1, 3601)]
    begin_s = time.process_time()
    made = measured(*events)
    assert made.total.ios == 3600 * 6000 and len(made.detail.series) == 3600
    assert time.process_time() - begin_s < 10


def _hour(second: int, base: list[Counts]) -> Progress:
    return progress(second, stream(read=base[second % 2], write=base[2 + second % 2]))
