"""What tells whether a clause of the specification was met.

Each check takes what was tested, and the arguments that its clauses have. It tells
whether that was met, None where it was not recorded; what was done; and, where the
clause itself does not say it, why it was not met.
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
    Tested,
    access,
    load,
    size_bytes,
    stream_of,
)
from ioplan.workload import Hotspots

Result = tuple[bool | None, str, *tuple[str, ...]]
Check = Callable[..., Result]
Access = tuple[str, int, float]
Load = tuple[int, int]
KIB, MIB = 1 << 10, 1 << 20
MINUTE_S, HOUR_S = 60.0, 3600.0
SHORT = 0.99
"""A run may lose so much of its time to its start."""
WRITES: Access = ("random", 4 * KIB, 0)
SEQUENTIAL: Access = ("sequential", 128 * KIB, 0)
HIGHEST: Load = (32, 32)


def each_part(check: Check) -> Check:
    """The worst result of the parts, and what was done in each."""

    def checked(tested: Tested, *arguments: str) -> Result:
        parts = [check(tested, title, *arguments) for title in tested.parts]
        worst = min((met for met, *_ in parts), key=(False, None, True).index)
        why = reasons(*(text for met, _, *texts in parts if not met for text in texts))
        return worst, reasons(*(what for _, what, *_ in parts)), why

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


def of_access(runs: Iterable[RunRecord], wanted: Access) -> list[RunRecord]:
    return [run for run in runs if access(run) == wanted]


def access_text(access: Access) -> str:
    """`random 4KiB 0/100`."""
    pattern, size, read_percent = access
    return f"{pattern} {size_text(size)} {mix_text(read_percent)}"


def mix_text(read_percent: float) -> str:
    return f"{read_percent:g}/{100 - read_percent:g}"


def load_text(at: Load, between: str = ", ") -> str:
    return f"threads {at[0]}{between}queue depth {at[1]}"


# Before the test: purge and preconditioning.


@each_part
def purged(tested: Tested, title: str) -> Result:
    if method := tested.purge(title):
        return True, method
    states = [e.text for e in tested.events if e.kind == "state"]
    if states:
        return None, "none in this session", states[-1]
    return False, "no purge before the test"


@each_part
def filled(tested: Tested, title: str) -> Result:
    """Workload-independent preconditioning (WIPC)."""
    run, fills = tested.parts[title][0], tested.fills(title)
    wipc = of_access(fills, SEQUENTIAL)
    capacity = run.target.get("capacity_bytes", 0)
    low, high = stream_of(run).region.edges_percent(capacity or 1)
    required = 2 * capacity * (high - low) / 100
    written = sum(r.total.bytes for r in wipc)
    if any(stream_of(r).spare_percent for r in fills):
        why = "the specification fills sequentially; what follows must become steady"
        return False, "a shaped pass of random writes", why
    if fills and not wipc:
        sizes = several(size_text(size_bytes(r)) for r in fills)
        why = "the specification writes sequentially, 128 KiB"
        return False, f"written with {sizes} first", why
    if not required:
        return None, "the capacity is not known"
    passes = f"{digits(2 * written / required)} passes of sequential 128 KiB writes"
    why = f"2 passes of what is tested are asked for, {bytes_text(required)}"
    return written >= SHORT * required, passes, why


def not_filled(tested: Tested) -> Result:
    every = (r for title in tested.parts for r in tested.fills(title))
    fills = of_access(every, SEQUENTIAL)
    text = bytes_text(sum(r.total.bytes for r in fills)) + " written sequentially first"
    return not fills, text if fills else "none"


def separate_fills(tested: Tested) -> Result:
    titles, parts = list(tested.parts), tested.parts.values()
    prepared = [title for title in titles if tested.purge(title)]
    text = f"{counted(len(titles), 'part')}, {len(prepared)} with a purge of its own"
    is_pure = all(len(set(map(size_bytes, runs))) == 1 for runs in parts)
    return is_pure and len(prepared) == len(titles) > 1, text


# Of all runs: what they access, and their load.


def write_cache(tested: Tested) -> Result:
    """Disabled for enterprise drives, enabled for client drives."""
    target = tested.session.host.get("target")
    state = target.get("volatile_write_cache") if isinstance(target, dict) else None
    if not state:
        why = "the drive does not say; nvme-cli and root can read it from NVMe drives"
        return None, "its state is not known", why
    return state in ("absent", "disabled"), str(state)


def active_range(tested: Tested) -> Result:
    """All of the target, or the client variant of 75 %."""
    capacity = tested.runs[0].target.get("capacity_bytes") or 1
    edges = {stream_of(run).region.edges_percent(capacity) for run in tested.runs}
    text = several(f"{low:g} to {high:g} %" for low, high in sorted(edges))
    why = (
        "as the client test has it, but in one piece: that takes an amount of it "
        "in 2,048 segments at random, for which there is no clause"
    )
    is_client = edges == {(0.0, 75.0)}
    return edges == {(0.0, 100.0)}, text, *(why,) * is_client


def data_pattern(tested: Tested) -> Result:
    kinds = {stream_of(run).data.kind for run in tested.runs}
    return kinds == {"random"}, several(sorted(kinds))


def loads(tested: Tested, *fixed: int) -> Result:
    """A load that the specification fixes; else the tester's, the same in all runs."""
    used = {load(run) for run in tested.rounds}
    is_met = used == {fixed} if fixed else len(used) == 1
    return is_met, several(map(load_text, sorted(used)))


