"""Where I/Os fell: region, alignment, distribution, and order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import erf, log, sqrt

import numpy as np
import numpy.typing as npt

from ioplan.language import size_text
from ioplan.workload import Distribution, Hotspots, Normal, Pareto, Zipf
from ioplan_witness.log import Entries
from ioplan_witness.sighting import FLUSH, WRITE, Clause, StreamSighting

# How far what was seen may be from what was asked: four small tests.
#
# Each returns how many standard deviations it is off, or its like; beyond `SIGMAS` it
# is no accident, once in a million.

SIGMAS = 5.0
LEAST_EXPECTED = 5.0
"""In a class of a chi-square test."""

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


def share_sigmas(count: int, total: int, share: float, slack: float = 0) -> float:
    """Sigmas of a binomial share; `slack` may be missing at either end of a run."""
    off = max(0.0, abs(count - total * share) - slack)
    spread = sqrt(total * share * (1 - share))
    if spread == 0:
        return 0.0 if count == total * share else np.inf
    return off / spread


def chi_square_sigmas(counts: Ints, shares: Floats) -> float:
    """Sigmas of counts in classes against their shares; Wilson's and Hilferty's form.

    Neighbours with too few expected are one class. Too even is no fault.
    """
    expected = shares / shares.sum() * counts.sum()
    classes = _classes(expected)
    seen = np.bincount(classes, counts)
    wanted = np.bincount(classes, expected)
    if np.any(seen[wanted == 0]):
        return np.inf
    some = wanted > 0
    free = int(some.sum()) - 1
    if free < 1:
        return 0.0
    square = float(((seen - wanted)[some] ** 2 / wanted[some]).sum())
    spread = 2 / (9 * free)
    return float(((square / free) ** (1 / 3) - (1 - spread)) / sqrt(spread))


def _classes(expected: Floats) -> Ints:
    """The class of each place; the last has what is left."""
    whole = np.floor(np.cumsum(expected) / LEAST_EXPECTED - 1e-9).astype(np.int64)
    last = max(0, int(expected.sum() / LEAST_EXPECTED) - 1)
    _, classes = np.unique(np.minimum(whole, last), return_inverse=True)
    return np.asarray(classes, dtype=np.int64)


def gamma_below(gap_variation: float) -> Callable[[Floats], Floats]:
    """What share of gamma variates of mean 1 is below some values: of a million."""
    shape = gap_variation**-2
    drawn = np.sort(np.random.default_rng(0).gamma(shape, 1 / shape, 1_000_000))
    return lambda values: np.searchsorted(drawn, values) / len(drawn)


def ks_distance(
    values: Floats, below: Callable[[Floats], Floats], least: float = 0.0
) -> float:
    """Kolmogorov's and Smirnov's, times the root of the count; 0 without values.

    Below `least` nothing is compared but how many there are.
    """
    ordered, count = np.sort(values), len(values)
    steps = np.arange(count + 1) / max(1, count)
    share, known = below(ordered), ordered >= least
    off = np.maximum(steps[1:] - share, share - steps[:-1])[known]
    return float(off.max(initial=0.0)) * sqrt(count)


CLASSES = 64
LEAST_IOS = 200
"""With fewer, nothing is said of a distribution."""
DRAWN_SAMPLES = 60
CROWDING_SLACK = 0.05
"""How far zipf's or pareto's crowding may be off, beside chance: tools round it."""
SEQUENTIAL_SHARE = 0.9
"""So many of sequential I/Os begin where one ended; the region wraps."""


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


def offset_clauses(seen: StreamSighting) -> Iterator[Clause]:
    """All that is asked of places."""
    placed = seen.entries[seen.entries["kind"] != FLUSH]
    if not len(placed):
        return
    yield _region(seen, placed)
    yield _alignment(seen, placed)
    if seen.stream.pattern == "sequential" or seen.stream.goes_on:
        yield _order(seen, placed)
    else:
        yield _random_order(seen, placed)
        yield _distribution(seen, placed)


def _region(seen: StreamSighting, placed: Entries) -> Clause:
    start, end = seen.stream.region_start_bytes, seen.stream.region_end_bytes
    low = int(placed["offset"].min())
    high = int((placed["offset"] + placed["size"]).max())
    shown = f"{size_text(low)} to {size_text(high)}"
    asked = f"{size_text(start)} to {size_text(end)}"
    return seen.clause("region", asked, "", shown, start <= low and high <= end)


def _alignment(seen: StreamSighting, placed: Entries) -> Clause:
    """To its own size, unless another is asked; from the start of target or region."""
    align = seen.stream.align_bytes
    steps = np.full(len(placed), align) if align else placed["size"].astype(np.int64)
    if align is None and seen.in_pieces:
        steps = np.full(len(placed), seen.job.block_bytes)
    steps = np.maximum(steps, 1)
    offsets = placed["offset"].astype(np.int64)
    own = (offsets - seen.stream.region_start_bytes) % steps
    mixed = align is None and len(seen.stream.sizes_bytes) > 1
    crooked = int(((offsets % steps != 0) & (own != 0)).sum())
    asked = size_text(align) if align else "own size"
    fits = None if mixed and seen.stream.pattern == "sequential" else not crooked
    return seen.clause("align", asked, "", f"{crooked} not aligned", fits)


def _distribution(seen: StreamSighting, placed: Entries) -> Clause:
    asked = seen.stream.distribution
    if len(placed) < LEAST_IOS:
        note = f"{len(placed)} I/Os are too few"
        return seen.clause("distribution", asked.kind, "", "", None, note)
    if isinstance(asked, Zipf | Pareto):
        return _crowding(seen, placed)
    width = seen.stream.region_bytes
    places = (
        placed["offset"].astype(np.int64) - seen.stream.region_start_bytes
    ) / width
    bins = np.clip(places * CLASSES, 0, CLASSES - 1).astype(np.int64)
    counts = np.bincount(bins, minlength=CLASSES)
    sigmas = chi_square_sigmas(counts, _class_shares(seen, placed))
    shown = f"chi-square off by {max(sigmas, 0):.1f} sigma"
    return seen.clause("distribution", asked.kind, "", shown, sigmas <= SIGMAS)


def _class_shares(seen: StreamSighting, placed: Entries) -> Floats:
    """Where I/Os may begin, by class: blocks at the edge of a class count for one."""
    step = seen.stream.align_bytes or int(np.median(placed["size"]))
    blocks = max(1, seen.stream.region_bytes // max(step, 1))
    bins = np.arange(blocks) * CLASSES // blocks
    shares = popularity(seen.stream.distribution, blocks)
    return np.asarray(np.bincount(bins, shares, CLASSES), dtype=np.float64)


def _crowding(seen: StreamSighting, placed: Entries) -> Clause:
    """How often two I/Os meet in a block: it does not matter which are popular."""
    asked = seen.stream.distribution
    step = seen.stream.align_bytes or int(np.median(placed["size"]))
    blocks = seen.stream.region_bytes // step
    offsets = placed["offset"].astype(np.int64) - seen.stream.region_start_bytes
    found = _meetings(np.bincount(offsets // step, minlength=blocks))
    rng = np.random.default_rng(seen.job.seed)
    shares = popularity(asked, blocks)
    drawn = [
        _meetings(rng.multinomial(len(placed), shares)) for _ in range(DRAWN_SAMPLES)
    ]
    middle, spread = float(np.mean(drawn)), float(np.std(drawn))
    allowed = SIGMAS * spread + CROWDING_SLACK * middle
    shown = f"{found:.3%} of pairs meet"
    text = f"{asked.kind}: {middle:.3%} of pairs meet"
    return seen.clause("distribution", text, "", shown, abs(found - middle) <= allowed)


def _meetings(counts: Ints) -> float:
    """The share of pairs of I/Os that are at the same place."""
    total = int(counts.sum())
    return float((counts * (counts - 1.0)).sum() / max(1, total * (total - 1)))


def _order(seen: StreamSighting, placed: Entries) -> Clause:
    """How many go on where another ended, of each direction that should."""
    stream = seen.stream
    if stream.pattern == "sequential":
        share = _going_on(placed, 4 * seen.outstanding + 4)
        going = share >= SEQUENTIAL_SHARE
        return seen.clause("order", "sequential", "", f"{share:.0%} go on", going)
    texts: list[str] = []
    fine = True
    for kind, direction in ((0, "read"), (WRITE, "write")):
        some = placed[placed["kind"] == kind]
        if len(some) < LEAST_IOS:
            continue
        asked = 1 - stream.drawn_percent("read" if not kind else "write") / 100
        share = _going_on(some, 4 * seen.outstanding + 4)
        off = share_sigmas(round(share * len(some)), len(some), asked, seen.outstanding)
        fine = fine and (off <= SIGMAS or abs(share - asked) < 0.03)
        texts.append(f"{direction} {share:.0%} of {asked:.0%}")
    fits = fine if texts else None
    return seen.clause("order", "partly random", "", ", ".join(texts), fits)


def _random_order(seen: StreamSighting, placed: Entries) -> Clause:
    """Few go on by chance; of a small region more."""
    window = 4 * seen.outstanding + 4
    share = _going_on(placed, window)
    step = max(1, int(np.median(placed["size"])))
    shares = popularity(
        seen.stream.distribution, max(1, seen.stream.region_bytes // step)
    )
    chance = min(1.0, window * float((shares**2).sum()))
    fits = None if chance > 0.3 else share <= 2 * chance + 0.05
    text = f"{share:.1%} go on where one ended"
    return seen.clause("order", "random", "", text, fits)


def _going_on(placed: Entries, window: int) -> float:
    """The share of I/Os that begin where one of the last ones ended.

    I/Os that are outstanding together arrive in any order, so neighbours count too.
    """
    begins = placed["offset"].astype(np.int64).tolist()
    sizes = placed["size"].astype(np.int64).tolist()
    ends = [begin + size for begin, size in zip(begins, sizes, strict=True)]
    found = 0
    places: dict[int, list[int]] = {}
    for number, end in enumerate(ends):
        places.setdefault(end, []).append(number)
    for number, begin in enumerate(begins):
        near = places.get(begin, ())
        found += any(abs(number - one) <= window and one != number for one in near)
    return found / max(1, len(begins))
