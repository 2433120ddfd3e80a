"""What the specification asks of several tests: purge, fill, rounds, loads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from ioplan.core.text import counted
from ioplan.core.units import bytes_text, digits, time_text
from ioplan.language.quantity import size_text
from ioplan.planner.budget import SHORTENED
from ioplan.records.record import RunRecord
from ioplan.results.measure.steady_state import TOLERANCE
from ioplan.results.report.conformance.tested import (
    Finding,
    Outcome,
    Tested,
    load,
    size_bytes,
    stream_of,
)

Check = Callable[[Tested], Finding]
KIB, MIB = 1 << 10, 1 << 20
WITHOUT = ("absent", "disabled")
"""States of a volatile write cache that keeps nothing."""
SHORT = 0.99
"""A run may lose so much of its time to its start."""
RANGE_PERCENT, SLOPE_PERCENT, WINDOW, MOST_ROUNDS = 20.0, 10.0, 5, 25


def all_of(findings: Iterable[Finding]) -> Finding:
    """One of several parts: the worst outcome, and what each one did."""
    found = list(findings)
    outcomes = {one.outcome for one in found}
    order: tuple[Outcome, ...] = ("deviates", "not recorded", "done")
    worst = next(one for one in order if one in outcomes)
    what = "; ".join(dict.fromkeys(one.what for one in found))
    why = "; ".join(dict.fromkeys(one.why for one in found if one.why))
    return Finding(worst, what, why)


def held(is_so: bool, what: str, why: str = "") -> Finding:
    """Done, or a deviation with its reason."""
    return Finding("done", what) if is_so else Finding("deviates", what, why)


def several(texts: Iterable[object], unit: str = "") -> str:
    """Each once, a few of them."""
    found = list(dict.fromkeys(map(str, texts)))
    shown = ", ".join(found[:8]) + (f" and {len(found) - 8} more" if found[8:] else "")
    return f"{shown}{unit}"


def times(runs: Sequence[RunRecord]) -> str:
    """How often, and how long the shortest one took."""
    if not runs:
        return "none"
    shortest = min(run.run_s for run in runs)
    return f"{counted(len(runs), 'time')}, {time_text(shortest)} at least"


def purged(tested: Tested) -> Finding:
    """A purge right before each part."""
    return all_of(_purged(tested, title) for title in tested.parts)


def _purged(tested: Tested, title: str) -> Finding:
    if method := tested.purge(title):
        return Finding("done", method)
    states = [e.text for e in tested.events if e.kind == "state"]
    if states:
        return Finding("not recorded", "none in this session", states[-1])
    why = "the target has an unknown history; put `purge` into its precondition"
    return Finding("deviates", "no purge before the test", why)


def filled(tested: Tested) -> Finding:
    """Workload-independent preconditioning, before each part."""
    return all_of(_filled(tested, title) for title in tested.parts)


def _filled(tested: Tested, title: str) -> Finding:
    fills = [r for r in tested.fills(title) if _is_wipc(r)]
    capacity = tested.parts[title][0].target.get("capacity_bytes", 0)
    part = stream_of(tested.parts[title][0]).region.edges_percent(capacity or 1)
    wanted = 2 * capacity * (part[1] - part[0]) / 100
    written = sum(r.total.bytes for r in fills)
    if any(stream_of(r).spare_percent for r in tested.fills(title)):
        why = "the specification fills sequentially; what follows must become steady"
        return Finding("deviates", "a shaped pass of random writes", why)
    if not fills and tested.fills(title):
        sizes = several(size_text(size_bytes(r)) for r in tested.fills(title))
        why = "the specification writes sequentially, 128 KiB"
        return Finding("deviates", f"written with {sizes} first", why)
    if not wanted:
        return Finding("not recorded", "the capacity is not known")
    passes = f"{digits(2 * written / wanted)} passes of sequential 128 KiB writes"
    why = f"2 passes of what is tested are asked for, {bytes_text(wanted)}"
    return held(written >= SHORT * wanted, passes, why)


def _is_wipc(record: RunRecord) -> bool:
    stream = stream_of(record)
    is_sequential = stream.pattern == "sequential" and stream.read_percent == 0
    return is_sequential and size_bytes(record) == 128 * KIB


def not_filled(tested: Tested) -> Finding:
    """No workload-independent preconditioning."""
    fills = [r for title in tested.parts for r in tested.fills(title) if _is_wipc(r)]
    text = bytes_text(sum(r.total.bytes for r in fills))
    why = "the test begins on a purged drive"
    return held(
        not fills, f"{text} written sequentially first" if fills else "none", why
    )


def active_range(tested: Tested) -> Finding:
    """All of the target, or the client variant of 75 %."""
    capacity = tested.runs[0].target.get("capacity_bytes") or 1
    edges = {stream_of(run).region.edges_percent(capacity) for run in tested.runs}
    text = several(f"{low:g} to {high:g} %" for low, high in sorted(edges))
    if edges == {(0.0, 75.0)}:
        why = (
            "as the client test has it, but in one piece: that takes an amount of it "
            "in 2,048 segments at random, for which there is no clause"
        )
        return Finding("deviates", text, why)
    why = "100 % is asked for; client tests also 75 %: --set active_range=75%"
    return held(edges == {(0.0, 100.0)}, text, why)


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
    return held(state in WITHOUT, str(state), why)


def data_pattern(tested: Tested) -> Finding:
    """Random data."""
    kinds = {stream_of(run).data.kind for run in tested.runs}
    why = "random data is the default, and what is to be disclosed is another"
    return held(kinds == {"random"}, several(sorted(kinds)), why)


def disclosed_load(tested: Tested) -> Finding:
    """Threads and queue depth are the tester's choice, the same in all runs."""
    loads = {load(run) for run in tested.rounds}
    text = several(f"threads {t}, queue depth {q}" for t, q in sorted(loads))
    return held(len(loads) == 1, text, "they are to be the same in all runs")


