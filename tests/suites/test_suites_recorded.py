"""The suites of recorded loads: their figures follow from those of their sources."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest
from suite_rows import PLANS, plan_of

from ioplan.planner import Run, unfold
from ioplan.workload import Stream


def streams(suite: str, test: str, profile: str = "full") -> dict[str, Stream]:
    """Of the last run of a test that begins so."""
    steps = unfold(plan_of(PLANS[suite], profile))
    runs = [s for s in steps if isinstance(s, Run) and s.test.title.startswith(test)]
    return {one.name: one for one in runs[-1].workload.streams}


LAYERS, PIECE = 32, 512 * 8 * 128 * 2 * 2
"""Of Llama 3.1 8B: layers; tokens, heads, values, K and V, bytes."""
FOUND, ADDED = 105_709 / 12_031, 182_791 / 12_031
"""Blocks of a request in Mooncake's conversation trace."""


def test_the_cache_moves_what_requests_find_and_add() -> None:
    asked = streams("ai/kv_cache", "K4")
    loads, saves = asked["loads"], asked["saves"]
    assert loads.rate and saves.rate
    assert loads.sizes_bytes == saves.sizes_bytes == {PIECE} == {2 << 20}
    assert loads.rate.iops == pytest.approx(FOUND * LAYERS, rel=0.002)
    assert saves.rate.iops == pytest.approx(ADDED * LAYERS, rel=0.002)
    together = FOUND * LAYERS
    assert loads.rate.gap_variation == pytest.approx(sqrt(2 * together - 1), rel=0.01)
    mixed = plan_of(PLANS["ai/kv_cache"]).tests[2].axes[0].values
    shares = [value.text for row in mixed for value in row]
    assert shares == [f"{100 * x:.0f}%" for x in (FOUND / (FOUND + ADDED), 2.95 / 3.95)]


def test_loads_that_come_together_vary_so() -> None:
    """Requests of Poisson's, each with as many loads as the last, or another number."""
    rng, count = np.random.default_rng(1), 200_000
    for sizes in (np.full(count, 9), 1 + rng.poisson(8, count)):
        at = np.repeat(np.cumsum(rng.exponential(1, count)), sizes)
        gaps = np.diff(at)
        assert gaps.std() / gaps.mean() == pytest.approx(sqrt(2 * 9 - 1), rel=0.02)


FILES = {
    "N1": (146_600_628, 4, 1 << 20),
    "N2": (1251 * 114_660, 8, 256 << 10),
    "N3": (2_828_486, 4, 256 << 10),
}
"""Of each training: bytes of a file, readers, and bytes of an I/O."""


@pytest.mark.parametrize("test", FILES)
def test_a_reader_goes_on_for_as_long_as_a_file(test: str) -> None:
    file_bytes, readers, io_bytes = FILES[test]
    (one,) = streams("ai/loader", test).values()
    assert one.threads == readers and one.sizes_bytes == {io_bytes}
    assert 100 / one.random_percent == pytest.approx(file_bytes / io_bytes, rel=0.03)


def test_resnet50_is_read_as_fast_as_it_trains() -> None:
    (one,) = streams("ai/loader", "N4").values()
    assert one.rate and one.rate.bytes_per_s == pytest.approx(
        400 * 114_660 / 0.224, rel=0.01
    )


@pytest.mark.parametrize("profile", ["full", "short", "smoke"])
def test_each_process_flushes_its_file_once_at_its_end(profile: str) -> None:
    (one,) = streams("ai/checkpoint", "M1", profile).values()
    assert one.sync_every and one.threads == 8
    (size,) = one.sizes_bytes
    assert one.sync_every * one.threads * size == one.region.end_bytes


@pytest.mark.parametrize(
    ("suite", "test", "stream", "iops", "variation", "mean_bytes"),
    [
        ("app/oltp", "O1", "data", 3345, 1.07, 8300),
        ("app/oltp", "O1", "log", 1100, 1.0, 18_125),
        ("app/web", "S1", "main", 413, 1.33, 15_420),
    ],
)
def test_what_was_recorded(
    suite: str, test: str, stream: str, iops: float, variation: float, mean_bytes: float
) -> None:
    """Rate and variation; the mean size within 10 %, as sizes are round ones."""
    one = streams(suite, test)[stream]
    assert one.rate and one.rate.iops == iops
    assert one.rate.gap_variation == variation
    reads = one.read_percent / 100
    mean = sum(s.size_bytes * s.percent * reads for s in one.read_sizes) / 100
    mean += sum(s.size_bytes * s.percent * (1 - reads) for s in one.write_sizes) / 100
    assert mean == pytest.approx(mean_bytes, rel=0.1)
