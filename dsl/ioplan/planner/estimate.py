"""How long a plan takes and how much it writes, before anything has run.

Durations that the plan states are exact. Where bytes decide the time, or time the
bytes, it takes a drive's speed: an assumed one, or the ends of what a drive may do.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import inf
from typing import NamedTuple, Protocol

from ioplan.core.memo import ByIdentity
from ioplan.core.model import Model
from ioplan.core.units import bandwidth_text, iops_text, latency_text
from ioplan.job import SECOND_NS
from ioplan.language.plan import PrepareStep, PurgeStep, RestStep, Rounds, SteadyRule
from ioplan.planner.seek.search import Probe, most_probes
from ioplan.planner.steps import (
    Idle,
    Prepare,
    RoundsOf,
    Run,
    SeekOf,
    SingleStep,
    Step,
)
from ioplan.workload import Rate, SizeShare, Stream, Workload


def with_repetitions(steps: Iterable[Step]) -> Iterator[tuple[SingleStep, int]]:
    """Single steps, each with how often it is done; of rounds, at most."""
    return ((step, most) for step, _, most in with_bounds(steps))


def with_bounds(steps: Iterable[Step]) -> Iterator[tuple[SingleStep, int, int]]:
    """Single steps, each with how often it is done: at least, and at most.

    What a round prepares may differ from the first to the second; all later ones
    are like the second.
    """
    for step in steps:
        if isinstance(step, RoundsOf):
            yield from _in_rounds(step)
        elif isinstance(step, SeekOf):
            yield from _in_seek(step)
        else:
            yield step, 1, 1


def _in_seek(step: SeekOf) -> Iterator[tuple[SingleStep, int, int]]:
    """As often as it may probe, each probe its longest and at the end of the range
    where most is written; at least once.

    What is at the lowest value is there to be checked, and not done.
    """
    most, end = most_probes(step.bounds), step.seek.highest
    if step.seek.axis.rpartition(".")[2] in ("read", "trim"):
        end = step.seek.lowest
    confirmations = min(step.bounds.confirmations, most)
    first = list(step.probe(Probe(float(end.key), "bracket", 1)))
    later = list(step.probe(Probe(float(end.key), "confirm", 2)))
    for single in first[:-1]:
        yield single, 1, 1
    for single in later[:-1]:
        yield single, 0, most - 1
    yield step.finding, 0, 0
    yield first[-1], min(1, most - confirmations), most - confirmations
    yield later[-1], 0, confirmations


def _in_rounds(step: RoundsOf) -> Iterator[tuple[SingleStep, int, int]]:
    most, least = step.rounds.at_most, least_rounds(step.rounds)
    if step.test.after is None:
        yield from ((single, least, most) for single in step.round(1))
        return
    rounds = zip(_parts(step.round(1)), _parts(step.round(2)), strict=True)
    for (first, single), (later, _) in rounds:
        for position, prepare in sorted((first | later).items()):
            once, again = position in first, position in later
            yield prepare, once + again * (least - 1), once + again * (most - 1)
        yield single, least, most


LEAST_ROUNDS = 3
"""Fewer rounds decide no cell."""


def least_rounds(rounds: Rounds) -> int:
    """Fewer tell nothing: not whether a cell is steady, nor what it is known within."""
    needed = rounds.rule.window if rounds.rule else LEAST_ROUNDS
    return min(needed, rounds.at_most)


def _parts(
    steps: Iterable[SingleStep],
) -> Iterator[tuple[dict[int, Prepare], Run | Idle]]:
    """Each run or rest, with the preparation before it by its position."""
    prepares: dict[int, Prepare] = {}
    for step in steps:
        if isinstance(step, Prepare):
            prepares[step.position] = step
        else:
            yield prepares, step
            prepares = {}


class Speed(Protocol):
    """How fast a drive does streams."""

    @property
    def most_bytes_per_s(self) -> float:
        """All streams together are no faster."""

    def loop_iops(
        self, stream: Stream, mean_bytes: float, depth: int, beside: Sequence[Stream]
    ) -> float:
        """The I/Os per second of a closed loop with so many outstanding, `beside` other
        streams."""


class Assumptions(Model):
    """A middling NVMe drive."""

    bandwidth_bytes_per_s: float = 1e9
    iops: float = 200_000
    latency_s: float = 80e-6

    @property
    def most_bytes_per_s(self) -> float:
        """All streams together are no faster."""
        return self.bandwidth_bytes_per_s

    def loop_iops(
        self, stream: Stream, mean_bytes: float, depth: int, beside: Sequence[Stream]
    ) -> float:
        """The I/Os per second of a closed loop, by what limits it most."""
        return min(
            self.iops,
            depth / self.latency_s,
            self.bandwidth_bytes_per_s / mean_bytes,
        )

    def __str__(self) -> str:
        return (
            f"{bandwidth_text(self.bandwidth_bytes_per_s)}, "
            f"{iops_text(self.iops)} IOPS, {latency_text(self.latency_s * 1e9)}"
        )


class Cost(NamedTuple):
    """Time and bytes written of one step or of many."""

    run_s: float = 0.0
    written_bytes: float = 0.0

    def repeated(self, factor: int) -> Cost:
        """The cost of doing it so often."""
        if factor < 2:
            return self if factor else Cost()
        return Cost(self.run_s * factor, self.written_bytes * factor)


def mean_bytes(sizes: tuple[SizeShare, ...]) -> float:
    """The mean block size of a distribution."""
    return sum(share.size_bytes * share.percent for share in sizes) / 100


_mean_bytes = ByIdentity(mean_bytes)


def mix_of(stream: Stream) -> tuple[float, float]:
    """Bytes of an I/O in the mean, and bytes written: trims only count for passes."""
    trims = stream.trim_percent / 100
    reads = (1 - trims) * stream.read_percent / 100
    write_bytes = _mean_bytes(stream.write_sizes)
    size = reads * _mean_bytes(stream.read_sizes) + (1 - reads) * write_bytes
    return size, (1 - reads - trims) * write_bytes


class Estimator:
    """Costs of steps on a target of some capacity, at a speed.

    `ahead_bytes` are written in no time, such as to a cache. With `is_least`, what
    goes on until it is steady or decided ends as soon as it may.
    """

    def __init__(
        self,
        capacity_bytes: int,
        speed: Speed | None = None,
        ahead_bytes: float = 0.0,
        is_least: bool = False,
    ) -> None:
        self.capacity_bytes, self.ahead_bytes = capacity_bytes, ahead_bytes
        self.speed: Speed = speed or Assumptions.model_construct()
        self.is_least = is_least

    def cost(self, step: Step) -> Cost:
        """The cost of one step; of rounds, at most."""
        if isinstance(step, Run):
            return self._run(step)
        if isinstance(step, Idle):
            return Cost(run_s=step.pause_ns / SECOND_NS)
        if isinstance(step, RoundsOf | SeekOf):
            return self.total([step])
        return self.preparation(step.step)

    def total(self, steps: Iterable[Step]) -> Cost:
        """The cost of all steps together."""
        return self.total_of(with_repetitions(steps))

    def total_of(self, steps: Iterable[tuple[SingleStep, int]]) -> Cost:
        """The cost of single steps, each with how often it is done."""
        run_s = written = 0.0
        for step, times in steps:
            cost = self.cost(step)
            run_s += cost.run_s * times
            written += cost.written_bytes * times
        return Cost(run_s=run_s, written_bytes=written)

    def _run(self, step: Run) -> Cost:
        warmup_ns, run_ns, limit_bytes, passes = step.length
        if self.is_least and step.probing and run_ns:
            run_ns = round((step.probing.least_ns or run_ns) * LEAST_PROBE)
        elif self.is_least and step.every_ns and step.template.rule:
            least_ns, passes = _least(step.template.rule, step.every_ns, 0.0)
            return self._io(step.workload, None, None, passes, warmup_ns, least_ns)
        return self._io(step.workload, run_ns, limit_bytes, passes, warmup_ns)

    def _io(
        self,
        workload: Workload,
        run_ns: int | None,
        limit_bytes: int | None,
        passes: float | None,
        warmup_ns: int = 0,
        least_ns: int = 0,
    ) -> Cost:
        moved, written = self._rates(workload, run_ns)
        if run_ns is not None and passes is None and not least_ns:
            run_s = (run_ns + warmup_ns) / SECOND_NS
            return Cost(run_s, written * run_s + self.ahead_bytes * (written > 0))
        ends = [run_ns / SECOND_NS] if run_ns is not None else []
        amount = self._amount(workload, limit_bytes, passes)
        ahead = self.ahead_bytes * moved / written if written else 0.0
        ends.append(max(0.0, amount - ahead) / max(moved, SLOWEST))
        run_s = max(min(ends), least_ns / SECOND_NS) + warmup_ns / SECOND_NS
        most = (
            inf
            if run_ns is not None or least_ns
            else amount * written / max(moved, SLOWEST)
        )
        return Cost(
            run_s, min(most, written * run_s + self.ahead_bytes * (written > 0))
        )

    def _amount(
        self, workload: Workload, limit_bytes: int | None, passes: float | None
    ) -> float:
        if limit_bytes is not None:
            return float(limit_bytes)
        return (passes or 0) * sum(self._region(stream) for stream in workload.streams)

    def _region(self, stream: Stream) -> float:
        if stream.replay:
            return stream.replay.moved_bytes
        start, end = stream.region.edges_percent(self.capacity_bytes)
        return self.capacity_bytes * max(0.0, end - start) / 100

    def preparation(self, step: PrepareStep) -> Cost:
        """The cost of one step of a precondition."""
        if isinstance(step, PurgeStep):
            return Cost()
        if isinstance(step, RestStep):
            return Cost(run_s=step.pause_ns / SECOND_NS)
        if self.is_least and step.rule:
            every = step.every_ns or 0, step.every_percent or 0.0
            least_ns, passes = _least(step.rule, *every)
            return self._io(step.workload, None, None, passes, least_ns=least_ns)
        return self._io(step.workload, step.run_ns, None, step.passes)

    def _rates(self, workload: Workload, run_ns: int | None) -> tuple[float, float]:
        """Bytes per second moved and written, all streams together, in the mean."""
        moved = written = 0.0
        for stream in workload.streams:
            more, more_written = self._speed(stream, run_ns, workload.streams)
            if run_ns and (stream.starts_ns or stream.ends_ns):
                share = stream.own_ns(run_ns) / run_ns
                more, more_written = more * share, more_written * share
            moved, written = moved + more, written + more_written
        fastest = self.speed.most_bytes_per_s
        if moved <= fastest:
            return moved, written
        return fastest, written * fastest / moved

    def _speed(
        self, stream: Stream, run_ns: int | None, streams: Sequence[Stream]
    ) -> tuple[float, float]:
        """The mean speed of one stream in its part of a run, by what limits it most."""
        size, written_bytes = mix_of(stream)
        iops = self._iops(stream, size, streams)
        if stream.rate:
            per_io = 1.0 if stream.rate.iops is not None else size
            own_ns = stream.own_ns(run_ns) if run_ns else None
            iops = mean_rate(stream.rate, own_ns, iops * per_io) / per_io
        if stream.replay and stream.pace != "fast":
            span_s = max(stream.replay.span_ns, 1) / SECOND_NS / stream.speed
            iops = min(iops, stream.replay.moved_bytes / size / span_s)
        return iops * size, iops * written_bytes

    def _iops(
        self, stream: Stream, mean_bytes: float, streams: Sequence[Stream]
    ) -> float:
        """The I/Os per second of a closed loop: bursts, where it pauses."""
        depth = min(stream.qd, stream.pause_every) if stream.pause_ns else stream.qd
        depth *= stream.threads
        iops = self.speed.loop_iops(stream, mean_bytes, depth, streams)
        if not stream.pause_ns:
            return iops
        burst = stream.threads * stream.pause_every
        return burst / (burst / iops + stream.pause_ns / SECOND_NS)


SLOWEST = 1e-30
"""In bytes per second: what moves nothing never ends."""
LEAST_PROBE = 0.25
"""The part of a probe's time after which it may be a no."""


