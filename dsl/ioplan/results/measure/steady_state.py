"""Steady state, as SNIA's Performance Test Specification (PTS 2.0) defines it.

Over the last `window` values: (largest - smallest) / mean is within the range
limit, and the least-squares line rises or falls over the whole window by no more
than the slope limit: |slope| x (window - 1) / mean. The slope of one step is not
what is limited.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

from msgspec import Struct

from ioplan.job import SECOND_NS, Job, Progress, Wear
from ioplan.language.plan import SteadyRule
from ioplan.planner.jobs import pass_bytes
from ioplan.records.record import DirectionResult, Steady, StreamResult
from ioplan.records.telemetry import Telemetry
from ioplan.results.measure.measurement import Measurement
from ioplan.results.measure.metrics import Figure, Sample, figure
from ioplan.results.measure.wear import WEAR_METRICS, StatedSpare, wear_since
from ioplan.workload import Direction

PLATEAU = 1.02
"""A drive with erased blocks left does not amplify: that is flat, and not steady."""
ENOUGH_PASSES = 0.9
"""Of random writes, after which a shaped drive is steady whatever its spare is."""
TOLERANCE = 1e-9
"""In percent; a limit that is met exactly is met."""


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


def steady_watch(
    rule: SteadyRule | None,
    every: Every | None,
    job: Job,
    on_assessment: Callable[[Steady, int], None],
    meter: WearMeter | None = None,
    stated: StatedSpare | None = None,
) -> SteadyWatch | None:
    """The watch of a run that goes on until it is steady; None for any other."""
    if not rule or not every:
        return None
    is_metered = rule.metric.name in WEAR_METRICS
    windows = Windows(*every, meter=meter if is_metered else None)
    stated = stated if rule.metric.name == "waf" else None
    return SteadyWatch(rule, windows, on_assessment, pass_bytes(job), stated)


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
        return Part(
            run_s,
            window.total,
            window.directions,
            window.streams,
            wear=wear_since(before, self.worn),
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
    ) -> None:
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
        self.last = self._assessed(window)
        self.on_assessment(self.last, len(self.values))
        return self.last.reached

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


def _collecting(metric: str, found: Figure) -> Figure:
    """The write amplification of a drive that collects garbage, else none."""
    if metric != "waf" or found.value is None or found.value > PLATEAU:
        return found
    return Figure(None, f"waf is {found.value:.2f}: no garbage is collected yet")
