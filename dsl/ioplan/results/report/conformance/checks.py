"""What tells whether a clause of the specification was met.

Each check takes what was tested, and the arguments that its clauses have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import product
from statistics import fmean

from ioplan.core.grouping import grouped
from ioplan.core.text import counted
from ioplan.core.units import bytes_text, digits, time_text
from ioplan.language.quantity import QuantityError, parse_quantity, size_text
from ioplan.planner.budget import SHORTENED
from ioplan.records.record import RunRecord
from ioplan.results.measure.steady_state import TOLERANCE
from ioplan.results.report.conformance.tested import (
    ORDER,
    Finding,
    Tested,
    access,
    load,
    size_bytes,
    stream_of,
)
from ioplan.workload import Hotspots

Check = Callable[..., Finding]
Access = tuple[str, int, float]
Load = tuple[int, int]
KIB, MIB = 1 << 10, 1 << 20
MINUTE_S, HOUR_S = 60.0, 3600.0
SHORT = 0.99
"""A run may lose so much of its time to its start."""


def met(is_met: bool, what: str, why: str = "") -> Finding:
    """Done, or a deviation with its reason."""
    return Finding("done", what) if is_met else Finding("deviates", what, why)


def each_part(check: Check) -> Check:
    """The worst outcome of the parts, and what was done in each."""

    def checked(tested: Tested, *arguments: str) -> Finding:
        parts = [check(tested, title, *arguments) for title in tested.parts]
        worst = min((part.outcome for part in parts), key=ORDER.index)
        what = "; ".join(dict.fromkeys(part.what for part in parts))
        return Finding(worst, what, reasons(*(part.why for part in parts)))

    return checked


def reasons(*texts: str) -> str:
    """Each once, without those that are none."""
    return "; ".join(dict.fromkeys(filter(None, texts)))


def several(texts: Iterable[object]) -> str:
    """Each once, a few of them."""
    distinct = list(dict.fromkeys(map(str, texts)))
    more = f" and {len(distinct) - 8} more" if distinct[8:] else ""
    return ", ".join(distinct[:8]) + more


def times(runs: Sequence[RunRecord]) -> str:
    """How often, and how long the shortest one took."""
    if not runs:
        return "none"
    shortest = min(run.run_s for run in runs)
    return f"{counted(len(runs), 'time')}, {time_text(shortest)} at least"


def lasting(runs: Iterable[RunRecord], seconds: float) -> list[RunRecord]:
    """Those that took as long."""
    return [run for run in runs if run.run_s >= SHORT * seconds]


def access_text(access: Access) -> str:
    """`random 4KiB 0/100`."""
    pattern, size, read_percent = access
    return f"{pattern} {size_text(size)} {mix_text(read_percent)}"


def mix_text(read_percent: float) -> str:
    return f"{read_percent:g}/{100 - read_percent:g}"


def load_text(at: Load, between: str = ", ") -> str:
    return f"threads {at[0]}{between}queue depth {at[1]}"


WRITES: Access = ("random", 4 * KIB, 0)
SEQUENTIAL: Access = ("sequential", 128 * KIB, 0)
HIGHEST: Load = (32, 32)


def of_access(runs: Iterable[RunRecord], wanted: Access) -> list[RunRecord]:
    return [run for run in runs if access(run) == wanted]


def same_access(required: Access, runs: Sequence[RunRecord], why: str) -> Finding:
    """Whether all runs have the access that is required."""
    is_met = len(of_access(runs, required)) == len(runs)
    return met(is_met, several(access_text(access(run)) for run in runs), why)


# Before the test: purge and preconditioning.


@each_part
def purged(tested: Tested, title: str) -> Finding:
    if method := tested.purge(title):
        return Finding("done", method)
    states = [e.text for e in tested.events if e.kind == "state"]
    if states:
        return Finding("not recorded", "none in this session", states[-1])
    why = "the target has an unknown history; put `purge` into its precondition"
    return Finding("deviates", "no purge before the test", why)


@each_part
def filled(tested: Tested, title: str) -> Finding:
    """Workload-independent preconditioning (WIPC)."""
    run, fills = tested.parts[title][0], tested.fills(title)
    wipc = of_access(fills, SEQUENTIAL)
    capacity = run.target.get("capacity_bytes", 0)
    low, high = stream_of(run).region.edges_percent(capacity or 1)
    required = 2 * capacity * (high - low) / 100
    written = sum(r.total.bytes for r in wipc)
    if any(stream_of(r).spare_percent for r in fills):
        why = "the specification fills sequentially; what follows must become steady"
        return Finding("deviates", "a shaped pass of random writes", why)
    if fills and not wipc:
        sizes = several(size_text(size_bytes(r)) for r in fills)
        why = "the specification writes sequentially, 128 KiB"
        return Finding("deviates", f"written with {sizes} first", why)
    if not required:
        return Finding("not recorded", "the capacity is not known")
    passes = f"{digits(2 * written / required)} passes of sequential 128 KiB writes"
    why = f"2 passes of what is tested are asked for, {bytes_text(required)}"
    return met(written >= SHORT * required, passes, why)


def not_filled(tested: Tested) -> Finding:
    """No workload-independent preconditioning."""
    every = (r for title in tested.parts for r in tested.fills(title))
    fills = of_access(every, SEQUENTIAL)
    text = bytes_text(sum(r.total.bytes for r in fills)) + " written sequentially first"
    why = "the test begins on a purged drive"
    return met(not fills, text if fills else "none", why)


def separate_fills(tested: Tested) -> Finding:
    """Each block size after its own purge and fill."""
    titles = list(tested.parts)
    prepared = [title for title in titles if tested.purge(title)]
    text = f"{counted(len(titles), 'part')}, {len(prepared)} with a purge of its own"
    is_pure = all(
        len(set(map(size_bytes, runs))) == 1 for runs in tested.parts.values()
    )
    why = "each block size begins with a purge and two passes of its own"
    return met(is_pure and len(prepared) == len(titles) > 1, text, why)


# Of all runs: what they access, and their load.


def write_cache(tested: Tested) -> Finding:
    """Disabled for enterprise drives, enabled for client drives."""
    target = tested.session.host.get("target")
    state = target.get("volatile_write_cache") if isinstance(target, dict) else None
    if not state:
        why = "the drive does not say; nvme-cli and root can read it from NVMe drives"
        return Finding("not recorded", "its state is not known", why)
    why = (
        "right for a client drive; for an enterprise drive disable it first: "
        "nvme set-feature /dev/nvme0 --feature-id=6 --value=0, or hdparm -W 0"
    )
    return met(state in ("absent", "disabled"), str(state), why)


def active_range(tested: Tested) -> Finding:
    """All of the target, or the client variant of 75 %."""
    capacity = tested.runs[0].target.get("capacity_bytes") or 1
    edges = {stream_of(run).region.edges_percent(capacity) for run in tested.runs}
    text = several(f"{low:g} to {high:g} %" for low, high in sorted(edges))
    why = "100 % is asked for; client tests also 75 %: --set active_range=75%"
    if edges == {(0.0, 75.0)}:
        why = (
            "as the client test has it, but in one piece: that takes an amount of it "
            "in 2,048 segments at random, for which there is no clause"
        )
    return met(edges == {(0.0, 100.0)}, text, why)


def data_pattern(tested: Tested) -> Finding:
    kinds = {stream_of(run).data.kind for run in tested.runs}
    why = "random data is the default, and what is to be disclosed is another"
    return met(kinds == {"random"}, several(sorted(kinds)), why)


def loads(tested: Tested, *fixed: int) -> Finding:
    """A load that the specification fixes; else the tester's, the same in all runs."""
    used = {load(run) for run in tested.rounds}
    if not fixed:
        why = "they are to be the same in all runs"
        return met(len(used) == 1, several(map(load_text, sorted(used))), why)
    threads, qd = fixed
    why = f"{load_text((threads, qd))} is asked for"
    return met(used == {fixed}, several(map(load_text, sorted(used))), why)


