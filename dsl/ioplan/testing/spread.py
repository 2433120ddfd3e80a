"""Where random writes fell, by how many blocks they have changed."""

from __future__ import annotations

from math import erf, log, sqrt

import numpy as np
import numpy.typing as npt

from ioplan.testing.content import changed
from ioplan.testing.jobs import BLOCK_BYTES
from ioplan.workload import Distribution, Hotspots, Normal, Pareto, Zipf

Floats = npt.NDArray[np.float64]
SPREAD_SIGMAS, PARTS = 6.0, 10


def popularity(distribution: Distribution, blocks: int) -> Floats:
    """The probability of each block; of Zipf and Pareto the most popular first."""
    edges = np.arange(blocks + 1) / blocks
    match distribution:
        case Zipf(theta=theta):
            weights = np.arange(1, blocks + 1) ** -theta
            return np.asarray(weights / weights.sum(), dtype=np.float64)
        case Pareto(h=h):
            below = edges ** (log(1 - h) / log(h))
        case Normal(deviation_percent=deviation):
            scale = deviation / 100 * sqrt(2)
            below = np.array([0.5 + erf((x - 0.5) / scale) / 2 for x in edges])
        case Hotspots(spots=spots):
            space = np.cumsum([0.0, *(spot.space_percent / 100 for spot in spots)])
            ios = np.cumsum([0.0, *(spot.io_percent / 100 for spot in spots)])
            below = np.interp(edges, space, ios)
        case _:
            below = edges
    return np.asarray(np.diff(below), dtype=np.float64)


def check_spread(
    distribution: Distribution, before: bytes, after: bytes, draws: int
) -> None:
    """As many blocks have changed as so many draws change.

    A block of probability p is hit with 1 - (1 - p)^n. Where the popular blocks
    are is checked for those distributions that say it.
    """
    flags = changed(before, after, BLOCK_BYTES).astype(np.float64)
    hit = 1 - (1 - popularity(distribution, len(flags))) ** draws
    parts = 1 if isinstance(distribution, Zipf | Pareto) else PARTS
    pairs = zip(np.array_split(flags, parts), np.array_split(hit, parts), strict=True)
    for place, (found, expected) in enumerate(pairs):
        allowed = SPREAD_SIGMAS * sqrt(float((expected * (1 - expected)).sum())) + 2
        assert abs(found.sum() - expected.sum()) <= allowed, (
            f"{distribution.kind}: in part {place + 1} of {parts}, {draws} writes have "
            f"changed {found.sum():.0f} blocks, but {expected.sum():.0f} were to be "
            f"expected, give or take {allowed:.0f}"
        )
