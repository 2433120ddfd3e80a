"""Whether a plan fits a target and a backend; checked before anything is touched."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Iterator
from operator import attrgetter
from typing import Any, Literal, NamedTuple

from msgspec import Struct

from ioplan.backends.backend import Backend, Gap, TargetFacts
from ioplan.core.error_kinds import Cause
from ioplan.job_refusal import refusals
from ioplan.job_stream import job_streams
from ioplan.language.checker.check import check
from ioplan.language.checker.modules import installed_plans
from ioplan.language.clause_table import CLAUSES, slot
from ioplan.language.errors.diagnostic import Diagnostic
from ioplan.language.plan import RunTemplate, SteadyRule, StreamTemplate, WriteStep
from ioplan.language.syntax.source import Source, Span
from ioplan.planner.jobs import all_jobs
from ioplan.planner.steps import Prepare, Run, SingleStep
from ioplan.planner.summary import PlanSummary
from ioplan.planner.unfolding import unfold
from ioplan.results.measure.wear import WEAR_METRICS
from ioplan.runner.prepare.unmeasured import gaps_of, unmeasured
from ioplan.runner.telemetry.instruments import Instruments
from ioplan.workload import Stream, Workload


class Misfit(NamedTuple):
    """Why a test cannot be done on a target, by name and in words."""

    kind: Cause
    text: str

    @property
    def of_any_target(self) -> bool:
        """Whether it is so whatever the size of the target."""
        return self.kind is Cause.BAD_JOB


def misfits(
    steps: Iterable[SingleStep], facts: TargetFacts, backend: Backend | None = None
) -> list[Misfit]:
    """Why steps do not fit a target, each reason once, with its test."""
    search = MisfitSearch(facts, backend)
    deque(map(search.look, steps), maxlen=0)
    return search.misfits


class MisfitSearch:
    """Looks at steps, of which there may be very many, for why they do not fit."""

    def __init__(self, facts: TargetFacts, backend: Backend | None = None) -> None:
        self.facts, self.is_real = facts, _is_real(facts, backend)
        self.known: dict[tuple[object, ...], Workload] = {}
        self.found: dict[Misfit, None] = {}

    @property
    def misfits(self) -> list[Misfit]:
        """Each reason once."""
        return list(self.found)

    def look(self, step: SingleStep) -> None:
        """Look at a step, unless it is like another."""
        if isinstance(step, Run):
            title, workload, run_ns = step.test.title, step.workload, step.length.run_ns
            template: RunTemplate | WriteStep = step.template
        elif isinstance(step, Prepare) and isinstance(step.step, WriteStep):
            template, title, run_ns = step.step, step.state.name, step.step.run_ns
            workload = template.workload
        else:
            return
        kind = title, id(template), run_ns, *map(_kind_of, workload.streams)
        if kind in self.known:
            return
        self.known[kind] = workload  # alive, so that no other object has its ids
        if self.is_real:
            self._add(_unmetered(template.rule, title, self.facts))
        streams = job_streams(
            workload, self.facts.capacity_bytes, self.facts.block_bytes
        )
        for cause, reason in refusals(streams, self.facts, run_ns):
            self._add([Misfit(cause, f"{title}: {reason}")])

    def _add(self, misfits: Iterable[Misfit]) -> None:
        self.found |= dict.fromkeys(misfits)


DECISIVE = attrgetter(
    *("name", "pattern", "read_sizes", "write_sizes", "align_bytes", "threads"),
    *("starts_ns", "ends_ns", "region", "verify", "replay", "offsets"),
)


def _kind_of(stream: Stream) -> tuple[object, ...]:
    """Streams of a kind fit alike. The steps of a plan share what its text says once:
    its identity hashes in no time."""
    reads = stream.read_percent > 0 and stream.trim_percent < 100
    return reads, stream.writes, *map(id, DECISIVE(stream))


def _is_real(facts: TargetFacts, backend: Backend | None) -> bool:
    """Whether logs tell what is written, and not the backend itself."""
    if backend is None or backend.virtual_time:
        return False
    # pathlib's raises where the server of a target has ended
    return os.path.exists(facts.path)  # noqa: PTH110


def _unmetered(
    rule: SteadyRule | None, title: str, facts: TargetFacts
) -> Iterator[Misfit]:
    """What is to become steady by what goes to the flash, where nothing tells it."""
    if rule is None or rule.metric.name not in WEAR_METRICS:
        return
    if why := Instruments(facts).without_meter():
        text = f"{title}: {rule.metric} has no meter: {why}; write: until steady iops"
        yield Misfit(Cause.NO_METER, text)


class Shortfall(Struct, frozen=True):
    """A gap of a backend, and the place in the plan that asks for it."""

    gap: Gap
    step: Run | Prepare
    span: Span | None

    @property
    def text(self) -> str:
        """The gap without its place, for those who have no span."""
        where = self.step.test.title if isinstance(self.step, Run) else str(self.step)
        return f"{where}: {self.gap.field}: {self.gap.reason}"

    @property
    def warning(self) -> str:
        """The gap as a warning, with what is done instead."""
        return f"{self.text}; instead: {self.gap.instead}"

    def diagnostic(self, backend: str, span: Span) -> Diagnostic:
        """The gap at its clause."""
        gap, ways = self.gap, []
        if gap.edit:
            ways.append(f"exact with: {gap.edit}")
        if gap.instead and not gap.mild:
            ways.append(f"with --allow {allowed_as(gap)}: {gap.instead}")
        help = "; or ".join(ways) or "other backends may support it: ioplan backends"
        return Diagnostic(f"{backend}: {gap.reason}", span, help)


def allowed_as(gap: Gap) -> str:
    """What `--allow` is given for it: the plan's own word, if it is one word."""
    return gap.field if gap.field.isalpha() else slot(gap.field)