def run_time(tested: Tested, seconds: float) -> Finding:
    """How long each run of a round takes."""
    shortest = min(run.run_s for run in tested.rounds)
    why = reasons(f"{time_text(seconds)} is asked for", _shortened(tested.rounds))
    return met(shortest >= SHORT * seconds, time_text(shortest), why)


def no_failures(tested: Tested) -> Finding:
    """Figures of all runs are of whole runs."""
    failed = [r for r in tested.runs if r.status != "ok" or r.total.errors]
    text = f"{counted(len(tested.runs), 'run')}, {len(failed)} failed or with errors"
    causes = several(r.cause or "errors" for r in failed)
    why = reasons(causes, _shortened(tested.runs))
    return met(not why, text, why)


def _shortened(runs: Iterable[RunRecord]) -> str:
    """What `--within` has done to runs."""
    early = [r for r in runs if any(SHORTENED in text for text in r.warnings)]
    return f"--within ended {counted(len(early), 'run')} early" if early else ""


# In rounds: cells, their order, steady state.


def matrix(
    tested: Tested, pattern: str, sizes: Iterable[int], reads: Iterable[float]
) -> Finding:
    """All sizes by all read shares, in each round."""
    required = set(product([pattern], sizes, reads))
    complete: set[Access] = set()
    for part in tested.parts.values():
        runs = (run for run in part if stream_of(run).pattern == pattern)
        if rounds := grouped(runs, lambda run: run.asked.round).values():
            complete |= set.intersection(*(set(map(access, cells)) for cells in rounds))
    missing = required - complete
    count = f"{len(required - missing)} of {len(required)}"
    without = (f"{size_text(s)} {mix_text(r)}" for _, s, r in sorted(missing))
    text = f"{count} cells in every round, {pattern}"
    return met(not missing, text, f"without {several(without)}")