def run_time(tested: Tested, seconds: float) -> Result:
    shortest = min(run.run_s for run in tested.rounds)
    why = reasons(f"{time_text(seconds)} is asked for", _shortened(tested.rounds))
    return shortest >= SHORT * seconds, time_text(shortest), why


def no_failures(tested: Tested) -> Result:
    failed = [r for r in tested.runs if r.status != "ok" or r.total.errors]
    text = f"{counted(len(tested.runs), 'run')}, {len(failed)} failed or with errors"
    causes = several(r.cause or "errors" for r in failed)
    why = reasons(causes, _shortened(tested.runs))
    return not why, text, why


def _shortened(runs: Iterable[RunRecord]) -> str:
    early = [r for r in runs if any(SHORTENED in text for text in r.warnings)]
    return f"--within ended {counted(len(early), 'run')} early" if early else ""


# In rounds: cells, their order, steady state.


def matrix(
    tested: Tested, pattern: str, sizes: Iterable[int], reads: Iterable[float]
) -> Result:
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
    return not missing, text, f"without {several(without)}"


def order(tested: Tested, sizes: Sequence[int], reads: Sequence[float]) -> Result:
    required = list(product(reads, sizes))
    rounds = grouped(tested.rounds, lambda run: (run.asked.test, run.asked.round))
    cells = [[access(run)[:0:-1] for run in runs] for runs in rounds.values()]
    in_order = [c for c in cells if c == [w for w in required if w in c]]
    text = f"{len(in_order)} of {counted(len(cells), 'round')} in this order"
    return len(in_order) == len(cells), text


RANGE_PERCENT, SLOPE_PERCENT, WINDOW, MOST_ROUNDS = 20.0, 10.0, 5, 25
TRACKED: dict[str, Callable[[RunRecord], bool]] = {
    "random 4 KiB writes": lambda run: access(run) == WRITES,
    "sequential writes": lambda run: access(run)[::2] == SEQUENTIAL[::2],
    load_text(HIGHEST): lambda run: load(run) == HIGHEST,
}
"""What tells whether a run is of a cell."""