def one_load(threads: int, qd: int) -> Check:
    """A load that the specification fixes."""

    def check(tested: Tested) -> Finding:
        loads = {load(run) for run in tested.rounds}
        text = several(f"threads {t}, queue depth {q}" for t, q in sorted(loads))
        asked = f"threads {threads}, queue depth {qd} is asked for"
        return held(loads == {(threads, qd)}, text, asked)

    return check


def run_time(seconds: float) -> Check:
    """How long each run of a round takes."""

    def check(tested: Tested) -> Finding:
        shortest = min(run.run_s for run in tested.rounds)
        asked = f"{time_text(seconds)} is asked for"
        if shortened := _shortened(tested.rounds):
            asked += f"; {shortened}"
        return held(shortest >= SHORT * seconds, time_text(shortest), asked)

    return check


def mix_text(record: RunRecord) -> str:
    """`65/35`."""
    read = stream_of(record).read_percent
    return f"{read:g}/{100 - read:g}"


def matrix(sizes: Iterable[int], reads: Iterable[float], pattern: str) -> Check:
    """All sizes by all read shares, in each round."""
    wanted = {(size, read) for size in sizes for read in reads}

    def check(tested: Tested) -> Finding:
        rounds: dict[tuple[str, int], set[tuple[int, float]]] = {}
        for run in tested.rounds:
            if stream_of(run).pattern == pattern:
                cell = size_bytes(run), stream_of(run).read_percent
                rounds.setdefault((run.asked.test, run.asked.round), set()).add(cell)
        parts: dict[str, set[tuple[int, float]]] = {}
        for (title, _), cells in rounds.items():
            parts[title] = parts.get(title, cells) & cells
        found = set().union(*parts.values()) if parts else set()
        missing = wanted - found
        text = f"{len(wanted & found)} of {len(wanted)} cells in every round, {pattern}"
        without = (f"{size_text(s)} {r:g}/{100 - r:g}" for s, r in sorted(missing))
        return held(not missing, text, f"without {several(without)}")

    return check