def order(tested: Tested, sizes: Sequence[int], reads: Sequence[float]) -> Finding:
    """Read shares outside, block sizes inside, as they are given."""
    required = list(product(reads, sizes))
    rounds = grouped(tested.rounds, lambda run: (run.asked.test, run.asked.round))
    cells = [[access(run)[:0:-1] for run in runs] for runs in rounds.values()]
    in_order = [c for c in cells if c == [w for w in required if w in c]]
    text = f"{len(in_order)} of {counted(len(cells), 'round')} in this order"
    return met(len(in_order) == len(cells), text, "another order")


RANGE_PERCENT, SLOPE_PERCENT, WINDOW, MOST_ROUNDS = 20.0, 10.0, 5, 25


TRACKED: dict[str, Callable[[RunRecord], bool]] = {
    "random 4 KiB writes": lambda run: access(run) == WRITES,
    "sequential writes": lambda run: access(run)[::2] == SEQUENTIAL[::2],
    load_text(HIGHEST): lambda run: load(run) == HIGHEST,
}
"""What tells whether a run is of a cell."""


@each_part
def steady(tested: Tested, title: str, metric: str, cell: str) -> Finding:
    """Rounds until the tracked cell is steady by the specification's rule."""
    runs = tested.parts[title]
    judged = [run for run in runs if run.steady]
    rounds = max(run.asked.round for run in runs)
    left_out = _left_out(runs)
    if not judged or not rounds:
        why = f"{metric} of {cell} is to be tracked: `rounds until steady`"
        what = f"{counted(rounds, 'round')}, none judged"
        return Finding("deviates", what, reasons(why, left_out))
    last = judged[-1].steady
    assert last
    text = (
        f"{counted(rounds, 'round')}; {last.metric} in a window of {last.window}: "
        f"range {digits(last.range_percent)} %, "
        f"slope {digits(last.slope_percent)} %"
    )
    widest, steepest = RANGE_PERCENT + TOLERANCE, SLOPE_PERCENT + TOLERANCE
    rules = {
        f"{cell} is to be tracked": TRACKED[cell](judged[-1]),
        f"{metric} is to be tracked": last.metric == metric,
        f"a window of {WINDOW} rounds is asked for": last.window == WINDOW,
        f"at most {RANGE_PERCENT:g} % range": last.range_percent <= widest,
        f"at most {SLOPE_PERCENT:g} % slope": last.slope_percent <= steepest,
        f"at most {MOST_ROUNDS} rounds": rounds <= MOST_ROUNDS,
        last.why or "not steady": last.meets_rule,
        left_out: not left_out,
    }
    why = "; ".join(rule for rule, is_met in rules.items() if not is_met)
    return met(not why, text, why)


