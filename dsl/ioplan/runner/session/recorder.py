"""Makes the record of a run: what was asked, on what, and what came out."""

from __future__ import annotations

import errno
import os
import random
import re
import stat
from collections.abc import Iterable, Iterator
from typing import Any

from msgspec.structs import replace

from ioplan.backends.backend import TargetFacts
from ioplan.core.units import percent_text, time_text
from ioplan.core.version import __version__
from ioplan.drive_account import DriveAccount
from ioplan.drive_needs import MOST_UNREAD
from ioplan.job import SECOND_NS, Job
from ioplan.language.lints.lints import FRESH, UNWRITTEN, Lint, Parts, lints
from ioplan.language.metric import THROTTLED
from ioplan.language.plan import CheckedPlan
from ioplan.planner.run_id import digest, prepare_digest
from ioplan.planner.steps import Prepare, Run
from ioplan.records.host_clock import HostClock
from ioplan.records.record import Asked, BackendFacts, EventMade, RunRecord
from ioplan.results.measure.consistency import consistent
from ioplan.results.measure.measurement import Measurement
from ioplan.results.measure.metrics import NO_DETAIL, Sample, figure
from ioplan.results.measure.series import spent
from ioplan.results.measure.steady_state import WAF
from ioplan.results.measure.tally import arrivals
from ioplan.runner.execute.execute import RunOutcome
from ioplan.runner.execute.io_errors import by_errno, retried
from ioplan.runner.prepare.fit import described
from ioplan.runner.prepare.unmeasured import gaps_of
from ioplan.runner.seek.claims import REACHED
from ioplan.runner.session.context import SessionContext
from ioplan.runner.state.account_keeper import AccountKeeper
from ioplan.runner.telemetry.disk import mount_of
from ioplan.runner.telemetry.procfs import Tree
from ioplan.workload import Workload

# The classic lints of a plan on the target that it runs on.

BLOCK_BYTES = 4096
MEMORY_NAME = re.compile(r"(?:ram|zram|nullb)\d+")
MEMORY_SYSTEMS = ("tmpfs", "ramfs")
SAMPLES = 256

RunKey = tuple[str, int, tuple[tuple[str, str], ...]]


def lints_on(
    plan: CheckedPlan, facts: TargetFacts, account: DriveAccount
) -> tuple[Lint, ...]:
    """The lints that the plan does not accept, on a target of which that is known.

    Of reads of what nothing is known to have written, those that find it empty.
    """
    shares: dict[Parts, float] = {}
    found = []
    for one in lints(plan, facts.capacity_bytes, account, is_memory(facts)):
        if one.parts and one.parts not in shares:
            shares[one.parts] = empty_share(facts, one.parts)
        if not one.parts:
            found.append(one)
        elif shares[one.parts] >= MOST_UNREAD:
            empty = percent_text(100 * shares[one.parts])
            share = f"about {empty} of the blocks it reads are empty"
            found.append(replace(one, text=f"{share}: {one.text}"))
    return tuple(found)


def is_memory(facts: TargetFacts) -> bool:
    """Whether a target is the host's memory: brd, zram, null_blk, or a file there.

    Newer kernels accept direct I/O on such a file, and do it in memory all the same.
    """
    path = os.path.realpath(facts.path)
    if facts.kind == "file":
        mount = mount_of(Tree(), path)
        return mount is not None and mount.kind in MEMORY_SYSTEMS
    return bool(MEMORY_NAME.fullmatch(os.path.basename(path)))  # noqa: PTH119  no file is meant


def empty_share(facts: TargetFacts, parts: Parts) -> float:
    """The share of blocks in these parts that a file has no data of, or else that are
    zeros, by samples.

    What cannot be read is not said to be empty.
    """
    try:
        fd = os.open(facts.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return 0.0
    try:
        mode = os.fstat(fd).st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISBLK(mode)):
            return 0.0
        holes = _hole_share(fd, parts) if stat.S_ISREG(mode) else 0.0
        if holes >= MOST_UNREAD:
            return holes
        empty = sum(not _has_data(fd, at) for at in _places(parts))
        return empty / SAMPLES
    except OSError:
        return 0.0
    finally:
        os.close(fd)