def order(sizes: Sequence[int], reads: Sequence[float]) -> Check:
    """Read shares outside, block sizes inside, as they are given."""
    wanted = [(read, size) for read in reads for size in sizes]

    def check(tested: Tested) -> Finding:
        rounds: dict[tuple[str, int], list[tuple[float, int]]] = {}
        for run in tested.rounds:
            cell = stream_of(run).read_percent, size_bytes(run)
            rounds.setdefault((run.asked.test, run.asked.round), []).append(cell)
        in_order = [c for c in rounds.values() if c == [w for w in wanted if w in c]]
        text = f"{len(in_order)} of {counted(len(rounds), 'round')} in this order"
        return held(len(in_order) == len(rounds), text, "another order")

    return check


def steady(metric: str, is_tracked: Callable[[RunRecord], bool], cell: str) -> Check:
    """Rounds until the tracked cell is steady by the specification's rule."""

    def check(tested: Tested) -> Finding:
        titles = tested.parts.items()
        return all_of(_steady(runs, metric, is_tracked, cell) for _, runs in titles)

    return check


def _steady(
    runs: list[RunRecord],
    metric: str,
    is_tracked: Callable[[RunRecord], bool],
    cell: str,
) -> Finding:
    judged = [run for run in runs if run.steady]
    rounds = max(run.asked.round for run in runs)
    left_out = _left_out(runs)
    if not judged or not rounds:
        why = f"{metric} of {cell} is to be tracked: `rounds until steady`"
        why += f"; {left_out}" * bool(left_out)
        return Finding("deviates", f"{counted(rounds, 'round')}, none judged", why)
    last = judged[-1].steady
    assert last
    text = (
        f"{counted(rounds, 'round')}; {last.metric} in a window of {last.window}: "
        f"range {digits(last.range_percent)} %, slope {digits(last.slope_percent)} %"
    )
    wrong = [
        (f"{cell} is to be tracked", is_tracked(judged[-1])),
        (f"{metric} is to be tracked", last.metric == metric),
        (f"a window of {WINDOW} rounds is asked for", last.window == WINDOW),
        (
            f"at most {RANGE_PERCENT:g} % range",
            _within(last.range_percent, RANGE_PERCENT),
        ),
        (
            f"at most {SLOPE_PERCENT:g} % slope",
            _within(last.slope_percent, SLOPE_PERCENT),
        ),
        (f"at most {MOST_ROUNDS} rounds", rounds <= MOST_ROUNDS),
        (last.why or "not steady", last.meets_rule),
        (left_out, not left_out),
    ]
    why = "; ".join(dict.fromkeys(text for text, is_so in wrong if not is_so))
    return held(not why, text, why)


def _left_out(runs: list[RunRecord]) -> str:
    """What rounds that end cell by cell have in place of the specification's."""
    found = [run.decided for run in runs if run.decided and run.decided.reached]
    if not found:
        return ""
    percent = found[-1].within_percent
    return f"cells whose mean was known within {percent:g} % were not repeated"


def _within(percent: float, limit: float) -> bool:
    return percent <= limit + TOLERANCE


def no_failures(tested: Tested) -> Finding:
    """Figures of all runs are of whole runs."""
    failed = [r for r in tested.runs if r.status != "ok" or r.total.errors]
    text = f"{counted(len(tested.runs), 'run')}, {len(failed)} failed or with errors"
    causes = several(r.cause or "errors" for r in failed)
    shortened = _shortened(tested.runs)
    why = "; ".join(filter(None, [causes, shortened]))
    return held(not why, text, why)


def _shortened(runs: Iterable[RunRecord]) -> str:
    """What `--within` has done to runs."""
    found = [r for r in runs if any(SHORTENED in text for text in r.warnings)]
    return f"--within ended {counted(len(found), 'run')} early" if found else ""
