"""Whether the values of a run or of rounds are steady, or known well enough.

Steady state is as SNIA's Performance Test Specification (PTS 2.0) defines it: over the
last `window` values (largest - smallest) / mean is within the range limit, and the
least-squares line rises or falls over the whole window by no more than the slope limit:
|slope| x (window - 1) / mean. The slope of one step is not what is limited.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from math import hypot, sqrt
from statistics import fmean, pstdev
from typing import Literal

from msgspec import Struct, field

from ioplan.core.statistics.student_t import quantile
from ioplan.core.units import digits, percent_text, share_text
from ioplan.drive_needs import Standing, but_lacking
from ioplan.job import SECOND_NS, Progress, Wear
from ioplan.language.metric import Metric
from ioplan.language.plan import SteadyRule, Within
from ioplan.records.record import Decided, DriveState, Steady
from ioplan.results.measure.measurement import Measurement
from ioplan.results.measure.metrics import Figure, Sample, figure
from ioplan.results.measure.wear import StatedSpare, wear_since

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
WAF = Metric(name="waf")


def least_squares_slope(values: Sequence[float]) -> float:
    """The slope per step of the least-squares line through equidistant values."""
    n = len(values)
    middle, mean = (n - 1) / 2, sum(values) / n
    above = sum((i - middle) * (v - mean) for i, v in enumerate(values))
    return above / sum((i - middle) ** 2 for i in range(n))


def _line(values: Sequence[float]) -> tuple[float, float, float]:
    """The mean, the slope, and by how many percent of the mean the line changes."""
    mean = sum(values) / len(values) if values else 0.0
    slope = least_squares_slope(values) if len(values) > 1 else 0.0
    return mean, slope, abs(slope) * (len(values) - 1) / mean * 100 if mean else 0.0


def _values(figures: Sequence[Figure]) -> tuple[tuple[float, ...], str]:
    """The values of figures, 0 for none, and why there is none of the first without."""
    why = next((figure.why for figure in figures if figure.value is None), "")
    return tuple(figure.value or 0.0 for figure in figures), why


def assess(rule: SteadyRule, figures: Sequence[Figure]) -> Steady:
    """Assess the last values; `why` says what is missing."""
    values, why = _values(figures[-rule.window :])
    mean, slope, slope_percent = _line(values)
    range_percent = (max(values) - min(values)) / mean * 100 if mean else 0.0
    limits = (
        ("range", range_percent, rule.range_percent),
        ("slope", slope_percent, rule.slope_percent),
    )
    missing = [f"{n} {share_text(v, m)}" for n, v, m in limits if v > m + TOLERANCE]
    if len(values) < rule.window:
        why = why or f"{len(values)} of {rule.window} values so far"
    else:
        why = why or (", ".join(missing) if mean else f"{rule.metric} is 0")
    return Steady(
        metric=str(rule.metric),
        unit=rule.metric.unit,
        values=values,
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


def borne(steady: Steady, state: Standing | DriveState) -> Steady:
    """The assessment, steady only where the drive's state can bear it."""
    change = {"evidence": state.evidence, "settled": steady.reached}
    if steady.reached and state.lacks:
        within = percent_text(max(steady.range_percent, 0.1))
        settled = f"settled within {within} over {len(steady.values)} values"
        change |= {"reached": False, "why": settled + but_lacking(state.lacks)}
    elif steady.reached:
        change["limits"] = state.limits
    return steady.model_copy(update=change)


# Runs that go on until they are steady.

WearMeter = Callable[[Progress], Wear | None]
"""What was written in the run so far, if the drive or its log tells."""
StandingOf = Callable[[float | None, bool], Standing]
"""What the account of the drive's state says now, with its write amplification, and
whether that is the one of its spare."""
Unit = Literal["ns", "bytes"]
Every = tuple[int, Unit]


class Windows(Struct):
    """Collects the intervals of a run, without its warm-up, into windows.

    A window ends with the interval that comes nearest to its length: so many ns, or
    bytes that were moved. With a `meter` it has what was written in it.
    """

    every: int
    of: Unit = "ns"
    meter: WearMeter | None = None
    worn: Wear | None = None
    window: Measurement = field(default_factory=Measurement)
    amount: int = 0

    def add(self, progress: Progress) -> Sample | None:
        """Take an interval; the window that has ended with it."""
        if progress.warmup:
            return None
        window, length_ns = self.window, self.window.run_ns + progress.interval_ns
        window.add(progress)
        window.run_ns = length_ns  # its own, and not that of the run so far
        parts = [part for s in progress.streams for part in s.directions.values()]
        moved_bytes = sum(part.bytes for part in parts)
        more = progress.interval_ns if self.of == "ns" else moved_bytes
        self.amount += more
        if self.amount + more // 2 < self.every:
            return None
        before, self.worn = self.worn, self.meter(progress) if self.meter else None
        window.wear = wear_since(before, self.worn)
        self.window, self.amount = Measurement(), 0
        return Sample(window, window.detail)