def _hole_share(fd: int, parts: Parts) -> float:
    """How much of these parts of a file is holes, which need no access."""
    holes = sum(_hole_bytes(fd, int(start), int(end)) for start, end in parts)
    return holes / (sum(end - start for start, end in parts) or 1)


def _hole_bytes(fd: int, start: int, end: int) -> int:
    holes = 0
    while start < end:
        try:
            data = min(os.lseek(fd, start, os.SEEK_DATA), end)
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise
            data = end  # none is left
        holes += data - start
        start = os.lseek(fd, data, os.SEEK_HOLE) if data < end else end
    return holes


def _has_data(fd: int, at: int) -> bool:
    return any(os.pread(fd, BLOCK_BYTES, at))


def _places(parts: Parts) -> Iterable[int]:
    """Spread evenly over the parts, each with a share by its length."""
    draw, lengths = random.Random(1), [end - start for start, end in parts]
    for number in range(SAMPLES):
        at = int((number + draw.random()) / SAMPLES * sum(lengths))
        for (start, _), length in zip(parts, lengths, strict=True):
            if at < length:
                yield (start + at) // BLOCK_BYTES * BLOCK_BYTES
                break
            at -= length


def texts_by_run(found: Iterable[Lint]) -> dict[RunKey, list[str]]:
    """What is wrong with each run; of the drive's state its record has an account."""
    texts: dict[RunKey, list[str]] = {}
    for one in found:
        if one.kind in (FRESH, UNWRITTEN) and not one.parts:
            continue
        key = (one.test, id(one.run), tuple(one.cell.items()))
        texts.setdefault(key, []).append(one.text)
    return texts


def run_key(run: Run) -> RunKey:
    """Where `texts_by_run` has a run."""
    return run.test.title, id(run.template), tuple(run.cell_text.items())


LEFT_OVER = 0.05
"""A larger share of the measured part is told."""


class Recorder:
    """Numbers the records of a session."""

    def __init__(self, context: SessionContext, keeper: AccountKeeper) -> None:
        self.context, self.keeper = context, keeper
        self.version = context.backend.availability(context.options).version
        self.seq = context.store.last_seq(context.session.id)
        self.lints = texts_by_run(context.lints)

    def record(
        self,
        step: Run | Prepare,
        workload: Workload,
        job: Job,
        outcome: RunOutcome,
        events: tuple[EventMade, ...] = (),
        **more: Any,
    ) -> RunRecord:
        """The record of a run or of a precondition's write, with `more` of its fields.

        It has failed if its figures cannot be true.
        """
        self.seq += 1
        measurement, clock = outcome.measurement, self.context.clock()
        made = RunRecord(
            session=self.context.session.id,
            seq=self.seq,
            run_id=_run_id(step),
            status=outcome.status,
            cause=outcome.cause,
            message=outcome.message,
            ioplan=__version__,
            asked=self._asked(step, workload, job),
            backend=self._backend(outcome),
            target=self.context.drive.facts.model_dump(mode="json"),
            host=self.context.session.host,
            started_at=outcome.started_at,
            ended_at=outcome.ended_at,
            run_s=measurement.run_ns / SECOND_NS,
            lasted_s=outcome.lasted_s,
            streams=measurement.streams,
            directions=measurement.directions,
            total=measurement.total,
            targets=measurement.targets,
            phases=measurement.phases(job),
            cpu=measurement.cpu,
            cpu_percent=measurement.cpu_percent,
            clock=clock,
            events=events,
            telemetry=outcome.telemetry.means,
            wear=measurement.wear or outcome.telemetry.wear,
            warnings=(
                *self._mistakes(step),
                *_warnings(outcome, clock),
                *_spent_burst(step, job, outcome),
                *_left_by_warm_up(job, outcome.measurement),
                *_missed_rates(step, outcome.measurement),
            ),
            substitutions=self._substitutions(job),
            **more,
        )
        waf = figure(WAF, [Sample(made, NO_DETAIL)]).value
        made = made.model_copy(update={"state": self.keeper.state(waf)})
        return consistent(made, outcome.detail)

    def next_seq(self) -> int:
        """The number of a record that is made of others."""
        self.seq += 1
        return self.seq

    def _mistakes(self, step: Run | Prepare) -> list[str]:
        """What is wrong with a run before it has begun."""
        known = self.lints
        return known.get(run_key(step), []) if isinstance(step, Run) else []

    def _substitutions(self, job: Job) -> tuple[str, ...]:
        gaps = gaps_of(self.context.backend, job, self.context.options)
        return tuple(described(gap) for gap in gaps)

    def _asked(self, step: Run | Prepare, workload: Workload, job: Job) -> Asked:
        plan, after = self.context.plan, step.test.after
        asked = Asked(
            plan=plan.title,
            plan_file=plan.file,
            profile=plan.profile,
            shortened=bool(after and after.shortened(plan.profile)),
            test=step.test.title,
            cell={},
            kind="prepare",
            step=0,
            workload=workload,
            job=job,
        )
        if isinstance(step, Prepare):
            change = {"step": step.position - 1, "after": step.state}
        else:
            change = {
                "kind": "run",
                "cell": step.cell_text,
                "step": step.index,
                "name": step.template.name,
                "round": step.round,
                "iteration": step.iteration,
                "after": step.after,
            }
        return asked.model_copy(update=change)

    def _backend(self, outcome: RunOutcome) -> BackendFacts:
        started = outcome.measurement.started
        return BackendFacts(
            name=self.context.backend.name,
            version=self.version,
            mode=started.mode if started else "",
            reason=started.reason if started else "",
            facts=outcome.measurement.facts,
        )


