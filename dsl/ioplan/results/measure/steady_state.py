"""Steady state, as SNIA's Performance Test Specification (PTS 2.0) defines it.

Over the last `window` values: (largest - smallest) / mean is within the range
limit, and the least-squares line rises or falls over the whole window by no more
than the slope limit: |slope| x (window - 1) / mean. The slope of one step is not
what is limited.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import hypot, sqrt
from statistics import fmean, pstdev
from typing import Literal, NamedTuple

from msgspec import Struct

from ioplan.core.units import digits
from ioplan.drive_needs import Standing, but_lacking
from ioplan.job import SECOND_NS, Job, Progress, Wear
from ioplan.language.plan import SteadyRule
from ioplan.planner.jobs import pass_bytes
from ioplan.records.record import DirectionResult, DriveState, Steady, StreamResult
from ioplan.records.telemetry import Telemetry
from ioplan.results.measure.measurement import Measurement
from ioplan.results.measure.metrics import Figure, Sample, figure
from ioplan.results.measure.wear import StatedSpare, wear_since, wear_value
from ioplan.workload import Direction

PLATEAU = 1.02
"""A drive with erased blocks left does not amplify: that is flat, and not steady."""
ENOUGH_PASSES = 0.9
"""Of random writes, after which a shaped drive is steady whatever its spare is."""
TOLERANCE = 1e-9
"""In percent; a limit that is met exactly is met."""
RISES = 1.03
"""A write amplification that grows by more over half a pass is not at its end."""
HALF_A_PASS = 0.5
A_QUARTER_PASS = 0.25
"""A window's amplification varies by some percent: blocks are erased whole."""


def least_squares_slope(values: Sequence[float]) -> float:
    """The slope per step of the least-squares line through equidistant values."""
    n = len(values)
    middle, mean = (n - 1) / 2, sum(values) / n
    above = sum((i - middle) * (v - mean) for i, v in enumerate(values))
    return above / sum((i - middle) ** 2 for i in range(n))


def assess(rule: SteadyRule, figures: Sequence[Figure]) -> Steady:
    """Assess the last values; `why` says what is missing."""
    last = figures[-rule.window :]
    window = tuple(one.value or 0.0 for one in last)
    mean = sum(window) / len(window) if window else 0.0
    slope = least_squares_slope(window) if len(window) > 1 else 0.0
    range_percent, slope_percent = _figures(window, mean, slope)
    why = next((one.why for one in last if one.value is None), "")
    why = why or _why(rule, len(window), mean, range_percent, slope_percent)
    return Steady(
        metric=str(rule.metric),
        unit=rule.metric.unit,
        values=window,
        mean=mean,
        slope=slope,
        range_percent=range_percent,
        slope_percent=slope_percent,
        range_limit_percent=rule.range_percent,
        slope_limit_percent=rule.slope_percent,
        window=rule.window,
        reached=not why,
        why=why,
    )


def borne(found: Steady, state: Standing | DriveState) -> Steady:
    """The assessment, steady only where the drive's state can bear it."""
    changed = {"evidence": state.evidence, "settled": found.reached}
    if found.reached and state.lacks:
        why = settled_text(found) + but_lacking(state.lacks)
        changed |= {"reached": False, "why": why}
    elif found.reached:
        changed["limits"] = state.limits
    return found.model_copy(update=changed)


def settled_text(steady: Steady) -> str:
    """`settled within 1.0 % over 5 values`."""
    within = f"{max(steady.range_percent, 0.1):.1f} %"
    return f"settled within {within} over {len(steady.values)} values"


def _figures(window: Sequence[float], mean: float, slope: float) -> tuple[float, float]:
    if len(window) < 2 or not mean:
        return 0.0, 0.0
    spread = (max(window) - min(window)) / mean * 100
    excursion = abs(slope) * (len(window) - 1) / mean * 100
    return spread, excursion


