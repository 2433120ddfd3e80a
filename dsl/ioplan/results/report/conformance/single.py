"""What the specification asks of one test only."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ioplan.core.text import counted
from ioplan.core.units import bytes_text, digits, time_text
from ioplan.language.quantity import QuantityError, parse_quantity, size_text
from ioplan.records.record import RunRecord
from ioplan.results.report.conformance.general import (
    KIB,
    MIB,
    SHORT,
    held,
    mix_text,
    several,
    times,
)
from ioplan.results.report.conformance.tested import (
    Finding,
    Tested,
    load,
    size_bytes,
    stream_of,
)
from ioplan.workload import Hotspots

HISTOGRAM_S, HOUR_S, MINUTE_S = 1200.0, 3600.0, 60.0


def separate_fills(tested: Tested) -> Finding:
    """Throughput: each block size after its own purge and fill."""
    by_size = {t: {size_bytes(r) for r in runs} for t, runs in tested.parts.items()}
    mixed = [title for title, sizes in by_size.items() if len(sizes) > 1]
    prepared = [title for title in by_size if tested.purge(title)]
    text = f"{counted(len(by_size), 'part')}, {len(prepared)} with a purge of its own"
    why = "each block size begins with a purge and two passes of its own"
    return held(not mixed and len(prepared) == len(by_size) > 1, text, why)


def mean_and_max(tested: Tested) -> Finding:
    """Latency: the mean and the maximum of each cell."""
    without = [run for run in tested.rounds if run.total.latency is None]
    return held(not without, "mean and maximum of each run", "runs without latency")


def latency_histogram(tested: Tested) -> Finding:
    """Latency: 20 minutes of the tracked cell after the rounds, with a histogram."""
    runs = [r for r in tested.after if _is_tracked_latency(r)]
    longest = max((run.run_s for run in runs), default=0.0)
    text = time_text(longest) if runs else "none"
    why = "20 min of random 4 KiB writes, threads 1, queue depth 1, after the rounds"
    return held(longest >= SHORT * HISTOGRAM_S, text, why)


def _is_tracked_latency(run: RunRecord) -> bool:
    return is_tracked_write(run) and load(run) == (1, 1)


def is_tracked_write(run: RunRecord) -> bool:
    """Random 4 KiB writes."""
    stream = stream_of(run)
    is_write = stream.pattern == "random" and stream.read_percent == 0
    return is_write and size_bytes(run) == 4 * KIB


def is_large_write(run: RunRecord) -> bool:
    """Sequential writes of the part's own size."""
    stream = stream_of(run)
    return stream.pattern == "sequential" and stream.read_percent == 0


def at_highest_load(run: RunRecord) -> bool:
    """32 threads by queue depth 32."""
    return load(run) == (32, 32)


def saturating(tested: Tested) -> Finding:
    """Write saturation: random 4 KiB writes."""
    wrong = [run for run in tested.runs if not is_tracked_write(run)]
    text = several(
        f"{stream_of(r).pattern} {size_text(size_bytes(r))} {mix_text(r)}"
        for r in tested.runs
    )
    return held(not wrong, text, "random 4KiB 0/100 is asked for")


def saturated(tested: Tested) -> Finding:
    """Write saturation: four times the capacity, 24 h, or steady.

    The window has five samples of a minute: less time than that is no steady state.
    """
    run = tested.runs[-1]
    capacity, time_s = run.target.get("capacity_bytes") or 0, run.run_s
    passes = run.total.bytes / capacity if capacity else 0.0
    steady = run.steady if run.steady and run.steady.meets_rule else None
    is_steady = steady is not None and time_s >= steady.window * MINUTE_S * SHORT
    text = f"{digits(passes)} drive writes in {time_text(time_s)}"
    text += ", steady" if is_steady else ""
    ended = passes >= 4 * SHORT or time_s >= 24 * HOUR_S * SHORT or is_steady
    return held(ended, text, "4 drive writes, 24 h or steady state end the test")


def samples(tested: Tested) -> Finding:
    """Samples of a minute or less, with IOPS, mean and maximum latency."""
    series = [i for run in tested.runs for i in tested.detail(run.seq).series]
    if not series:
        return Finding("not recorded", "no series", "the backend reports no intervals")
    longest = max(interval.length_s for interval in series)
    text = f"{counted(len(series), 'sample')}, {time_text(longest)} at most"
    text += ": IOPS, mean and maximum"
    return held(longest <= MINUTE_S / SHORT, text, "one a minute is asked for")


RESTS_S = (5.0, 10.0, 15.0, 25.0, 50.0)
REPEATS, WRITE_S, BETWEEN_S = 360, 5.0, 1800.0


