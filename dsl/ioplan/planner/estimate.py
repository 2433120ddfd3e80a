"""How long a plan takes and how much it writes, before anything has run.

Durations that the plan states are exact. Where bytes decide the time, or time
the bytes, a drive's speed is assumed; `assumptions` says which.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ioplan.core.memo import ByIdentity
from ioplan.core.model import Model
from ioplan.job import SECOND_NS
from ioplan.language.plan import PrepareStep, PurgeStep, RestStep
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
    """Single steps, each with how often it is done; of rounds, at most.

    What a round prepares may differ from the first to the second; all later ones
    are like the second.
    """
    for step in steps:
        if isinstance(step, RoundsOf):
            yield from _in_rounds(step)
        elif isinstance(step, SeekOf):
            yield from _in_seek(step)
        else:
            yield step, 1


def _in_seek(step: SeekOf) -> Iterator[tuple[SingleStep, int]]:
    """As often as it may probe, each probe at the highest value and its longest.

    What is at the lowest value is there to be checked, and not done.
    """
    most, highest = most_probes(step.bounds), float(step.seek.highest.key)
    confirmations = min(step.bounds.confirmations, most)
    first = list(step.probe(Probe(highest, "bracket", 1)))
    later = list(step.probe(Probe(highest, "confirm", 2)))
    for single in first[:-1]:
        yield single, 1
    for single in later[:-1]:
        yield single, most - 1
    yield step.finding, 0
    yield first[-1], most - confirmations
    yield later[-1], confirmations


def _in_rounds(step: RoundsOf) -> Iterator[tuple[SingleStep, int]]:
    most = step.rounds.at_most
    if step.test.after is None:
        yield from ((single, most) for single in step.round(1))
        return
    rounds = zip(_parts(step.round(1)), _parts(step.round(2)), strict=True)
    for (first, single), (later, _) in rounds:
        for position, prepare in sorted((first | later).items()):
            yield prepare, (position in first) + (position in later) * (most - 1)
        yield single, most


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


class Assumptions(Model):
    """A middling NVMe drive."""

    bandwidth_bytes_per_s: float = 1e9
    iops: float = 200_000
    latency_s: float = 80e-6

    def __str__(self) -> str:
        return (
            f"{self.bandwidth_bytes_per_s / 1e9:g} GB/s, {self.iops:_g} IOPS, "
            f"{self.latency_s * 1e6:g} us"
        )


class Cost(NamedTuple):
    """Time and bytes written of one step or of many."""

    run_s: float = 0.0
    written_bytes: float = 0.0
    exact: bool = True

    def repeated(self, factor: int) -> Cost:
        """The cost of doing it so often."""
        return Cost(self.run_s * factor, self.written_bytes * factor, self.exact)


def mean_bytes(sizes: tuple[SizeShare, ...]) -> float:
    """The mean block size of a distribution."""
    return sum(share.size_bytes * share.percent for share in sizes) / 100


class Estimator:
    """Costs of steps on a target of some capacity."""

    def __init__(
        self, capacity_bytes: int, assumptions: Assumptions | None = None
    ) -> None:
        self.capacity_bytes = capacity_bytes
        self.assumptions = assumptions or Assumptions.model_construct()
        self.sizes = ByIdentity(mean_bytes)

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
        exact = True
        for step, times in steps:
            cost = self.cost(step)
            run_s += cost.run_s * times
            written += cost.written_bytes * times
            exact = exact and cost.exact
        return Cost(run_s=run_s, written_bytes=written, exact=exact)

    def _run(self, step: Run) -> Cost:
        warmup_ns, run_ns, limit_bytes, passes = step.length
        run_s, written = self._io(step.workload, run_ns, limit_bytes, passes, warmup_ns)
        exact = run_ns is not None and step.every_ns is None and not step.writes
        return Cost(run_s, written, exact)

    def _io(
        self,
        workload: Workload,
        run_ns: int | None,
        limit_bytes: int | None,
        passes: float | None,
        warmup_ns: int = 0,
    ) -> tuple[float, float]:
        """Seconds, and bytes written."""
        moved, written = self._rates(workload, run_ns)
        ends = [run_ns / SECOND_NS] if run_ns is not None else []
        if run_ns is None or passes is not None:
            amount = self._amount(workload, limit_bytes, passes)
            ends.append(amount / max(moved, 1))
        run_s = min(ends) + warmup_ns / SECOND_NS
        return run_s, written * run_s

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
            return Cost(exact=False)
        if isinstance(step, RestStep):
            return Cost(run_s=step.pause_ns / SECOND_NS)
        return Cost(
            *self._io(step.workload, step.run_ns, None, step.passes), exact=False
        )

    def _rates(self, workload: Workload, run_ns: int | None) -> tuple[float, float]:
        """Bytes per second moved and written, all streams together, in the mean."""
        moved = written = 0.0
        for stream in workload.streams:
            share = stream.own_ns(run_ns) / run_ns if run_ns else 1.0
            speeds = self._speed(stream, run_ns)
            more, more_written = (speed * share for speed in speeds)
            moved, written = moved + more, written + more_written
        fastest = self.assumptions.bandwidth_bytes_per_s
        if moved <= fastest:
            return moved, written
        return fastest, written * fastest / moved

    def _speed(self, stream: Stream, run_ns: int | None) -> tuple[float, float]:
        """The mean speed of one stream in its part of a run, by what limits it most."""
        trims = stream.trim_percent / 100
        reads = (1 - trims) * stream.read_percent / 100
        write_bytes = self.sizes(stream.write_sizes)
        size = reads * self.sizes(stream.read_sizes) + (1 - reads) * write_bytes
        iops = self._iops(stream, size)
        if stream.rate:
            per_io = 1.0 if stream.rate.iops is not None else size
            own_ns = stream.own_ns(run_ns) if run_ns else None
            iops = mean_rate(stream.rate, own_ns, iops * per_io) / per_io
        if stream.replay and stream.pace != "fast":
            span_s = max(stream.replay.span_ns, 1) / SECOND_NS / stream.speed
            iops = min(iops, stream.replay.moved_bytes / size / span_s)
        return iops * size, iops * (1 - reads - trims) * write_bytes

    def _iops(self, stream: Stream, mean_size_bytes: float) -> float:
        """The I/Os per second of a closed loop: bursts, where it pauses."""
        assumed = self.assumptions
        burst_depth = (
            min(stream.qd, stream.pause_every) if stream.pause_ns else stream.qd
        )
        iops = min(
            assumed.iops,
            burst_depth * stream.threads / assumed.latency_s,
            assumed.bandwidth_bytes_per_s / mean_size_bytes,
        )
        if not stream.pause_ns:
            return iops
        burst = stream.threads * stream.pause_every
        return burst / (burst / iops + stream.pause_ns / SECOND_NS)


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