FAILED = "I/Os failed"


def without_failed_ios(record: RunRecord) -> RunRecord:
    """The record of a run whose power is cut, without warnings of failed I/Os."""
    kept = tuple(text for text in record.warnings if FAILED not in text)
    return record.model_copy(update={"warnings": kept})


def _run_id(step: Run | Prepare) -> str:
    if isinstance(step, Run):
        return step.run_id
    return digest("prepare", prepare_digest(step.step))


def _spent_burst(step: Run | Prepare, job: Job, outcome: RunOutcome) -> Iterator[str]:
    """A warning that closed loops of reads spent a burst; writes slow anyhow."""
    reads = all(one.read_percent == 100 and not one.trim_percent for one in job.streams)
    free = not any(one.rate or one.starts_ns or one.ends_ns for one in job.streams)
    asked = any(one.metric.name in THROTTLED for one in step.test.expectations)
    if isinstance(step, Prepare) or step.events or asked or not (reads and free):
        return
    if text := spent(outcome.measurement.detail.series):
        yield text


def _left_by_warm_up(job: Job, measurement: Measurement) -> Iterator[str]:
    """A warning that I/Os of the warm-up took much of the measured part.

    These do not count, and a slot counts from its next I/O: an outage across the end of
    the warm-up is in no figure of a closed loop.
    """
    ends = (job.limit_bytes, job.passes, any(one.rate for one in job.streams))
    result = measurement.result
    if not (job.warmup_ns and job.run_ns and result) or any(ends) or result.stopped:
        return
    lost_ns = job.run_ns - measurement.run_ns
    if lost_ns > LEFT_OVER * job.run_ns:
        lost, rest = (time_text(ns / SECOND_NS) for ns in (lost_ns, measurement.run_ns))
        yield (
            f"I/Os of the warm-up were outstanding for the first {lost}: "
            f"the figures cover the other {rest}"
        )


def _missed_rates(step: Run | Prepare, measurement: Measurement) -> Iterator[str]:
    """A warning that the target was slower than an open loop asks for; a search looks
    for that. Latencies count from the intended start, and rise with the backlog."""
    if isinstance(step, Run) and step.probing:
        return
    for stream in measurement.result.streams if measurement.result else ():
        done, due = arrivals(stream)
        if due and done < REACHED * due:
            yield (
                f"stream {stream.name}: {percent_text(100 * done / due)} of its rate "
                "was reached: latencies rise as long as it runs"
            )


def _warnings(outcome: RunOutcome, clock: HostClock | None) -> Iterator[str]:
    if clock and clock.warning:
        yield clock.warning
    measurement = outcome.measurement
    yield from outcome.warnings
    errors = sum(part.errors for part in measurement.directions.values())
    if errors:
        kinds = by_errno(measurement)
        yield f"{errors} {FAILED}" + (f" ({kinds})" if kinds else "")
    if again := retried(measurement):
        yield again
    if measurement.result:
        yield from measurement.result.warnings
    yield from outcome.telemetry.warnings