def idle_access(tested: Tested) -> Finding:
    """Host idle: random 4 KiB writes until steady first."""
    judged = [r for r in tested.prepared if r.steady and is_tracked_write(r)]
    steady = judged[-1].steady if judged else None
    text = bytes_text(sum(r.total.bytes for r in judged)) + " of random 4KiB writes"
    text += ", steady" if steady and steady.meets_rule else ", not steady"
    why = steady.why if steady else "they are to go on until steady"
    return held(bool(steady and steady.meets_rule), text, why)


def idle_cycles(tested: Tested) -> Finding:
    """Host idle: 360 times 5 s of writes and an idle time, for five idle times."""
    by_rest: dict[float, list[RunRecord]] = {}
    for run in tested.runs:
        if run.asked.iteration and is_tracked_write(run):
            by_rest.setdefault(_rest_s(run), []).append(run)
    done = [r for r in RESTS_S if _is_cycle(by_rest.get(r, []))]
    text = several((f"{len(n)} × {time_text(r)}" for r, n in sorted(by_rest.items())))
    why = "360 × 5 s for idle times of 5, 10, 15, 25 and 50 s"
    return held(len(done) == len(RESTS_S), text or "none", why)


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


def _is_cycle(runs: Sequence[RunRecord]) -> bool:
    long = [run for run in runs if run.run_s >= SHORT * WRITE_S]
    return len(long) == len(runs) >= REPEATS


def idle_between(tested: Tested) -> Finding:
    """Host idle: half an hour of writes after each idle time."""
    found = [r for r in tested.runs if not r.asked.iteration]
    long = [r for r in found if r.run_s >= SHORT * BETWEEN_S]
    why = "1800 s of writes after each of five idle times"
    is_so = len(long) >= len(RESTS_S) and len(long) == len(found)
    return held(is_so, times(found), why)


STIMULI = (
    ("sequential", MIB, 8 * HOUR_S),
    ("random", 8 * KIB, 6 * HOUR_S),
    ("sequential", MIB, 8 * HOUR_S),
)


def stimuli(tested: Tested) -> Finding:
    """Cross stimulus: three writes in a row."""
    found = [(stream_of(r).pattern, size_bytes(r), r.run_s) for r in tested.runs]
    text = several((f"{p} {size_text(s)} {time_text(t)}" for p, s, t in found))
    is_so = len(found) == len(STIMULI) and all(
        one[:2] == asked[:2] and one[2] >= SHORT * asked[2]
        for one, asked in zip(found, STIMULI, strict=False)
    )
    why = "sequential 1MiB 8 h, random 8KiB 6 h, sequential 1MiB 8 h are asked for"
    writes = all(stream_of(r).read_percent == 0 for r in tested.runs)
    return held(is_so and writes, text, why)


COMPOSITE = {
    **{512: 4, 1024: 1, 1536: 1, 2048: 1, 2560: 1, 3072: 1, 3584: 1},
    **{4 * KIB: 67, 8 * KIB: 10, 16 * KIB: 7, 32 * KIB: 3, 64 * KIB: 3},
}
SPOTS = ((50, 5), (30, 15), (20, 80))


def composite(tested: Tested) -> Finding:
    """Composite: the sizes of JESD219, 40/60, hot spots."""
    return held(
        all(map(_is_composite, tested.rounds)),
        several(map(_composite_text, tested.rounds)),
        "40/60 of 12 sizes; 50 % in 5 %, 30 % in 15 %, 20 % in 80 % of the drive",
    )


def _is_composite(run: RunRecord) -> bool:
    stream = stream_of(run)
    sizes = {share.size_bytes: share.percent for share in stream.write_sizes}
    spots = stream.distribution
    zones = (
        tuple((s.io_percent, s.space_percent) for s in spots.spots)
        if isinstance(spots, Hotspots)
        else ()
    )
    return sizes == COMPOSITE and zones == SPOTS and stream.read_percent == 40


def _composite_text(run: RunRecord) -> str:
    stream = stream_of(run)
    sizes = counted(len(stream.write_sizes), "size")
    return f"{mix_text(run)} of {sizes}, {stream.distribution.kind}"


def composite_alignment(tested: Tested) -> Finding:
    """Composite: I/O of 4 KiB and more begins on 4 KiB, smaller I/O on 512 B."""
    aligned = {stream_of(run).align_bytes for run in tested.rounds}
    text = several(
        f"all on {size_text(one)}" if one else "each on its own size" for one in aligned
    )
    why = (
        "I/O below 4 KiB begins on 512 B in JESD219; a stream has one alignment, and "
        "4 KiB is right for 90 % of its I/O"
    )
    return Finding("deviates", text, why)


def demand(tested: Tested) -> Finding:
    """Demand intensity: random 8 KiB 65/35."""
    texts = _accesses(tested.rounds)
    return held(texts == ["random 8KiB 65/35"], several(texts), "random 8KiB 65/35")


def _accesses(runs: Iterable[RunRecord]) -> list[str]:
    texts = (
        f"{stream_of(r).pattern} {size_text(size_bytes(r))} {mix_text(r)}" for r in runs
    )
    return list(dict.fromkeys(texts))
