"""Demand intensity: a table of threads by queue depth, and histograms at its points."""

from __future__ import annotations

from statistics import fmean

from msgspec import Struct

from ioplan.core.text import counted
from ioplan.core.units import time_text
from ioplan.records.record import RunRecord
from ioplan.results.report.conformance.general import SHORT, held, several, times
from ioplan.results.report.conformance.tested import Finding, Tested, load, stream_of

LOADS = (32, 16, 8, 6, 4, 2, 1)
MOST_MEAN_NS = 5_000_000
PRESSING_S, SETTLING_S, HISTOGRAM_S = 300.0, 3600.0, 600.0
Load = tuple[int, int]


def all_loads(tested: Tested) -> Finding:
    """Seven thread counts by seven queue depths, from high to low, in each round."""
    wanted = [(threads, qd) for threads in LOADS for qd in LOADS]
    rounds: dict[int, list[Load]] = {}
    for run in tested.rounds:
        rounds.setdefault(run.asked.round, []).append(load(run))
    done = [order for order in rounds.values() if order == wanted]
    text = f"{max(len(set(order)) for order in rounds.values())} of 49 loads a round"
    why = (
        "threads 32, 16, 8, 6, 4, 2, 1 by the same queue depths are asked for, in order"
    )
    return held(len(done) == len(rounds) and 0 not in rounds, text, why)


def pressed(tested: Tested) -> Finding:
    """Five minutes of the highest load, writing, before each round."""
    rounds = {run.asked.round for run in tested.rounds}
    found = [r for r in tested.prepared if load(r) == (32, 32) and _writes_only(r)]
    long = [r for r in found if r.run_s >= SHORT * PRESSING_S]
    text = f"{times(found)}; {counted(len(rounds), 'round')}"
    why = f"{time_text(PRESSING_S)} at threads 32, queue depth 32 before each round"
    return held(len(long) >= len(rounds), text, why)


def _writes_only(record: RunRecord) -> bool:
    return stream_of(record).read_percent == 0


class Points(Struct, frozen=True):
    """The loads of the highest, the middle and the lowest IOPS of the table."""

    highest: Load
    middle: Load
    lowest: Load = (1, 1)


def points(tested: Tested) -> Points | None:
    """By the means over the window, below the limit of the mean latency.

    The middle is what is nearest to the mean of the highest and the lowest. None where
    no load is below the limit.
    """
    iops = {at: _iops(of) for at, of in _by_load(tested).items() if _mean_ns(of)}
    means = {at: _mean_ns(of) for at, of in _by_load(tested).items()}
    below = {at: n for at, n in iops.items() if 0 < means[at] < MOST_MEAN_NS}
    if not below:
        return None
    highest = max(below, key=lambda at: below[at])
    halfway = (below[highest] + min(below.values())) / 2
    return Points(highest, min(below, key=lambda at: abs(below[at] - halfway)))


def _by_load(tested: Tested) -> dict[Load, list[RunRecord]]:
    found: dict[Load, list[RunRecord]] = {}
    for run in tested.figures():
        found.setdefault(load(run), []).append(run)
    return found


def _iops(runs: list[RunRecord]) -> float:
    return fmean(run.total.iops for run in runs)


def _mean_ns(runs: list[RunRecord]) -> float:
    means = [run.total.latency.mean_ns for run in runs if run.total.latency]
    return fmean(means) if means else 0.0


def at_points(tested: Tested) -> Finding:
    """Ten minutes at each point, with a histogram."""
    wanted = points(tested)
    runs = [r for r in tested.after if r.run_s >= SHORT * HISTOGRAM_S]
    done = {load(run) for run in runs}
    text = several(_text(at) for at in sorted(done, reverse=True)) or "none of 10 min"
    if wanted is None:
        return Finding("deviates", text, "no load of the table has a mean below 5 ms")
    asked = (wanted.highest, wanted.middle, wanted.lowest)
    said = " ".join(
        f"--set {name}_threads={threads} --set {name}_qd={qd}"
        for name, (threads, qd) in zip(("high", "middle", "low"), asked, strict=True)
    )
    why = (
        f"the table's points are {several(map(_text, asked))}; measure them by "
        f"--test '*histograms' {said}, and report both sessions"
    )
    return held(set(asked) <= done, text, why)


def _text(at: Load) -> str:
    return f"threads {at[0]} by queue depth {at[1]}"


def settled(tested: Tested) -> Finding:
    """An hour of writes with its load before each histogram."""
    found = tested.prepared_after
    long = [r for r in found if r.run_s >= SHORT * SETTLING_S and _writes_only(r)]
    why = f"{time_text(SETTLING_S)} of writes before each of three histograms"
    return held(len(long) >= 3, times(long or found), why)