@each_part
def steady(tested: Tested, title: str, metric: str, cell: str) -> Result:
    """Rounds until the tracked cell is steady by the specification's rule."""
    runs = tested.parts[title]
    judged = [run for run in runs if run.steady]
    count = max(run.asked.round for run in runs)
    rounds, left_out = counted(count, "round"), _left_out(runs)
    if not judged or not count:
        why = f"{metric} of {cell} is to be tracked: `rounds until steady`"
        return False, f"{rounds}, none judged", reasons(why, left_out)
    last = judged[-1].steady
    assert last
    text = (
        f"{rounds}; {last.metric} in a window of {last.window}: "
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
        f"at most {MOST_ROUNDS} rounds": count <= MOST_ROUNDS,
        last.why or "not steady": last.meets_rule,
        left_out: not left_out,
    }
    why = "; ".join(rule for rule, is_met in rules.items() if not is_met)
    return not why, text, why


def _left_out(runs: list[RunRecord]) -> str:
    """What rounds that end cell by cell have in place of the specification's."""
    decided = [run.decided for run in runs if run.decided and run.decided.reached]
    if not decided:
        return ""
    percent = decided[-1].within_percent
    return f"cells whose mean was known within {percent:g} % were not repeated"


# Of latency, write saturation, and the workloads of tests D7 and D8.


def mean_and_max(tested: Tested) -> Result:
    without = [run for run in tested.rounds if run.total.latency is None]
    return not without, "mean and maximum of each run"


def latency_histogram(tested: Tested) -> Result:
    runs = [r for r in of_access(tested.after, WRITES) if load(r) == (1, 1)]
    longest = max((run.run_s for run in runs), default=0.0)
    return longest >= SHORT * 20 * MINUTE_S, time_text(longest) if runs else "none"


def accesses(tested: Tested, *required: str | float) -> Result:
    texts = several(access_text(access(run)) for run in tested.rounds)
    return all(access(run) == required for run in tested.rounds), texts


def saturated(tested: Tested) -> Result:
    """Four times the capacity, 24 h, or steady.

    The window has five samples of a minute: less time than that is no steady state.
    """
    run = tested.runs[-1]
    capacity = run.target.get("capacity_bytes") or 0
    passes = run.total.bytes / capacity if capacity else 0.0
    steady = run.steady if run.steady and run.steady.meets_rule else None
    is_steady = steady and lasting([run], steady.window * MINUTE_S)
    text = f"{digits(passes)} drive writes in {time_text(run.run_s)}"
    ended = passes >= 4 * SHORT or lasting([run], 24 * HOUR_S) or is_steady
    return bool(ended), text + ", steady" * bool(is_steady)


def samples(tested: Tested) -> Result:
    detail = partial(tested.store.detail, tested.session.id)
    series = [interval for run in tested.runs for interval in detail(run.seq).series]
    if not series:
        return None, "no series", "the backend reports no intervals"
    longest = max(interval.length_s for interval in series)
    text = f"{counted(len(series), 'sample')}, {time_text(longest)} at most"
    return longest <= MINUTE_S / SHORT, f"{text}: IOPS, mean and maximum"


COMPOSITE = {
    **{512: 4, 1024: 1, 1536: 1, 2048: 1, 2560: 1, 3072: 1, 3584: 1},
    **{4 * KIB: 67, 8 * KIB: 10, 16 * KIB: 7, 32 * KIB: 3, 64 * KIB: 3},
}
SPOTS = [(50, 5), (30, 15), (20, 80)]


def composite(tested: Tested) -> Result:
    texts = several(map(_composite_text, tested.rounds))
    return all(map(_is_composite, tested.rounds)), texts


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


def composite_alignment(tested: Tested) -> Result:
    aligned = {stream_of(run).align_bytes for run in tested.rounds}
    texts = (
        f"all on {size_text(to)}" if to else "each on its own size" for to in aligned
    )
    return False, several(texts)


# Host idle and cross stimulus recovery.

RESTS_S = (5.0, 10.0, 15.0, 25.0, 50.0)
REPEATS, WRITE_S, BETWEEN_S = 360, 5.0, 1800.0


