"""Sessions of figures of known noise, for the tests of `compare`."""

from math import log1p, sqrt

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from ioplan.language import Metric
from ioplan.records.setup import Setup
from ioplan.results.compare.decision import (
    MetricPair,
    MetricSide,
    MetricTable,
    decide,
)
from ioplan.results.compare.noise import Group, estimate_noise

Floats = npt.NDArray[np.float64]
METRICS = (Metric(name="iops"), Metric(name="mean"), Metric(name="p99"))
DRIFT = 0.8
"""How much of a session's deviation the next one has."""
TAILS = 3.0
"""Degrees of freedom of Student's t: the fewest with a variance."""


class World(Struct, frozen=True):
    """How the same drive scatters; deviations are relative, of one session's figure.

    `shared` is that part of the sessions' variance that all cells have in common.
    """

    kind: str = "independent"
    cells: int = 20
    runs: int = 3
    run: float = 0.002
    session: float = 0.02
    shared: float = 0.0
    uneven: float = 1.0
    metrics: int = 3

    def drawn(self, rng, sessions, columns):
        """Noise of deviation 1, a row for each session in their order."""
        shape = sessions, columns
        if self.kind == "heavy-tailed":
            drawn = rng.standard_t(TAILS, shape) / sqrt(TAILS / (TAILS - 2))
            return drawn
        fresh = rng.normal(size=shape)
        if self.kind == "drifting":
            for at in range(1, sessions):
                fresh[at] = DRIFT * fresh[at - 1] + sqrt(1 - DRIFT**2) * fresh[at]
        return fresh

    def sessions(self, rng, count):
        """As many sessions, one after the other."""
        common = self.drawn(rng, count, 1) * sqrt(self.shared)
        scale = self.uneven ** np.linspace(-0.5, 0.5, self.cells)
        own = self.drawn(rng, count, self.cells) * sqrt(1 - self.shared) * scale
        levels = 9 + self.session * (common + own)
        runs = self.run * rng.normal(size=(count, self.cells, self.runs))
        return [
            {
                cell: tuple(map(float, level[cell] + some[cell]))
                for cell in range(self.cells)
            }
            for level, some in zip(levels, runs, strict=True)
        ]


def setup_on(drive):
    """A setup that differs from others by the drive alone."""
    return Setup(drive, "m", (0, 0), ("sim", "sim"), "", (), simulated=True)


class Design(Struct, frozen=True):
    """Sessions a side in their order, after so many that the store has already."""

    order: str = "ABABAB"
    earlier: int = 0

    @property
    def units(self):
        """Stretches of each side."""
        starts = [
            s
            for s, last in zip(self.order, f" {self.order}", strict=False)
            if s != last
        ]
        return starts.count("A"), starts.count("B")


def alternating(each, earlier=0):
    """A B A B."""
    return Design("AB" * each, earlier)


def tables(world, design, rng, change):
    """What a comparison is judged by; `change` is by cell, 0.05 for 5 % more."""
    for metric in METRICS[: world.metrics]:
        found = world.sessions(rng, design.earlier + len(design.order))
        before, asked = found[: design.earlier], found[design.earlier :]
        sides = {
            name: [
                one for one, at in zip(asked, design.order, strict=True) if at == name
            ]
            for name in "AB"
        }
        sides["B"] = [
            {
                k: tuple(v + log1p(change.get(k, 0.0)) for v in logs)
                for k, logs in one.items()
            }
            for one in sides["B"]
        ]
        groups = [Group(setup_on("x"), sides[name], is_compared=True) for name in "AB"]
        groups += [Group(setup_on("x"), before)] if before else []
        pairs = [
            MetricPair(
                *(
                    MetricSide(cell, tuple(one[cell] for one in sides[name]), units)
                    for name, units in zip("AB", design.units, strict=True)
                )
            )
            for cell in range(world.cells)
        ]
        yield MetricTable(
            metric, tuple(pairs), estimate_noise(groups, range(world.cells))
        )


def judged(world, design, seed, change=None, threshold=0.02):
    """One comparison of synthetic sessions, by the real judge."""
    rng = np.random.default_rng(seed)
    return decide(list(tables(world, design, rng, change or {})), threshold)


def alarms(found):
    """Whether any cell, or all of them, are different."""
    return any(
        decision.outcome == "different"
        for metric in found
        for decision in filter(None, (*metric.cells, metric.common))
    )
