"""Gamma arrivals on the simulated drive: their law, and what bursts cost."""

from __future__ import annotations

import numpy as np
import pytest
from sim_drive import SECOND_NS, filled, stream

from ioplan.job import Progress
from ioplan.workload import Rate
from ioplan_sim.load import GammaArrivals
from ioplan_witness import Floats, gamma_below, ks_distance

TIMES = (1.02, 100.3, 7.0, 33.3)
"""In mean gaps, one after the other."""
SEQUENCES, MOST_GAPS = 3000, 2000


def counted(variation: float) -> Floats:
    """How many arrive in the times: a row for each sequence."""
    rng = np.random.default_rng(1)
    sources = [GammaArrivals(variation, rng) for _ in range(SEQUENCES)]
    return np.array([[one.count(time) for time in TIMES] for one in sources])


def drawn(variation: float) -> Floats:
    """The same, of gaps that are drawn one by one."""
    rng, shape = np.random.default_rng(2), variation**-2
    gaps = rng.gamma(shape, 1 / shape, (SEQUENCES, MOST_GAPS))
    at, ends = np.cumsum(gaps, axis=1), np.cumsum(TIMES)
    before = (at[:, :, None] <= ends).sum(axis=1)
    return np.diff(before, axis=1, prepend=0)


@pytest.mark.parametrize("variation", [0.05, 0.5, 1.0, 1.33, 3.0])
@pytest.mark.long
def test_as_many_arrive_as_of_gaps_drawn_one_by_one(variation: float) -> None:
    """In each time, and in all; two samples by Kolmogorov and Smirnov."""
    ours, theirs = counted(variation), drawn(variation)
    for a, b in zip([*ours.T, ours.sum(1)], [*theirs.T, theirs.sum(1)], strict=True):
        edges = np.union1d(a, b)
        shares = [np.searchsorted(np.sort(x), edges, "right") for x in (a, b)]
        off = np.abs(shares[0] - shares[1]).max() / SEQUENCES
        assert off < 2.2 * (2 / SEQUENCES) ** 0.5
    assert np.corrcoef(ours.T) == pytest.approx(np.corrcoef(theirs.T), abs=0.1)


@pytest.mark.parametrize("variation", [0.3, 1.0, 1.33, 3.0])
def test_gaps_have_the_law_that_was_asked(variation: float) -> None:
    """As fine as a hundredth of the mean gap."""
    source = GammaArrivals(variation, np.random.default_rng(3))
    steps = [source.count(0.01) for _ in range(1_000_000)]
    gaps = np.diff(np.repeat(np.arange(len(steps)) / 100, steps))
    assert len(gaps) == pytest.approx(10_000, abs=500 * variation)
    assert gaps.std() / gaps.mean() == pytest.approx(variation, rel=0.06)
    below = gamma_below(variation)
    assert ks_distance(gaps, lambda x: below(x + 0.005), 0.05) < 2.2


@pytest.mark.long
def test_counts_in_a_run_vary_as_the_gaps_do() -> None:
    """In intervals of n I/Os, by the variation times the root of n; 1 is Poisson's."""
    for variation in (0.2, 1.0, 3.0):
        rate = Rate(iops=20_000, arrivals="gamma", gap_variation=variation)
        result, events = filled("datacentre").run(
            stream(qd=256, read_percent=100, rate=rate),
            run_ns=100 * SECOND_NS,
            interval_ns=SECOND_NS // 4,
        )
        ios = [
            sum(c.ios for c in event.streams[0].directions.values())
            for event in events
            if isinstance(event, Progress)
        ]
        assert np.std(ios) / 5000**0.5 == pytest.approx(variation, rel=0.2)
        allowed = 5 * variation * 2_000_000**0.5
        backlog = result.streams[0].backlog_ios
        assert sum(ios) + backlog == pytest.approx(2_000_000, abs=allowed)


def test_bursts_wait_longer_and_even_arrivals_less() -> None:
    """At the same rate; of variation 1, as long as Poisson's."""
    found = []
    for rate in (
        Rate(iops=250_000, arrivals="gamma", gap_variation=0.2),
        Rate(iops=250_000, arrivals="poisson"),
        Rate(iops=250_000, arrivals="gamma"),
        Rate(iops=250_000, arrivals="gamma", gap_variation=4),
    ):
        asked = stream(qd=256, read_percent=100, rate=rate)
        found.append(filled("datacentre").latency_ns(asked))
    even, poisson, one, bursts = found
    assert one == pytest.approx(poisson, rel=0.02)
    assert even < poisson * 0.995 and bursts > poisson * 1.05
