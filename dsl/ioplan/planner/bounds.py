"""Between which bounds the time and the bytes written of a plan lie."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import inf, sqrt
from typing import NamedTuple, Protocol, runtime_checkable

from ioplan.job import SECOND_NS
from ioplan.language.plan import PurgeStep, WriteStep
from ioplan.planner.estimate import Assumptions, Cost, Estimator, Speed, mean_bytes
from ioplan.planner.steps import Prepare, Run, SingleStep
from ioplan.workload import Stream, Workload

DEVIATIONS = 4.0
"""How far chance takes counts of I/Os from their mean."""
PAGE_BYTES = 4096
NEAR = 1.1
"""Bounds so near to each other are told as one figure, with "about"."""
NEVER = 1e15
"""No plan takes so many seconds; a drive without limits writes as many bytes more."""


class Speeds(NamedTuple):
    """A drive is no slower, the less while it need not collect garbage, and no faster
    than any of the fastest, each of which has written so many bytes ahead."""

    slowest: Speed
    uncollected: Speed
    fastest: tuple[tuple[Speed, float], ...]

    @classmethod
    def exactly(cls, speed: Speed) -> Speeds:
        """Of a drive that is assumed."""
        return cls(speed, speed, ((speed, 0.0),))


def _at(speed: float) -> Assumptions:
    return Assumptions(bandwidth_bytes_per_s=speed, iops=speed, latency_s=1 / speed)


ANY = Speeds(_at(1e-30), _at(1e-30), ((_at(1e30), 0.0),))
"""Of a drive that nothing is known of."""


@runtime_checkable
class BoundedDrive(Protocol):
    """A drive that can tell how fast it may be."""

    def speeds(self) -> Speeds:
        """Between which bounds its speed lies, in whatever state it is."""


class Range(NamedTuple):
    """Time and bytes of one step or of many: at least, and at most."""

    least: Cost
    most: Cost


class Bounds:
    """Bounds of steps in their order, on a target of some capacity that begins erased,
    and on drives of such speeds."""

    def __init__(self, capacity_bytes: int, speeds: Speeds = ANY) -> None:
        self.is_any, self.capacity_bytes = speeds is ANY, capacity_bytes
        self.slowest, self.uncollected = (
            [
                Estimator(capacity_bytes, speed, is_least=least)
                for least in (False, True)
            ]
            for speed in (speeds.slowest, speeds.uncollected)
        )
        self.is_assumed = speeds.slowest is speeds.fastest[0][0]
        self._purge()
        self.fastest, self.fastest_least = (
            [
                Estimator(capacity_bytes, *fast, is_least=least)
                for fast in speeds.fastest
            ]
            for least in (False, True)
        )

    def of(self, step: SingleStep, least: int = 1, most: int = 1) -> Range:
        """A step that is done at least, and at most, so often."""
        once = self._once(step, most)
        if least == most == 1:
            return once
        return Range(once.least.repeated(least), once.most.repeated(most))

    def _once(self, step: SingleStep, times: int) -> Range:
        """A step that is done so often at most, each time."""
        if self.is_assumed and not _may_end(step):
            cost = self.fastest[0].cost(step)
            return Range(cost, cost)
        if isinstance(step, Run) and (known := self._timed(step)):
            return known
        purges = isinstance(step, Prepare) and isinstance(step.step, PurgeStep)
        if purges:
            self._purge()
            return Range(Cost(), Cost(inf) if self.is_any else Cost())
        spread = _spread(step)
        largest = min(one.cost(step).written_bytes for one in self.fastest)
        largest += spread * sqrt(largest)
        slowest, slowest_least = self._slowest(step, largest * times)
        longest = Cost(slowest.cost(step).run_s, largest)
        run_s = max(one.cost(step).run_s for one in self.fastest_least)
        written = slowest_least.cost(step).written_bytes
        if isinstance(step, Run) and step.probing:
            written = 0.0  # at the least value
        shortest = Cost(run_s, max(0.0, written - spread * sqrt(written)))
        return Range(_plain(shortest), _plain(longest))

    def _purge(self) -> None:
        self.erased_bytes, self.in_order = float(self.capacity_bytes), True

    def _slowest(self, step: SingleStep, written_bytes: float) -> list[Estimator]:
        """As slow as the drive may be once a step has written so much: what is written
        to erased flash, or always in order, leaves no garbage between other data."""
        if written_bytes and not _in_order(step):
            self.in_order = False
            written_bytes *= _touched(step)
        self.erased_bytes -= written_bytes
        spared = self.in_order or self.erased_bytes >= 0
        return self.uncollected if spared else self.slowest

    def _timed(self, run: Run) -> Range | None:
        """What the plan alone says, where that is enough: many runs are such."""
        warmup_ns, run_ns, limit_bytes, passes = run.length
        if run_ns is None or limit_bytes or passes or run.every_ns or run.probing:
            return None
        if run.writes and not self.is_any:
            return None
        known = _of_time(run_ns + warmup_ns, run.writes)
        if run.writes and any(one.rate or one.replay for one in run.workload.streams):
            largest = self.fastest[0].cost(run).written_bytes
            largest += _spread(run) * sqrt(largest)
            return Range(known.least, Cost(known.least.run_s, _finite(largest)))
        return known


@lru_cache(maxsize=64)
def _of_time(run_ns: int, writes: bool) -> Range:
    """Any drive takes so long, and writes as much as it can."""
    run_s = run_ns / SECOND_NS
    return Range(Cost(run_s), Cost(run_s, inf if writes else 0.0))


def _plain(cost: Cost) -> Cost:
    """Without what a drive of no speed, or of any, comes to."""
    return Cost(*map(_finite, cost))


def _finite(value: float) -> float:
    return inf if value >= NEVER else value if value >= 1 / NEVER else 0.0


def _may_end(step: SingleStep) -> bool:
    """Whether what is found decides how long a step goes on."""
    if isinstance(step, Run):
        return bool(step.probing or step.every_ns)
    return (
        isinstance(step, Prepare)
        and isinstance(step.step, WriteStep)
        and bool(step.step.rule)
    )


def _workload(step: SingleStep) -> Workload | None:
    """What a step does on the target, if it does anything."""
    if isinstance(step, Prepare):
        return step.step.workload if isinstance(step.step, WriteStep) else None
    return step.workload if isinstance(step, Run) else None


def _in_order(step: SingleStep) -> bool:
    """Whether a single stream writes, one block after the other."""
    workload = _workload(step)
    writers = [one for one in workload.streams if one.writes] if workload else []
    return len(writers) == 1 and writers[0].pattern == "sequential"


def _touched(step: SingleStep) -> float:
    """How many times as much as is written is touched: whole pages are programmed."""
    workload = _workload(step)
    writers = [one for one in workload.streams if one.writes] if workload else []
    sizes = [mean_bytes(one.write_sizes) for one in writers if _is_partial(one)]
    return 1 + PAGE_BYTES / min(sizes) if sizes else 1.0


def _is_partial(stream: Stream) -> bool:
    ends = {share.size_bytes for share in stream.write_sizes} | {stream.align_bytes}
    return any(end % PAGE_BYTES for end in ends if end)


def _spread(step: SingleStep) -> float:
    """By how many roots of bytes chance changes what is written."""
    if not isinstance(step, Run):
        return 0.0
    variation, largest = 1.0, 0.0
    for stream in step.workload.streams:
        if _is_drawn(stream):
            largest = max(largest, mean_bytes(stream.write_sizes))
            if stream.rate:
                variation = max(variation, stream.rate.gap_variation)
    return DEVIATIONS * variation * sqrt(largest)


def _is_drawn(stream: Stream) -> bool:
    """Whether chance decides how many I/Os are writes, how large, or when they come."""
    if 0 < stream.read_percent < 100 or 0 < stream.trim_percent < 100:
        return True
    arrives = stream.rate is not None and stream.rate.arrivals != "fixed"
    return arrives or len(stream.write_sizes) > 1


def between(least: float, most: float, text: Callable[[float], str]) -> str:
    """Bounds in words: one figure, if they are near to each other."""
    if most == inf:
        return f"at least {text(least)}"
    if text(least) == text(most):
        return text(most)
    if most <= NEAR * least:
        return f"about {text((least + most) / 2)}"
    if text(least) == text(0.0):
        return f"at most {text(most)}"
    return f"{text(least)} to {text(most)}"