def _left_out(runs: list[RunRecord]) -> str:
    """What rounds that end cell by cell have in place of the specification's."""
    decided = [run.decided for run in runs if run.decided and run.decided.reached]
    if not decided:
        return ""
    percent = decided[-1].within_percent
    return f"cells whose mean was known within {percent:g} % were not repeated"


# Of latency, write saturation, and the workloads of tests D7 and D8.


def mean_and_max(tested: Tested) -> Finding:
    without = [run for run in tested.rounds if run.total.latency is None]
    return met(not without, "mean and maximum of each run", "runs without latency")


def latency_histogram(tested: Tested) -> Finding:
    """20 minutes of the tracked cell after the rounds."""
    runs = [r for r in of_access(tested.after, WRITES) if load(r) == (1, 1)]
    longest = max((run.run_s for run in runs), default=0.0)
    why = "20 min of random 4 KiB writes, threads 1, queue depth 1, after the rounds"
    text = time_text(longest) if runs else "none"
    return met(longest >= SHORT * 20 * MINUTE_S, text, why)


def saturating(tested: Tested) -> Finding:
    return same_access(WRITES, tested.runs, "random 4KiB 0/100 is asked for")


def demand(tested: Tested) -> Finding:
    return same_access(("random", 8 * KIB, 65), tested.rounds, "random 8KiB 65/35")


def saturated(tested: Tested) -> Finding:
    """Four times the capacity, 24 h, or steady.

    The window has five samples of a minute: less time than that is no steady state.
    """
    run = tested.runs[-1]
    capacity = run.target.get("capacity_bytes") or 0
    passes = run.total.bytes / capacity if capacity else 0.0
    steady = run.steady if run.steady and run.steady.meets_rule else None
    is_steady = steady and lasting([run], steady.window * MINUTE_S)
    text = f"{digits(passes)} drive writes in {time_text(run.run_s)}"
    text += ", steady" if is_steady else ""
    ended = passes >= 4 * SHORT or lasting([run], 24 * HOUR_S) or is_steady
    return met(bool(ended), text, "4 drive writes, 24 h or steady state end the test")


def samples(tested: Tested) -> Finding:
    """Samples of a minute or less, with IOPS, mean and maximum latency."""
    detail = partial(tested.store.detail, tested.session.id)
    series = [interval for run in tested.runs for interval in detail(run.seq).series]
    if not series:
        return Finding("not recorded", "no series", "the backend reports no intervals")
    longest = max(interval.length_s for interval in series)
    text = f"{counted(len(series), 'sample')}, {time_text(longest)} at most"
    text += ": IOPS, mean and maximum"
    return met(longest <= MINUTE_S / SHORT, text, "one a minute is asked for")


COMPOSITE = {
    **{512: 4, 1024: 1, 1536: 1, 2048: 1, 2560: 1, 3072: 1, 3584: 1},
    **{4 * KIB: 67, 8 * KIB: 10, 16 * KIB: 7, 32 * KIB: 3, 64 * KIB: 3},
}
SPOTS = [(50, 5), (30, 15), (20, 80)]


