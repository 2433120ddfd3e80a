"""How well each test of a plan fits a target and a backend, and what would mend it.

Pure, as gaps are: neither the target nor the backend's program need be here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

from msgspec.structs import replace

from ioplan.backends.backend import Backend, ChoosingBackend, Gap, TargetFacts
from ioplan.language.clause_table import slot
from ioplan.language.plan import CheckedPlan, Test
from ioplan.planner.jobs import all_jobs
from ioplan.planner.summary import PlanSummary, summary_of
from ioplan.runner.prepare.fit import (
    Accepted,
    Misfit,
    Shortfall,
    allowed_as,
    misfits,
    shortfalls,
)
from ioplan.runner.prepare.witnessed import words_of

Grade = Literal["exact", "near", "approximate", "impossible"]
GRADES: tuple[Grade, ...] = ("exact", "near", "approximate", "impossible")
OF_THE_LAB = "hosts"
"""Which host does what is the lab's to say, not the backend's."""


class Fit(NamedTuple):
    """One test, with all that a backend and a target do not do as it says."""

    test: Test
    misfits: tuple[Misfit, ...]
    shortfalls: tuple[Shortfall, ...]
    done_by: tuple[str, ...] = ()
    """The programs that do its runs, of a backend that has several."""
    words: frozenset[str] = frozenset()
    """What its runs say, and those of its preconditions."""

    @property
    def grade(self) -> Grade:
        """The worst of it; `near` needs nobody's leave."""
        gaps = [one.gap for one in self.shortfalls]
        if self.misfits or not all(gap.instead for gap in gaps):
            return "impossible"
        if all(gap.mild for gap in gaps):
            return "near" if gaps else "exact"
        return "approximate"

    @property
    def gaps(self) -> list[Gap]:
        """Each reason once, those first that nothing is done instead of."""
        found = {(one.gap.field, one.gap.reason): one.gap for one in self.shortfalls}
        return sorted(found.values(), key=lambda gap: (bool(gap.instead), gap.mild))

    @property
    def summary(self) -> str:
        """One line: that it is not exact, and first of all why.

        One that is exact is left out for a test that it takes a share of.
        """
        if self.grade == "exact":
            return f"{self.test.title}: it uses the result of a test that is skipped"
        reasons = [
            one.text.removeprefix(f"{self.test.title}: ") for one in self.misfits
        ]
        reasons += [f"{allowed_as(gap)}: {gap.reason}" for gap in self.gaps]
        more = f"; and {len(reasons) - 1} more" * (len(reasons) > 1)
        return f"{self.test.title}: {self.grade}: {reasons[0]}{more}"

    def runs(self, accepted: Accepted) -> bool:
        """Whether `run` does it."""
        taken = all(accepted.takes(one.gap) for one in self.shortfalls)
        return taken and not self.misfits

    def lines(self) -> Iterator[str]:
        """What is not exact: where, why, what instead, and what would mend it."""
        yield from (one.text for one in self.misfits)
        for gap in self.gaps:
            yield f"{allowed_as(gap)}: {gap.reason}"
            if gap.instead:
                yield f"  instead: {gap.instead}"
            if gap.edit:
                yield f"  exact with: {gap.edit}"

    def as_json(self) -> dict[str, Any]:
        """For programs."""
        return {
            "test": self.test.title,
            "fit": self.grade,
            **({"done_by": list(self.done_by)} if self.done_by else {}),
            "misfits": [{"kind": m.kind, "text": m.text} for m in self.misfits],
            "gaps": [gap.model_dump() for gap in self.gaps],
        }


def fits_of(
    plan: CheckedPlan, backend: Backend, facts: TargetFacts, options: dict[str, Any]
) -> list[Fit]:
    """Each test by itself: with all of its preconditions, whatever comes before it."""
    return [_fit(plan, test, backend, facts, options) for test in plan.tests]


def _fit(
    plan: CheckedPlan,
    test: Test,
    backend: Backend,
    facts: TargetFacts,
    options: dict[str, Any],
) -> Fit:
    alone = summary_of(replace(plan, tests=(test,)))
    short = shortfalls(alone, backend, facts, options)
    here = tuple(one for one in short if slot(one.gap.field) != OF_THE_LAB)
    done_by = _programs(alone, backend, facts, options)
    said = words_of(job for _, job in all_jobs(alone.io_steps, facts, not alone.writes))
    return Fit(
        test, tuple(misfits(alone.io_steps, facts, backend)), here, done_by, said
    )


def _programs(
    plan: PlanSummary, backend: Backend, facts: TargetFacts, options: dict[str, Any]
) -> tuple[str, ...]:
    if not isinstance(backend, ChoosingBackend):
        return ()
    jobs = all_jobs(plan.io_steps, facts, not plan.writes)
    return tuple(dict.fromkeys(backend.done_by(job, options) for _, job in jobs))
