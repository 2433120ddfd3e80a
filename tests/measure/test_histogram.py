"""Histograms: error, order, addition."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from figures import flat
from hypothesis import given
from hypothesis import strategies as st

from ioplan.records import PERCENTILES
from ioplan.results.measure import Histogram, bucket_index, bucket_range

LAST = 2**64 - 1
BUCKETS = bucket_index(LAST) + 1

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
    assert index <= bucket_index(LAST, bits)
    assert upper - lower <= max(1, lower / 2**bits)


def test_buckets_leave_no_gap() -> None:
    edges = [bucket_range(index) for index in range(BUCKETS)]
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


@pytest.mark.parametrize("bins", [[1], [-1, 5], [5, -1], [BUCKETS, 1], [1, 2, 3]])
def test_bins_that_make_no_sense_are_refused(bins: list[int]) -> None:
    with pytest.raises(ValueError):
        Histogram.of(bins)


def test_nothing_has_no_percentile_and_no_second_resolution() -> None:
    with pytest.raises(ValueError, match="no latency"):
        Histogram.of([]).percentile_ns(50)
    with pytest.raises(ValueError, match="resolution"):
        Histogram.of([1, 1]) + Histogram.of([1, 1], bits=6)
