"""Whether a plan fits a target and a backend; asked before anything is touched."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from ioplan.backends import Backend, Gap, TargetFacts
from ioplan.job import Job
from ioplan.language.check.check import check
from ioplan.language.errors.diagnostic import Diagnostic
from ioplan.language.fields import slot
from ioplan.language.plan import CheckedPlan, StreamTemplate
from ioplan.language.syntax.source import Source, Span
from ioplan.planner.jobs import all_jobs
from ioplan.planner.steps import Prepare, Run
from ioplan.planner.unfold import unfold


@dataclass(frozen=True)
class Shortfall:
    """A gap of a backend, and the place in the plan that asks for it."""

    gap: Gap
    step: Run | Prepare
    span: Span | None

    @property
    def text(self) -> str:
        """The gap without its place, for those who have no span."""
        where = self.step.test.title if isinstance(self.step, Run) else str(self.step)
        return f"{where}: {self.gap.field}: {self.gap.reason}"

    def diagnostic(self, backend: str, span: Span) -> Diagnostic:
        """The gap at its clause."""
        help = "another backend may: ioplan backends"
        if self.gap.instead:
            help = f"with --allow-approximate: {self.gap.instead}"
        return Diagnostic(f"{backend}: {self.gap.reason}", span, help)


def shortfalls(
    plan: CheckedPlan,
    backend: Backend,
    facts: TargetFacts,
    options: dict[str, Any],
    writes: bool,
) -> list[Shortfall]:
    """All gaps over all runs and preconditions, each place and reason once."""
    found: dict[tuple[object, ...], Shortfall] = {}
    for step, job in all_jobs(unfold(plan), facts, not writes):
        for gap in (*backend.gaps(job, options), *_placed(job, backend)):
            span = _span(step, gap)
            place = (span.source.name, span.start) if span else str(step)
            key = (place, gap.field, gap.reason)
            found.setdefault(key, Shortfall(gap, step, span))
    return list(found.values())


def _placed(job: Job, backend: Backend) -> Iterator[Gap]:
    """Streams on hosts are not done by one alone."""
    for stream in job.streams:
        if stream.hosts and not getattr(backend, "spreads", False):
            reason = f"this host alone cannot do what is on {', '.join(stream.hosts)}"
            yield Gap(stream=stream.name, field="hosts", reason=reason)


def _span(step: Run | Prepare, gap: Gap) -> Span | None:
    """The clause that asks for it: the step's own, else its workload's."""
    if isinstance(step, Prepare):
        return None
    wanted = slot(gap.field)
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


Answer = Literal["exactly", "nearly", "no"]

FEATURES = {
    "random, sequential": "run random 4KiB 100/0, qd 4 for 2s",
    "read/write mix": "run random 4KiB 70/30, qd 4 for 2s",
    "threads": "run random 4KiB 100/0, threads 2, qd 4 each for 2s",
    "size distribution": "run random sizes { 4KiB 50%, 8KiB 50% } 100/0 for 2s",
    "sizes by direction": "run random read sizes { 4KiB 100% } "
    "write sizes { 8KiB 100% } 50/50 for 2s",
    "several streams": "run mixed for 2s",
    "rate": "run random 4KiB 100/0, rate 1_000 iops for 2s",
    "rate poisson": "run random 4KiB 100/0, rate 1_000 iops poisson for 2s",
    "region": "run random 4KiB 100/0, region 0%..50% for 2s",
    "hotspots": "run random 4KiB 100/0, hotspots { 50% in 5%, 50% in 95% } for 2s",
    "zipf": "run random 4KiB 100/0, zipf 1.2 for 2s",
    "pareto": "run random 4KiB 100/0, pareto 0.2 for 2s",
    "normal": "run random 4KiB 100/0, normal 10% for 2s",
    "align": "run random 4KiB 100/0, align 512B for 2s",
    "data compressible": "run random 4KiB 0/100, data compressible 50% for 2s",
    "trim": "run random 4KiB 50/50, trim 10% for 2s",
    "sync": "run random 4KiB 0/100, sync every 32 for 2s",
    "verify": "run random 4KiB 50/50, verify for 2s",
    "warmup": "run random 4KiB 100/0 for 2s, warmup 1s",
    "parts of a second": "run random 4KiB 100/0 for 250ms",
    "passes": "run random 4KiB 0/100, 1 pass",
    "bytes": "run random 4KiB 100/0 for 1GiB",
}
MIXED = (
    "workload mixed { reader = random 4KiB 100/0, qd 1 "
    "writer = sequential 128KiB 0/100, qd 4 }\n"
)
SAMPLE = TargetFacts(
    path="sample", kind="file", capacity_bytes=1 << 34, block_bytes=512
)


def answer(backend: Backend, options: dict[str, Any], feature: str) -> Answer:
    """How well a backend can do a feature of the language."""
    text = f'{MIXED}test "T" {{ {FEATURES[feature]} }}'
    plan = check(Source(feature, text))
    ((_, job),) = all_jobs(unfold(plan), SAMPLE, read_only=False)
    gaps = backend.gaps(job, options)
    if not gaps:
        return "exactly"
    return "nearly" if all(gap.instead for gap in gaps) else "no"
