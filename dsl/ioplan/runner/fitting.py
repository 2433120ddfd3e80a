"""Whether a plan fits a target and a backend; asked before anything is touched."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ioplan.backends import Backend, Gap, TargetFacts
from ioplan.job import Job
from ioplan.language.diagnostic import Diagnostic
from ioplan.language.fields import slot
from ioplan.language.plan import CheckedPlan, StreamTemplate
from ioplan.language.source import Span
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
