"""What a plan does, from one walk over its steps: made once, and asked by many."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from msgspec import Struct

from ioplan.language.plan import CheckedPlan, RestStep, WriteStep
from ioplan.language.syntax.source import Span
from ioplan.planner.estimate import with_repetitions
from ioplan.planner.steps import Idle, Prepare, Run, SingleStep
from ioplan.planner.unfolding import unfold
from ioplan.workload import Stream


class PlanSummary(Struct, frozen=True, dict=True):
    """All single steps, each with how often it is done at most."""

    steps: tuple[tuple[SingleStep, int], ...]

    @cached_property
    def io_steps(self) -> tuple[Prepare | Run, ...]:
        """The steps that may touch the target."""
        return tuple(step for step, _ in self.steps if not isinstance(step, Idle))

    @cached_property
    def writes(self) -> bool:
        """Whether any step changes what is stored on the target, or may lose it."""
        return bool(self.cuts_power or self.events) or any(
            step.writes
            if isinstance(step, Run)
            else not isinstance(step.step, RestStep)
            for step in self.io_steps
        )

    @cached_property
    def cuts_power(self) -> bool:
        """Whether any run cuts the power of the target."""
        return any(isinstance(one, Run) and one.cut_ns for one in self.io_steps)

    @cached_property
    def events(self) -> dict[str, Span]:
        """The lab's commands that runs need, with the first place that names each."""
        runs = (one.template for one in self.io_steps if isinstance(one, Run))
        named = (event for run in runs for event in run.events)
        found: dict[str, Span] = {}
        for event in named:
            found.setdefault(event.name, event.span)
        return found

    @cached_property
    def hosts(self) -> tuple[str, ...]:
        """The hosts that streams are on, each once."""
        runs = (step for step in self.io_steps if isinstance(step, Run))
        streams = (stream for run in runs for stream in run.workload.streams)
        return tuple(dict.fromkeys(host for one in streams for host in one.hosts))

    @cached_property
    def targets(self) -> tuple[str, ...]:
        """The targets that streams are on by name, each once."""
        return tuple(
            dict.fromkeys(name for one in self._streams for name in one.targets)
        )

    @cached_property
    def joins_targets(self) -> bool:
        """Whether several targets have one run, and not a lane each."""
        return bool(self.targets) or any(one.over_all for one in self._streams)

    @property
    def _streams(self) -> Iterator[Stream]:
        for step in self.io_steps:
            if isinstance(step, Run):
                yield from step.workload.streams
            elif isinstance(step.step, WriteStep):
                yield from step.step.workload.streams

    @cached_property
    def has_rates(self) -> bool:
        """Whether any stream of a run has a rate."""
        return any(one.rate for one in self._streams)

    def lanes_note(self, targets: int) -> str:
        """What people may take for shared and is not; empty where there is nothing.

        A load that several drives are to bear together is another plan.
        """
        if targets < 2 or self.joins_targets or not self.has_rates:
            return ""
        return f"note: each of the {targets} targets gets each rate of the plan in full"


def summary_of(plan: CheckedPlan) -> PlanSummary:
    """Unfold a plan once."""
    return PlanSummary(tuple(with_repetitions(unfold(plan))))