def idle_access(tested: Tested) -> Result:
    judged = [r for r in of_access(tested.prepared, WRITES) if r.steady]
    last = judged[-1].steady if judged else None
    is_steady = bool(last and last.meets_rule)
    text = bytes_text(sum(r.total.bytes for r in judged)) + " of random 4KiB writes"
    text += ", steady" if is_steady else ", not steady"
    return is_steady, text, last.why if last else ""


def idle_cycles(tested: Tested) -> Result:
    cycles = [r for r in of_access(tested.runs, WRITES) if r.asked.iteration]
    by_rest = grouped(cycles, _rest_s)
    rests = [by_rest.get(rest_s, []) for rest_s in RESTS_S]
    is_met = all(len(lasting(runs, WRITE_S)) == len(runs) >= REPEATS for runs in rests)
    text = several(f"{len(n)} × {time_text(r)}" for r, n in sorted(by_rest.items()))
    return is_met, text or "none"


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


def idle_between(tested: Tested) -> Result:
    runs = [r for r in tested.runs if not r.asked.iteration]
    is_met = len(RESTS_S) <= len(lasting(runs, BETWEEN_S)) == len(runs)
    return is_met, times(runs)


def stimuli(tested: Tested, *required: tuple[str, int, float, float]) -> Result:
    """Writes in a row; of each its access, and how many hours it takes."""
    runs = tested.runs
    text = several(
        f"{access(r)[0]} {size_text(size_bytes(r))} {time_text(r.run_s)}" for r in runs
    )
    is_met = len(runs) == len(required) and all(
        access(run) == tuple(stimulus) and lasting([run], hours * HOUR_S)
        for run, (*stimulus, hours) in zip(runs, required, strict=True)
    )
    return is_met, text


# A table of threads by queue depth, and histograms at its points.

LOADS = (32, 16, 8, 6, 4, 2, 1)
MOST_MEAN_NS = 5_000_000
PRESSING_S, SETTLING_S, HISTOGRAM_S = 300.0, 3600.0, 600.0


def all_loads(tested: Tested) -> Result:
    required = list(product(LOADS, LOADS))
    rounds = grouped(tested.rounds, lambda run: run.asked.round)
    tables = [list(map(load, runs)) for runs in rounds.values()]
    text = f"{max(len(set(table)) for table in tables)} of 49 loads a round"
    return all(table == required for table in tables) and 0 not in rounds, text


def pressed(tested: Tested) -> Result:
    rounds = {run.asked.round for run in tested.rounds}
    writes = [r for r in _writes(tested.prepared) if load(r) == HIGHEST]
    text = f"{times(writes)}; {counted(len(rounds), 'round')}"
    return len(lasting(writes, PRESSING_S)) >= len(rounds), text


def _writes(runs: Iterable[RunRecord]) -> list[RunRecord]:
    return [run for run in runs if stream_of(run).read_percent == 0]


def settled(tested: Tested) -> Result:
    writes = tested.prepared_after
    long = _writes(lasting(writes, SETTLING_S))
    return len(long) >= 3, times(long or writes)


def at_points(tested: Tested) -> Result:
    measured = {load(run) for run in lasting(tested.after, HISTOGRAM_S)}
    done = sorted(measured, reverse=True)
    text = several(load_text(at, " by ") for at in done) or "none of 10 min"
    points = points_of(tested)
    if not points:
        return False, text
    settings = " ".join(
        f"--set {name}_threads={threads} --set {name}_qd={qd}"
        for name, (threads, qd) in zip(("high", "middle", "low"), points, strict=True)
    )
    why = (
        f"the table's points are {several(load_text(at, ' by ') for at in points)}; "
        f"measure them by --test '*histograms' {settings}, and report both sessions"
    )
    return measured.issuperset(points), text, why


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
    highest = max(iops, key=iops.__getitem__)
    halfway = (iops[highest] + min(iops.values())) / 2
    return highest, min(iops, key=lambda at: abs(iops[at] - halfway)), (1, 1)


def _mean_ns(runs: Iterable[RunRecord]) -> float:
    means = [run.total.latency.mean_ns for run in runs if run.total.latency]
    return fmean(means) if means else 0.0