class Accepted(Struct, frozen=True):
    """The approximations that the user takes: all of them, or those of some slots."""

    everything: bool = False
    slots: frozenset[str] = frozenset()

    def takes(self, gap: Gap) -> bool:
        """Whether what is done instead will do."""
        named = self.everything or slot(gap.field) in self.slots
        return bool(gap.instead) and (gap.mild or named)


EXACT_ONLY = Accepted()


def shortfalls(
    plan: PlanSummary, backend: Backend, facts: TargetFacts, options: dict[str, Any]
) -> list[Shortfall]:
    """All gaps over all runs and preconditions, each place and reason once."""
    found: dict[tuple[object, ...], Shortfall] = {}
    for step, job in all_jobs(plan.io_steps, facts, not plan.writes):
        own = (
            *_in_virtual_time(step, backend),
            *unmeasured(step, job, backend, options),
        )
        for gap in (*own, *gaps_of(backend, job, options)):
            span = _span(step, gap)
            place = (span.source.name, span.start) if span else str(step)
            key = (place, gap.field, gap.reason)
            found.setdefault(key, Shortfall(gap, step, span))
    return list(found.values())


def _in_virtual_time(step: Run | Prepare, backend: Backend) -> Iterator[Gap]:
    """What nobody can do to a simulated drive."""
    if not isinstance(step, Run) or not backend.virtual_time:
        return
    stream = step.workload.streams[0].name
    if step.cut_ns:
        reason = "a simulated drive has no power to cut"
        yield Gap(stream=stream, field="cut", reason=reason)
    if step.events:
        reason = "the lab's commands cannot act on a simulated drive"
        yield Gap(stream=stream, field="event", reason=reason)


def _span(step: Run | Prepare, gap: Gap) -> Span | None:
    """The clause that asks for it: the step's own, else its workload's."""
    if isinstance(step, Prepare):
        return None
    wanted, seek = slot(gap.field), step.test.seek
    if seek and seek.axis in (gap.field, f"{gap.stream}.{gap.field}"):
        return seek.span
    for template in _templates(step, gap.stream):
        if wanted in template.spans:
            return template.spans[wanted]
    return step.template.span


def _templates(step: Run, stream: str) -> Iterator[StreamTemplate]:
    yield step.template.override
    varied = step.cell.get("workload")
    base = step.template.workload
    if varied and varied.workload:
        base = varied.workload
    yield from (one for one in base.streams if one.name == stream)


def described(gap: Gap) -> str:
    """A gap as a record keeps it."""
    return f"{gap.stream}.{gap.field}: {gap.reason}; {gap.instead}"


Support = Literal["exactly", "nearly", "no"]

FEATURES = {
    "random, sequential": "run random 4KiB 100/0, qd 4 for 2s",
    "read/write mix": "run random 4KiB 70/30, qd 4 for 2s",
    "size distribution": "run random sizes { 4KiB 50%, 8KiB 50% } 100/0 for 2s",
    "sizes by direction": "run random read sizes { 4KiB 100% } "
    "write sizes { 8KiB 100% } 50/50 for 2s",
    "several streams": "run mixed for 2s",
    **{form: run for clause in CLAUSES for form, run in clause.features()},
    "warmup": "run random 4KiB 100/0 for 2s, warmup 1s",
    "parts of a second": "run random 4KiB 100/0 for 250ms",
    "passes": "run random 4KiB 0/100, 1 pass",
    "bytes": "run random 4KiB 100/0 for 1GiB",
}
MIXED_WORKLOAD = (
    'trace web = "std/sample.iotrace"\ntrace logged = "std/logged.iotrace"\n'
    'trace answered = "std/answered.iotrace"\n'
    "workload mixed { reader = random 4KiB 100/0, qd 1 "
    "writer = sequential 128KiB 0/100, qd 4 }\n"
    "workload joined { reader = random 4KiB 100/0, qd 1 "
    "writer = random 4KiB 0/100, starts after 1s }\n"
    "workload logged_first { log = sequential 4KiB 0/100, fua "
    "data = random 4KiB 0/100, follows log }\n"
    "workload left { reader = random 4KiB 100/0, qd 1 "
    "writer = random 4KiB 0/100, ends after 1s }\n"
    "precondition shaped_once { write random 4KiB shaped, spare 7% }\n"
)
SAMPLE_TARGET = TargetFacts(
    path="sample", kind="file", capacity_bytes=1 << 34, block_bytes=512
)


def feature_support(backend: Backend, options: dict[str, Any], feature: str) -> Support:
    """How well a backend can do a feature of the language."""
    text = f'{MIXED_WORKLOAD}test "T" {{ {FEATURES[feature]} }}'
    plan = check(Source(feature, text), (installed_plans(),))
    (_, job), *_ = all_jobs(unfold(plan), SAMPLE_TARGET, read_only=False)
    gaps = gaps_of(backend, job, options)
    if not gaps:
        return "exactly"
    return "nearly" if all(gap.instead for gap in gaps) else "no"