class SteadyWatch(Struct, dict=True):
    """Assesses the values of windows.

    Those that begin before the rule's least passes are over do not count.
    """

    rule: SteadyRule
    windows: Windows
    on_assessment: Callable[[Steady, int], None]
    pass_bytes: int = 1
    stated: StatedSpare | None = None
    standing: StandingOf | None = None
    moved_bytes: int = 0
    wafs: list[tuple[float, float]] = []
    values: list[Figure] = []
    begins_s: list[float] = []

    def __post_init__(self) -> None:
        self.stated = self.stated if self.rule.metric.name == "waf" else None
        self.last = assess(self.rule, ())

    def add(self, progress: Progress) -> bool:
        """Take an interval; True once the values are steady."""
        window = self.windows.add(progress)
        if window:
            begin_s = progress.t_ns / SECOND_NS - window.record.run_s
            self.last = self._borne(self._assessed(window, begin_s), window)
            self.on_assessment(self.last, len(self.values))
        return bool(window) and self.last.reached

    @property
    def passes(self) -> float:
        return self.moved_bytes / self.pass_bytes

    def _assessed(self, window: Sample, begin_s: float) -> Steady:
        """The assessment with the window that began then and has ended."""
        begin = self.passes
        moved = window.record.directions.values()
        self.moved_bytes += sum(part.bytes for part in moved)
        if begin < self.rule.least_passes:
            least = f"{self.rule.least_passes:g} passes"
            why = f"{digits(begin, 2)} of at least {least} so far"
            return _refused(assess(self.rule, ()), why)
        value = figure(self.rule.metric, [window])
        waf = value.value if self.rule.metric.name == "waf" else None
        collects = self.stated and begin >= ENOUGH_PASSES
        if waf is not None and waf <= PLATEAU and not collects:
            why = f"WAF is {digits(waf)}: garbage collection has not begun"
            value = Figure(None, why)
        self.values.append(value)
        self.begins_s.append(begin_s)
        if self.stated and value.value is None:
            self.stated.uncollected(100 * (self.passes - begin))
        first = {"begin_s": self.begins_s[-self.rule.window :][0]}
        steady = assess(self.rule, self.values).model_copy(update=first)
        return self._fitting(steady)

    def _fitting(self, steady: Steady) -> Steady:
        """Not steady where it is flat at what the spare cannot have.

        Where the spare was more than the shaped write knew, a whole pass must follow. A
        drive that does not amplify even then is written in place: it has no garbage.
        """
        stated, passes = self.stated, self.passes
        if not stated or not steady.reached or steady.mean <= PLATEAU:
            return steady
        why = stated.misfit(steady.mean)
        if stated.is_least and passes >= ENOUGH_PASSES:
            return steady
        if stated.has_grown and not why:
            why = f"{digits(passes, 2)} of {ENOUGH_PASSES:g} passes so far"
        return _refused(steady, why)

    def _borne(self, steady: Steady, window: Sample) -> Steady:
        """The assessment against the drive's state, and how its amplification goes."""
        waf = figure(WAF, [window]).value
        if waf is not None:
            self.wafs.append((self.passes, waf))
        fits = self.stated is not None and steady.reached
        if steady.reached and not fits and waf and waf > PLATEAU:
            why = _rise(self.wafs)
            fits = not why
            steady = _refused(steady, why)
        return borne(steady, self.standing(waf, fits)) if self.standing else steady


def _refused(steady: Steady, why: str) -> Steady:
    return steady.model_copy(update={"reached": not why, "why": why})


def _rise(wafs: Sequence[tuple[float, float]]) -> str:
    """Why the last write amplification, known at passes, may rise further; or empty.

    Its mean over a quarter of a pass is compared with that half a pass earlier, beyond
    the standard error of their difference.
    """
    passes = wafs[-1][0]
    late = [waf for at, waf in wafs if at > passes - A_QUARTER_PASS]
    early = [waf for at, waf in wafs if at <= passes - HALF_A_PASS][-len(late) :]
    if not early:
        return f"WAF is known for {digits(passes, 2)} of {HALF_A_PASS} passes so far"
    before, now = fmean(early), fmean(late)
    error = hypot(*(pstdev(part) / sqrt(len(part)) for part in (early, late)))
    rises = now > RISES * before + error
    return f"WAF still rises: {digits(before)}, then {digits(now)}" if rises else ""


# Cells that are repeated until their means are known.

LEAST = 3
"""The rounds before which nothing is decided."""
RISK = 0.05
"""The share of cells that may be decided although their mean is farther off."""


def decide(within: Within, figures: Sequence[Figure]) -> Decided:
    """What is known of a cell's mean by its rounds; `why` says what is not.

    It is looked at after each round from the third on. So that all looks together err
    in at most 5 % of cells, the k-th has a chance of 5 % / (k (k + 1)) (Bonferroni;
    Student's t). The first third of the rounds is left out, as a drive may still drift
    there, and what the others drift counts like uncertainty.
    """
    values, why = _values(figures[-max(LEAST, (2 * len(figures) + 2) // 3) :])
    mean, _, drift = _line(values)
    half = 0.0
    if len(values) < LEAST:
        why, drift = why or f"{len(values)} of {LEAST} values so far", 0.0
    elif mean <= 0:
        why, drift = why or f"{within.metric} is 0", 0.0
    else:
        half = _half_width(values, mean, len(figures)) / mean * 100
        if not why and half + drift > within.percent:
            why = f"known within {share_text(half + drift, within.percent)}"
    return Decided(
        metric=str(within.metric),
        unit=within.metric.unit,
        values=values,
        mean=mean,
        half_width_percent=half,
        drift_percent=drift,
        within_percent=within.percent,
        reached=not why,
        why=why,
    )


def _half_width(values: Sequence[float], mean: float, rounds: int) -> float:
    look, count = rounds - LEAST + 1, len(values)
    variance = sum((value - mean) ** 2 for value in values) / (count - 1)
    t = _quantile(1 - RISK / (look * (look + 1)) / 2, count - 1)
    return t * sqrt(variance / count)


_quantile = cache(quantile)