def composite(tested: Tested) -> Finding:
    """The sizes of JESD219, 40/60, hot spots."""
    why = "40/60 of 12 sizes; 50 % in 5 %, 30 % in 15 %, 20 % in 80 % of the drive"
    texts = several(map(_composite_text, tested.rounds))
    return met(all(map(_is_composite, tested.rounds)), texts, why)


def _is_composite(run: RunRecord) -> bool:
    stream = stream_of(run)
    sizes = {share.size_bytes: share.percent for share in stream.write_sizes}
    spots = stream.distribution
    if not isinstance(spots, Hotspots) or stream.read_percent != 40:
        return False
    zones = [(spot.io_percent, spot.space_percent) for spot in spots.spots]
    return sizes == COMPOSITE and zones == SPOTS


def _composite_text(run: RunRecord) -> str:
    stream = stream_of(run)
    sizes = counted(len(stream.write_sizes), "size")
    return f"{mix_text(stream.read_percent)} of {sizes}, {stream.distribution.kind}"


def composite_alignment(tested: Tested) -> Finding:
    """I/O of 4 KiB and more begins on 4 KiB, smaller I/O on 512 B."""
    aligned = {stream_of(run).align_bytes for run in tested.rounds}
    text = several(
        f"all on {size_text(to)}" if to else "each on its own size" for to in aligned
    )
    why = (
        "I/O below 4 KiB begins on 512 B in JESD219; a stream has one alignment, and "
        "4 KiB is right for 90 % of its I/O"
    )
    return Finding("deviates", text, why)


# Host idle and cross stimulus recovery.

RESTS_S = (5.0, 10.0, 15.0, 25.0, 50.0)
REPEATS, WRITE_S, BETWEEN_S = 360, 5.0, 1800.0


def idle_access(tested: Tested) -> Finding:
    """Random 4 KiB writes until steady first."""
    judged = [r for r in of_access(tested.prepared, WRITES) if r.steady]
    last = judged[-1].steady if judged else None
    is_steady = bool(last and last.meets_rule)
    text = bytes_text(sum(r.total.bytes for r in judged)) + " of random 4KiB writes"
    text += ", steady" if is_steady else ", not steady"
    return met(is_steady, text, last.why if last else "they are to go on until steady")


def idle_cycles(tested: Tested) -> Finding:
    """360 times 5 s of writes and an idle time, for five idle times."""
    cycles = [r for r in of_access(tested.runs, WRITES) if r.asked.iteration]
    by_rest = grouped(cycles, _rest_s)
    rests = [by_rest.get(rest_s, []) for rest_s in RESTS_S]
    is_met = all(len(lasting(runs, WRITE_S)) == len(runs) >= REPEATS for runs in rests)
    text = several(f"{len(n)} × {time_text(r)}" for r, n in sorted(by_rest.items()))
    why = "360 × 5 s for idle times of 5, 10, 15, 25 and 50 s"
    return met(is_met, text or "none", why)


def _rest_s(run: RunRecord) -> float:
    """The value of the axis that is a time."""
    for text in run.asked.cell.values():
        try:
            value = parse_quantity(text)
        except QuantityError:
            continue
        if value.kind == "time":
            return float(value.value) / 1e9
    return 0.0


def idle_between(tested: Tested) -> Finding:
    """Half an hour of writes after each idle time."""
    runs = [r for r in tested.runs if not r.asked.iteration]
    why = "1800 s of writes after each of five idle times"
    is_met = len(RESTS_S) <= len(lasting(runs, BETWEEN_S)) == len(runs)
    return met(is_met, times(runs), why)


LARGE_WRITES = ("sequential", MIB, 0)
STIMULI = (LARGE_WRITES, 8), (("random", 8 * KIB, 0), 6), (LARGE_WRITES, 8)
"""What is written, and for how many hours."""


def stimuli(tested: Tested) -> Finding:
    """Three writes in a row."""
    runs = tested.runs
    text = several(
        f"{access(r)[0]} {size_text(size_bytes(r))} {time_text(r.run_s)}" for r in runs
    )
    is_met = len(runs) == len(STIMULI) and all(
        access(run) == stimulus and lasting([run], hours * HOUR_S)
        for run, (stimulus, hours) in zip(runs, STIMULI, strict=True)
    )
    why = "sequential 1MiB 8 h, random 8KiB 6 h, sequential 1MiB 8 h are asked for"
    return met(is_met, text, why)


