"""The knee of known curves, and a fit that knows how sure it is."""

from __future__ import annotations

from collections.abc import Callable
from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ioplan.planner.seek.grid import Bounds, grid
from ioplan.planner.seek.knee import Knee, KneeSearch, Usl, usl
from ioplan.planner.seek.search import most_probes

DEPTHS = Bounds(1.0, 512.0, 0.0, 1.0)


def run(throughput: Callable[[float], float], bounds: Bounds = DEPTHS) -> Knee:
    search = KneeSearch(bounds)
    while probe := search.next_probe():
        search.answer(throughput(probe.value))
    return search.finding()


@given(st.integers(1, 700), st.floats(0, 0.001), st.integers(2, 40))
def test_the_smallest_depth_that_reaches_the_share(
    saturated: int, fall: float, at_most: int
) -> None:
    def throughput(depth: float) -> float:
        return min(depth, saturated) * (1 - fall * depth)

    found = run(throughput).finding
    highest = max(throughput(p.probe.value) for p in found.probes)
    wanted = next(d for d in grid(DEPTHS) if throughput(d) >= 0.95 * highest)
    assert (found.value, found.upper, found.confirmed) == (wanted, wanted, True)
    assert found.lower == (wanted - 1 if wanted > 1 else None)
    assert len(found.probes) <= most_probes(DEPTHS)
    few = run(throughput, Bounds(1.0, 512.0, 0.0, 1.0, at_most=at_most)).finding
    assert len(few.probes) <= at_most


def test_where_nothing_completes_there_is_no_knee() -> None:
    found = run(lambda depth: 0.0).finding
    assert (found.value, found.confirmed) == (None, False)
    assert {one.answer for one in found.probes} == {"no"}
    assert {one.probe.phase for one in found.probes} == {"bracket"}


def test_a_fall_beyond_the_knee_is_told() -> None:
    assert run(lambda depth: min(depth, 32)).finding.monotone
    assert not run(lambda depth: min(depth, 32, 2_000 / depth)).finding.monotone


def test_a_long_run_that_falls_short_moves_it_up() -> None:
    search, phases = KneeSearch(DEPTHS), []
    while probe := search.next_probe():
        phases.append(probe.phase)
        short = probe.phase == "confirm" and probe.value <= 96
        search.answer(min(probe.value, 100) * (0.9 if short else 1))
    found = search.finding().finding
    assert (found.value, found.lower, found.confirmed) == (97, 96, True)
    assert phases[-3:] == ["confirm"] * 3


def law(depth: float, beta: float = 0.0004) -> float:
    return 1000 * depth / (1 + 0.02 * (depth - 1) + beta * depth * (depth - 1))


def test_the_law_is_found_again() -> None:
    known = {float(2**k): law(2**k) for k in range(9)}
    found = usl(known)
    assert found
    assert (found.gamma, found.alpha, found.beta) == pytest.approx((1000, 0.02, 4e-4))
    assert found.peak == pytest.approx((0.98 / 4e-4) ** 0.5)
    flat = usl({depth: law(depth, 0.0) for depth in known})
    assert flat and flat.peak > 1e4
    assert usl(dict(list(known.items())[:4])) is None


@pytest.mark.long
def test_the_interval_of_the_peak_holds_it() -> None:
    rng, held = np.random.default_rng(1), 0
    for _ in range(40):
        noise = np.exp(rng.normal(0, 0.03, 9))
        found = usl({2.0**k: law(2**k) * float(noise[k]) for k in range(9)})
        assert isinstance(found, Usl)
        assert found.peak_low <= found.peak <= found.peak_high < inf
        held += found.peak_low <= (0.98 / 4e-4) ** 0.5 <= found.peak_high
    assert held >= 34