def _least(rule: SteadyRule, every_ns: int, every_percent: float) -> tuple[int, float]:
    """The time, and the passes, that something goes on before it is steady.

    A window ends with the interval that comes nearest to its length.
    """
    windows = rule.window - 1
    return windows * every_ns, max(rule.least_passes, windows * every_percent / 100)


def mean_rate(rate: Rate, span_ns: int | None, most: float) -> float:
    """The mean of a rate in its unit over its first `span_ns`, at `most` at any time.

    Without a span it is that of a whole cycle.
    """
    if not rate.phases:
        return min(most, rate.iops or rate.bytes_per_s or 0.0)
    cycle_ns = sum(phase.length_ns for phase in rate.phases)
    span_ns = span_ns or cycle_ns
    whole, rest_ns = divmod(span_ns, cycle_ns)
    done = 0.0
    for phase in rate.phases:
        part_ns = min(phase.length_ns, rest_ns)
        done += min(phase.per_s, most) * (whole * phase.length_ns + part_ns)
        rest_ns -= part_ns
    return done / span_ns


def iops_of(rate: Rate, mean_size_bytes: float) -> float:
    """The I/Os per second that a rate asks for."""
    if rate.iops is not None:
        return rate.iops
    assert rate.bytes_per_s is not None
    return rate.bytes_per_s / mean_size_bytes