# A table of threads by queue depth, and histograms at its points.

LOADS = (32, 16, 8, 6, 4, 2, 1)
MOST_MEAN_NS = 5_000_000
PRESSING_S, SETTLING_S, HISTOGRAM_S = 300.0, 3600.0, 600.0


def all_loads(tested: Tested) -> Finding:
    """Seven thread counts by seven queue depths, from high to low, in each round."""
    required = list(product(LOADS, LOADS))
    rounds = grouped(tested.rounds, lambda run: run.asked.round)
    tables = [list(map(load, runs)) for runs in rounds.values()]
    text = f"{max(len(set(table)) for table in tables)} of 49 loads a round"
    why = (
        "threads 32, 16, 8, 6, 4, 2, 1 by the same queue depths are asked for, in order"
    )
    is_met = all(table == required for table in tables) and 0 not in rounds
    return met(is_met, text, why)


def pressed(tested: Tested) -> Finding:
    """Five minutes of the highest load, writing, before each round."""
    rounds = {run.asked.round for run in tested.rounds}
    writes = [r for r in _writes(tested.prepared) if load(r) == HIGHEST]
    text = f"{times(writes)}; {counted(len(rounds), 'round')}"
    why = f"{time_text(PRESSING_S)} at threads 32, queue depth 32 before each round"
    return met(len(lasting(writes, PRESSING_S)) >= len(rounds), text, why)


def _writes(runs: Iterable[RunRecord]) -> list[RunRecord]:
    return [run for run in runs if stream_of(run).read_percent == 0]


def settled(tested: Tested) -> Finding:
    """An hour of writes with its load before each histogram."""
    writes = tested.prepared_after
    long = _writes(lasting(writes, SETTLING_S))
    why = f"{time_text(SETTLING_S)} of writes before each of three histograms"
    return met(len(long) >= 3, times(long or writes), why)


def at_points(tested: Tested) -> Finding:
    """Ten minutes at each point, with a histogram."""
    measured = {load(run) for run in lasting(tested.after, HISTOGRAM_S)}
    done = sorted(measured, reverse=True)
    text = several(load_text(at, " by ") for at in done) or "none of 10 min"
    points = points_of(tested)
    if not points:
        return Finding("deviates", text, "no load of the table has a mean below 5 ms")
    at_each = several(load_text(at, " by ") for at in points)
    settings = " ".join(
        f"--set {name}_threads={threads} --set {name}_qd={qd}"
        for name, (threads, qd) in zip(("high", "middle", "low"), points, strict=True)
    )
    why = (
        f"the table's points are {at_each}; measure them by "
        f"--test '*histograms' {settings}, and report both sessions"
    )
    return met(set(points) <= measured, text, why)


def points_of(tested: Tested) -> tuple[Load, Load, Load] | None:
    """The loads of the highest, the middle and the lowest IOPS of the table.

    By the means over the window, below the limit of the mean latency. The middle is
    what is nearest to the mean of the highest and the lowest. None where no load is
    below the limit.
    """
    by_load = grouped(list(tested.in_window()), load)
    iops = {
        at: fmean(run.total.iops for run in runs)
        for at, runs in by_load.items()
        if 0 < _mean_ns(runs) < MOST_MEAN_NS
    }
    if not iops:
        return None
    highest = max(iops, key=lambda at: iops[at])
    halfway = (iops[highest] + min(iops.values())) / 2
    return highest, min(iops, key=lambda at: abs(iops[at] - halfway)), (1, 1)


def _mean_ns(runs: Iterable[RunRecord]) -> float:
    means = [run.total.latency.mean_ns for run in runs if run.total.latency]
    return fmean(means) if means else 0.0
