"""Steps and the facts of a target -> jobs for a backend."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ioplan.backends.backend import JoinedFacts, TargetFacts
from ioplan.job import SECOND_NS, Job, JobTarget
from ioplan.job_stream import JobStream, job_streams
from ioplan.language.metric import stretch_ns
from ioplan.language.plan import WriteStep
from ioplan.planner.run_id import digest
from ioplan.planner.seek.decide import INTERVALS
from ioplan.planner.seek.search import Probe
from ioplan.planner.steps import Idle, Prepare, RoundsOf, Run, SeekOf, Step
from ioplan.workload import (
    MIN_INTERVAL_NS,
    Phase,
    Stream,
    Workload,
    interval_of,
    phases_of,
)


def subinterval_of(every_ns: int, longest_ns: int = SECOND_NS) -> int:
    """A second at most, so that a whole number of them makes a window."""
    parts = -(-every_ns // longest_ns)
    return max(MIN_INTERVAL_NS, -(-every_ns // parts))


def run_job(
    step: Run, facts: TargetFacts, read_only: bool, interval_ns: int | None = None
) -> Job:
    """The job of one run. `read_only` is the session's: no run of it writes.

    `interval_ns` is what was asked for, unless the plan says it; windows and probes
    have a whole number of intervals, which are shorter where that needs it.
    """
    job = Job(
        target=facts.path,
        targets=_targets(facts),
        capacity_bytes=facts.capacity_bytes,
        block_bytes=facts.block_bytes,
        streams=_streams(step.workload, facts),
        phases=tuple(_phases(step)),
        **step.length._asdict(),
        interval_ns=_interval(step, interval_ns),
        exact_intervals=step.template.interval is not None or step.test.by_interval,
        seed=seed_of(step.run_id, step.round, step.iteration),
        read_only=read_only,
    )
    return _passes_as_bytes(job) if step.every_ns else job


def _phases(step: Run) -> Iterator[Phase]:
    """The phases that its plan names, and whatever its test's metrics are of.

    A stream's part of the run is counted apart only where it is asked for.
    """
    asked = step.test.phases
    for stream in step.workload.streams:
        for phase in phases_of(stream):
            if phase.every_ns or phase.name in asked:
                yield phase
    for name in sorted(one for one in asked if ".." in one):
        begin_ns, end_ns = (round(n * step.test.time_scale) for n in stretch_ns(name))
        yield Phase(name=name, start_ns=begin_ns, length_ns=max(1, end_ns - begin_ns))


def _passes_as_bytes(job: Job) -> Job:
    """Until it is steady, passes bound the bytes and order nothing.

    Visiting each block once per pass would leave a mark of the pass in the series:
    garbage collection finds the blocks of the last pass ever emptier.
    """
    if job.passes is None:
        return job
    limit_bytes = max(1, round(job.passes * pass_bytes(job)))
    return job.model_copy(update={"passes": None, "limit_bytes": limit_bytes})


def pass_bytes(job: Job) -> int:
    """What one pass of all streams moves."""
    return sum(stream.pass_bytes for stream in job.streams)


def _interval(step: Run, asked_ns: int | None) -> int:
    if step.template.interval:
        asked_ns = round(step.template.interval.value)
    longest_ns = asked_ns or SECOND_NS
    if step.every_ns:
        return subinterval_of(step.every_ns, longest_ns)
    if step.probing:
        part_ns = -(-step.probing.least_ns // INTERVALS)
        return max(MIN_INTERVAL_NS, min(longest_ns, part_ns))
    return asked_ns or interval_of(step.length.run_ns)


def seed_of(run_id: str, number: int, iteration: int) -> int:
    """Repeatable, and other in each round and iteration."""
    return int(digest(run_id, number, iteration), 16)


def write_job(
    step: WriteStep, facts: TargetFacts, interval_ns: int | None = None
) -> Job:
    """The job of a precondition's write."""
    job = Job(
        target=facts.path,
        targets=_targets(facts),
        capacity_bytes=facts.capacity_bytes,
        block_bytes=facts.block_bytes,
        streams=_written_streams(step, facts),
        run_ns=step.run_ns,
        passes=step.passes,
        interval_ns=subinterval_of(
            step.every_ns or interval_ns or SECOND_NS, interval_ns or SECOND_NS
        ),
        seed=1,
        read_only=False,
    )
    return _passes_as_bytes(job) if step.rule else job


def _written_streams(step: WriteStep, facts: TargetFacts) -> tuple[JobStream, ...]:
    """With a number of passes, a precondition visits each block once per pass: what it
    leaves behind is a drive that is written all over, and not 63 % of it."""
    return tuple(
        one.model_copy(update={"permuted": one.permuted or permutes(step, one)})
        for one in _streams(step.workload, facts)
    )


def permutes(step: WriteStep, stream: Stream) -> bool:
    """Whether a precondition visits each block of a stream once per pass."""
    return step.passes is not None and not step.rule and stream.can_permute


def _streams(workload: Workload, facts: TargetFacts) -> tuple[JobStream, ...]:
    streams = job_streams(workload, facts.capacity_bytes, facts.block_bytes)
    if not isinstance(facts, JoinedFacts):
        return streams
    numbers = {name: number for number, name in enumerate(facts.members)}
    return tuple(
        one.model_copy(
            update={"target_numbers": tuple(numbers[n] for n in one.targets or numbers)}
        )
        for one in streams
    )


def _targets(facts: TargetFacts) -> tuple[JobTarget, ...]:
    if not isinstance(facts, JoinedFacts):
        return ()
    members = facts.members.items()
    return tuple(JobTarget(name=name, path=one.path) for name, one in members)


def all_jobs(
    steps: Iterable[Step], facts: TargetFacts, read_only: bool
) -> Iterator[tuple[Prepare | Run, Job]]:
    """Each step that does I/O with its job; of rounds, those of the first."""
    for step in _io_steps(steps):
        if isinstance(step, Run):
            yield step, run_job(step, facts, read_only)
        elif isinstance(step.step, WriteStep):
            yield step, write_job(step.step, facts)


def _io_steps(steps: Iterable[Step]) -> Iterator[Prepare | Run]:
    """All steps that do I/O; of rounds, the first."""
    for step in steps:
        if isinstance(step, RoundsOf):
            yield from _io_steps(step.round(1))
        elif isinstance(step, SeekOf):
            ends = (float(one.key) for one in (step.seek.lowest, step.seek.highest))
            for number, value in enumerate(ends, 1):
                yield from step.probe(Probe(value, "bracket", number))
        elif not isinstance(step, Idle):
            yield step