def _why(
    rule: SteadyRule, n: int, mean: float, range_percent: float, slope_percent: float
) -> str:
    if n < rule.window:
        return f"{n} of {rule.window} values so far"
    if not mean:
        return f"{rule.metric} is 0"
    missing = []
    if range_percent > rule.range_percent + TOLERANCE:
        missing.append(f"range {range_percent:.1f} % > {rule.range_percent:g} %")
    if slope_percent > rule.slope_percent + TOLERANCE:
        missing.append(f"slope {slope_percent:.1f} % > {rule.slope_percent:g} %")
    return ", ".join(missing)


WearMeter = Callable[[Progress], Wear | None]
"""What was written in the run so far, if the drive or its log tells."""


StandingOf = Callable[[float | None, bool], Standing]
"""What the account of the drive's state says now, with its write amplification, and
whether that is the one of its spare."""


def steady_watch(
    rule: SteadyRule | None,
    every: Every | None,
    job: Job,
    on_assessment: Callable[[Steady, int], None],
    meter: WearMeter | None = None,
    stated: StatedSpare | None = None,
    standing: StandingOf | None = None,
) -> SteadyWatch | None:
    """The watch of a run that goes on until it is steady; None for any other."""
    if not rule or not every:
        return None
    windows = Windows(*every, meter=meter)
    stated = stated if rule.metric.name == "waf" else None
    of_job = pass_bytes(job), stated, standing
    return SteadyWatch(rule, windows, on_assessment, *of_job)


class Part(Struct, frozen=True):
    """A part of a run, with what a metric needs."""

    run_s: float
    total: DirectionResult
    directions: dict[Direction, DirectionResult]
    streams: tuple[StreamResult, ...]
    cpu_percent: float | None = None
    telemetry: Telemetry | None = None
    wear: Wear | None = None


class Every(NamedTuple):
    """How long a window is: so many ns, or until so many bytes were moved."""

    amount: int
    of: Literal["ns", "bytes"] = "ns"


class Windows:
    """Collects the intervals of a run, without its warm-up, into windows.

    A window ends with the interval that comes nearest to its length. With a `meter`
    it has what was written in it.
    """

    def __init__(
        self,
        every: int,
        of: Literal["ns", "bytes"] = "ns",
        meter: WearMeter | None = None,
    ) -> None:
        self.every, self.of, self.meter = every, of, meter
        self.worn: Wear | None = None
        self.wear: Wear | None = None
        self._start()

    def _start(self) -> None:
        self.window, self.window_ns, self.amount = Measurement(), 0, 0

    def add(self, progress: Progress) -> Sample | None:
        """Take an interval; the window that has ended with it."""
        if progress.warmup:
            return None
        self.window.add(progress)
        self.window_ns += progress.interval_ns
        more = progress.interval_ns if self.of == "ns" else _moved_bytes(progress)
        self.amount += more
        if self.amount + more // 2 < self.every:
            return None
        found, part = self.window, self._part(progress)
        self._start()
        return Sample(part, found.detail)

    def _part(self, progress: Progress) -> Part:
        window, run_s = self.window, self.window_ns / SECOND_NS
        before, self.worn = self.worn, self.meter(progress) if self.meter else None
        self.wear = wear_since(before, self.worn)
        return Part(
            run_s,
            window.total,
            window.directions,
            window.streams,
            wear=self.wear,
        )


def _moved_bytes(progress: Progress) -> int:
    counts = (one for stream in progress.streams for one in stream.directions.values())
    return sum(one.bytes for one in counts)


