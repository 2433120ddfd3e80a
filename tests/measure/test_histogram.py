"""Histograms: error, order, addition."""

from __future__ import annotations

import math
import pickle
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from run_data import flat

from ioplan.job import Counts
from ioplan.records import PERCENTILES
from ioplan.results.measure import Histogram, bucket_index, bucket_range
from ioplan.results.measure.histogram import (
    bucket_count,
    bucket_middle,
    bucket_middles,
    bucket_ranges,
)

values = st.integers(0, 2**62)
samples = st.lists(
    st.one_of(values, st.integers(0, 300), st.integers(10_000, 10_000_000)),
    min_size=1,
    max_size=300,
)


@given(st.integers(0, 2**64 - 1))
def test_a_bucket_is_a_128th_of_its_values_wide(value: int) -> None:
    """As the engine's and fio's are with their 7 bits, which are merged with these."""
    lower, upper = bucket_range(bucket_index(value))
    assert upper - lower == max(1, 1 << max(0, value.bit_length() - 8))


@given(st.integers(0, 2**64 - 1), st.integers(1, 12))
def test_a_value_lies_in_its_bucket(value: int, bits: int) -> None:
    index = bucket_index(value, bits)
    lower, upper = bucket_range(index, bits)
    assert lower <= value < upper
    assert index < bucket_count(bits)
    assert upper - lower <= max(1, lower / 2**bits)


def test_buckets_leave_no_gap() -> None:
    edges = [bucket_range(index) for index in range(bucket_count())]
    assert edges[0][0] == 0 and edges[-1][1] == 2**64
    assert all(a[1] == b[0] for a, b in pairwise(edges))


@given(samples)
def test_percentiles_are_within_1_percent_of_the_sorted_samples(
    latencies: list[int],
) -> None:
    histogram, ordered = Histogram.of_values(latencies), sorted(latencies)
    for percent in PERCENTILES:
        rank = max(1, math.ceil(round(len(ordered) * percent / 100, 6)))
        exact = ordered[rank - 1]
        assert abs(histogram.percentile_ns(percent) - exact) <= exact * 0.01


@given(samples)
def test_several_percentiles_at_once_are_the_single_ones(latencies: list[int]) -> None:
    histogram = Histogram.of_values(latencies)
    single = [histogram.percentile_ns(percent) for percent in PERCENTILES]
    assert histogram.percentiles_ns(PERCENTILES) == single


@given(samples, samples)
def test_addition_is_counting_all_samples(a: list[int], b: list[int]) -> None:
    both = Histogram.of_values(a) + Histogram.of_values(b)
    assert both.bins() == Histogram.of_values(a + b).bins()
    assert both.total == len(a) + len(b)


@given(st.lists(samples, max_size=4))
def test_merging_any_number_is_counting_all_samples(parts: list[list[int]]) -> None:
    whole = Histogram.merged(Histogram.of_values(part) for part in parts)
    assert whole.bins() == Histogram.of_values(flat(parts)).bins()


@given(samples)
def test_bins_in_any_order_are_the_same_histogram(latencies: list[int]) -> None:
    flat = [n for value in latencies for n in (bucket_index(value), 1)]
    assert Histogram.of(flat).bins() == Histogram.of_values(latencies).bins()


@given(samples)
def test_the_mean_is_within_half_a_percent(latencies: list[int]) -> None:
    exact = sum(latencies) / len(latencies)
    assert Histogram.of_values(latencies).mean_ns() == pytest.approx(exact, rel=0.005)


def test_ten_samples_beyond() -> None:
    thousand = Histogram.of([100, 1000])
    assert thousand.beyond(99.0) == 10
    assert thousand.beyond(99.9) == 1
    assert bucket_middle(100) == 100


@pytest.mark.parametrize(
    "bins", [[1], [-1, 5], [5, -1], [bucket_count(), 1], [1, 2, 3]]
)
def test_bins_that_make_no_sense_are_refused(bins: list[int]) -> None:
    with pytest.raises(ValueError):
        Histogram.of(bins)


def test_nothing_has_no_percentile_and_no_second_resolution() -> None:
    with pytest.raises(ValueError, match="no latency"):
        Histogram.of([]).percentile_ns(50)
    with pytest.raises(ValueError, match="resolution"):
        Histogram.of([1, 1]) + Histogram.of([1, 1], bits=6)


@pytest.mark.parametrize("bits", [1, 7, 9])
def test_all_ranges_at_once_are_the_single_ones(bits: int) -> None:
    lower, width = bucket_ranges(bucket_count(bits), bits)
    whole = zip(lower.tolist(), width.tolist(), strict=True)
    found = [(low, low + wide) for low, wide in whole]
    assert found == [bucket_range(i, bits) for i in range(bucket_count(bits))]
    middles = [bucket_middle(i, bits) for i in range(bucket_count(bits))]
    assert bucket_middles(bits).tolist() == middles


def test_pairs_are_made_when_they_are_read() -> None:
    made = Histogram.of_values([1, 1, 3])
    bins = made.bins()
    counts = Counts.model_construct(ios=3, bins=bins)
    assert Histogram.of(bins) is made
    assert len(bins) == 4
    assert "flat" not in vars(bins)
    assert Counts.model_validate_json(counts.model_dump_json()) == counts
    assert (bins, bins[1], bins[::2]) == ((1, 2, 3, 1), 2, (1, 3))
    assert pickle.loads(pickle.dumps(counts)) == counts
