"""`ioplan model`: a recorded trace as a plan that can be published."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from msgspec import Struct

from ioplan.cli import (
    HELD,
    STDOUT,
    left_out,
    opened,
    prepared_trace,
    print_line,
    print_message,
    trace_faults,
)
from ioplan.core import counted
from ioplan.results.measure import changes
from ioplan.trace import FLUSH, READ, Prepared, TraceError, source_of
from ioplan_importer.trace_model.clauses import outline
from ioplan_importer.trace_model.fit import (
    BINS,
    CELLS,
    PARTS,
    PLACE_PARTS,
    Fit,
    Phase,
    fit,
    gaps_below,
    phases,
)
from ioplan_importer.trace_model.simulated import measured_lines, part_of
from ioplan_importer.writer import plan_text

# How far a model is from its trace: Kolmogorov and Smirnov's distance.
#
# It is the largest difference of the two distribution functions, over the whole
# trace: 0 where they are equal, 1 where they have nothing in common.


class Distance(Struct, frozen=True):
    """Distances of the sizes of both directions, of the times between arrivals, and
    of the places of what is not sequential."""

    sizes: float
    gaps: float
    places: float


def distance(phases: Sequence[Phase], fits: Sequence[Fit]) -> Distance:
    """Between what was counted and what the clauses say, weighted by I/Os."""
    return Distance(
        max(_sizes(phases, fits, direction) for direction in (0, 1)),
        _largest(_sum([p.gaps for p in phases]), _gaps(phases, fits)),
        _largest(_sum([p.cells for p in phases]), _places(phases, fits)),
    )


def _sizes(phases: Sequence[Phase], fits: Sequence[Fit], direction: int) -> float:
    counted: Counter[int] = Counter()
    said: Counter[int] = Counter()
    for phase, one in zip(phases, fits, strict=True):
        found = phase.sizes[direction]
        counted.update(found)
        for size, share in one.sizes[direction].items():
            said[size] += share * found.total() / PARTS  # type: ignore[assignment]
    sizes = sorted(counted | said)
    return _largest(
        np.array([counted[size] for size in sizes], float),
        np.cumsum([said[size] for size in sizes]),
    )


def _gaps(phases: Sequence[Phase], fits: Sequence[Fit]) -> np.ndarray:
    """Times between arrivals that are below the end of each bin, of the model."""
    below = np.zeros(BINS)
    for phase, one in zip(phases, fits, strict=True):
        below += phase.gaps.sum() * gaps_below(one.iops, one.variation)
    return below


def _places(phases: Sequence[Phase], fits: Sequence[Fit]) -> np.ndarray:
    """Random I/Os that are below the end of each cell, of the model."""
    below = np.zeros(CELLS)
    for phase, one in zip(phases, fits, strict=True):
        at = [0, *accumulate(width for _, width in one.places)]
        share = [0, *accumulate(count / PLACE_PARTS for count, _ in one.places)]
        if one.places:
            ends = np.interp(np.arange(1, CELLS + 1), at, share)
            below += phase.cells.sum() * ends
    return below


def _sum(counts: list[np.ndarray]) -> np.ndarray:
    total: np.ndarray = np.sum(counts, axis=0)
    return total


def _largest(counts: np.ndarray, below: np.ndarray) -> float:
    """Difference of what was counted by bin, and what the model has up to its end."""
    total = float(np.sum(counts))
    if not total:
        return 0.0
    return float(np.abs(np.cumsum(counts) - below).max() / total)


# Where the load of a trace changes: its rate, or its share of reads.

WINDOWS = 120
LEAST_IOS = 20
"""The fewest I/Os of a window in the mean; with fewer, chance looks like a change."""
LEAST_WINDOWS = 3
"""The fewest windows of a phase: a shorter one is part of its neighbour."""


def phase_edges(trace: Prepared) -> list[int]:
    """Times in ns, 0 to behind the last I/O, between which the load stays alike."""
    span_ns = trace.header.span_ns + 1
    count = max(1, min(WINDOWS, trace.header.count // LEAST_IOS, span_ns))
    edges = [span_ns * number // count for number in range(count + 1)]
    ios, reads = _counts(trace, edges)
    shares = reads / np.maximum(ios, 1)
    cuts = {*changes(ios.tolist()), *changes(shares.tolist())}
    return [0, *(edges[at] for at in _apart(sorted(cuts), count)), span_ns]


def _counts(trace: Prepared, edges: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """By window: I/Os with data, and the reads among them."""
    found = np.zeros((2, len(edges) - 1))
    for _, ios in trace.chunks():
        data = ios[ios["kind"] != FLUSH]
        window = np.searchsorted(np.array(edges, "u8"), data["time_ns"], "right") - 1
        for row, chosen in enumerate((window, window[data["kind"] == READ])):
            found[row] += np.bincount(chosen, minlength=found.shape[1])
    return found[0], found[1]


def _apart(cuts: Sequence[int], count: int) -> Iterator[int]:
    """One cut for those that are close together, which are of one change."""
    near: list[int] = []
    for at in (*cuts, count + LEAST_WINDOWS):
        if near and at - near[-1] >= LEAST_WINDOWS:
            middle = near[len(near) // 2]
            if LEAST_WINDOWS <= middle <= count - LEAST_WINDOWS:
                yield middle
            near = []
        near.append(at)


Measure = Callable[[Prepared, str], Iterable[str]]
"""More comments for a model, from its trace and its text."""


def model(
    *,
    path: Path,
    output: Path | None,
    volume: str | None,
    not_simulated: bool,
    force: bool,
) -> int:
    """Write the plan of a trace; returns 0."""
    with trace_faults(path):
        measure = _nothing if not_simulated else _simulated
        text, ios = model_of(path, volume, measure)
    with opened(output, force) as out:
        out.write(text.encode())
    if output and output != STDOUT:
        print_line(f"{output}: a model of {counted(ios, 'I/O')}")
    return HELD


def _nothing(_: Prepared, __: str) -> Iterable[str]:
    return ()


def _simulated(trace: Prepared, text: str) -> Iterator[str]:
    """Of a long trace, its first part and a model of that. Prints what it finds."""
    print_message("running both on a simulated drive (--not-simulated leaves it out)")
    with TemporaryDirectory() as folder:
        part = part_of(trace, Path(folder))
        if part is not trace:
            text = model_text("the first part", part)
        for line in measured_lines(part, text, trace.header.count):
            print_message(line)
            yield line


def model_of(
    path: Path, volume: str | None = None, measure: Measure = _nothing
) -> tuple[str, int]:
    """The plan of a trace, and the number of its I/Os. Raises TraceError, OSError."""
    with TemporaryDirectory() as folder:
        trace, found = prepared_trace(path, Path(folder), volume)
        said = (*_head(source_of(path).name, trace), *left_out(found))
        return model_text(path.name, trace, said, measure), trace.header.count


def model_text(
    name: str,
    trace: Prepared,
    said: tuple[str, ...] = (),
    measure: Measure = _nothing,
) -> str:
    """The plan; `said` are comments for its head. Raises TraceError without a rate."""
    if not trace.header.span_ns:
        raise TraceError("all its I/Os have one time: there is no rate to model")
    counts = phases(trace, phase_edges(trace))
    if not counts:
        raise TraceError("only flushes in it: there is no load to model")
    fits = [fit(one) for one in counts]
    comments = (*said, *_limits(counts, fits), *_distance(counts, fits))
    made = outline(name, fits, trace.header.end_bytes)
    text = plan_text(made, name, comments)
    more = tuple(measure(trace, text))
    return plan_text(made, name, (*comments, *more)) if more else text


def _head(format_name: str, trace: Prepared) -> Iterator[str]:
    yield f"A model of {counted(trace.header.count, 'I/O')} ({format_name})."


def _limits(counts: list[Phase], fits: list[Fit]) -> Iterator[str]:
    """What a plan cannot say, as far as it occurs."""
    yield "What it does not have:"
    yield "- which I/O waited for which: gaps are independent of each other"
    yield "- which places are used again, or read after they were written"
    if rare := sum(map(_rare, counts, fits)):
        yield f"- {counted(rare, 'I/O')} of rarer sizes, which have the nearest other"


def _rare(phase: Phase, one: Fit) -> int:
    """I/Os of sizes that the model does not have."""
    return sum(
        count
        for found, kept in zip(phase.sizes, one.sizes, strict=True)
        for size, count in found.items()
        if size not in kept
    )


def _distance(counts: list[Phase], fits: list[Fit]) -> Iterator[str]:
    found = distance(counts, fits)
    yield (
        "Distance from the trace (Kolmogorov-Smirnov, 0 equal, 1 disjoint): "
        f"sizes {found.sizes:.3f}, gaps {found.gaps:.3f}, places {found.places:.3f}"
    )