class SteadyWatch:
    """Assesses the values of windows.

    Those that begin before the rule's least passes are over do not count.
    """

    def __init__(
        self,
        rule: SteadyRule,
        windows: Windows,
        on_assessment: Callable[[Steady, int], None],
        pass_bytes: int = 1,
        stated: StatedSpare | None = None,
        standing: StandingOf | None = None,
    ) -> None:
        self.standing = standing
        self.wafs: list[tuple[float, float]] = []
        self.rule, self.on_assessment, self.stated = rule, on_assessment, stated
        self.pass_bytes, self.moved_bytes = pass_bytes, 0
        self.windows = windows
        self.values: list[Figure] = []
        self.last = assess(rule, ())

    def add(self, progress: Progress) -> bool:
        """Take an interval; True once the values are steady."""
        window = self.windows.add(progress)
        if window is None:
            return False
        self.last = self._borne(self._assessed(window))
        self.on_assessment(self.last, len(self.values))
        return self.last.reached

    def _borne(self, found: Steady) -> Steady:
        """The assessment against the drive's state, and how its amplification goes."""
        waf = wear_value("waf", [self.windows.wear])
        known = waf if isinstance(waf, float) else None
        passes = self.moved_bytes / self.pass_bytes
        if known is not None:
            self.wafs.append((passes, known))
        fits = self.stated is not None and found.reached
        if found.reached and not fits and known and known > PLATEAU:
            why = _rise(self.wafs)
            fits = not why
            found = found.model_copy(update={"reached": fits, "why": why or found.why})
        if not self.standing:
            return found
        return borne(found, self.standing(known, fits))

    def _assessed(self, window: Sample) -> Steady:
        """The assessment with the window that has ended."""
        passes = self.moved_bytes / self.pass_bytes
        self.moved_bytes += sum(one.bytes for one in window.record.directions.values())
        if passes >= self.rule.least_passes:
            found = figure(self.rule.metric, [window])
            if not (self.stated and passes >= ENOUGH_PASSES):
                found = _collecting(self.rule.metric.name, found)
            self.values.append(found)
            if self.stated and found.value is None:
                done = self.moved_bytes / self.pass_bytes - passes
                self.stated.uncollected(100 * done)
            return self._fitting(assess(self.rule, self.values))
        why = f"{passes:.2g} of at least {self.rule.least_passes:g} passes so far"
        return assess(self.rule, ()).model_copy(update={"why": why})

    def _fitting(self, found: Steady) -> Steady:
        """Not steady where it is flat at what the spare cannot have.

        Where the spare was more than the shaped write knew, a whole pass must follow. A
        drive that does not amplify even then is written in place: it has no garbage.
        """
        if not self.stated or not found.reached or found.mean <= PLATEAU:
            return found
        passes, why = self.moved_bytes / self.pass_bytes, self.stated.misfit(found.mean)
        if self.stated.is_least and passes >= ENOUGH_PASSES:
            return found
        if self.stated.has_grown and not why:
            why = f"{passes:.2g} of {ENOUGH_PASSES:g} passes so far"
        return found.model_copy(update={"reached": not why, "why": why})


def _rise(wafs: Sequence[tuple[float, float]]) -> str:
    """Why the last write amplification, known at passes, may rise further; or empty.

    Its mean over a quarter of a pass is compared with that half a pass earlier, beyond
    the standard error of their difference.
    """
    passes = wafs[-1][0]
    late = [waf for at, waf in wafs if at > passes - A_QUARTER_PASS]
    early = [waf for at, waf in wafs if at <= passes - HALF_A_PASS][-len(late) :]
    if not early:
        return f"waf is known of {passes:.2g} passes, and {HALF_A_PASS} are needed"
    before, now = fmean(early), fmean(late)
    error = hypot(*(pstdev(part) / sqrt(len(part)) for part in (early, late)))
    rises = now > RISES * before + error
    return f"waf still rises: {digits(before)}, then {digits(now)}" if rises else ""


def _collecting(metric: str, found: Figure) -> Figure:
    """The write amplification of a drive that collects garbage, else none."""
    if metric != "waf" or found.value is None or found.value > PLATEAU:
        return found
    return Figure(None, f"waf is {found.value:.2f}: no garbage is collected yet")
