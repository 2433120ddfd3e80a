"""Sessions as a report has them: records, plan, and what of it was not measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

from msgspec import Struct

from ioplan.language.plan import CheckedPlan
from ioplan.planner.places import Place, not_measured, places_of
from ioplan.planner.steps import Run
from ioplan.records.record import RunRecord
from ioplan.records.session import Session
from ioplan.results.report.facts import Source, labels, source
from ioplan.results.report.headlines.doubts import Doubts, doubts
from ioplan.results.report.judgements import Judgement, judgements


class Reported(Struct, frozen=True, dict=True):
    """A session of the report, with its label, its records and its plan.

    `places` are those of the plan where not all of it has run; else it is empty.
    """

    session: Session
    label: str
    records: list[RunRecord]
    plan: CheckedPlan | None
    places: Mapping[Place, Run]

    @cached_property
    def missing(self) -> list[Run]:
        """The cells that were not measured."""
        return not_measured(self.places, self.records)

    @cached_property
    def doubts(self) -> Doubts:
        """What speaks against its figures."""
        return doubts(self.records)

    @cached_property
    def source(self) -> Source:
        """Where its figures come from."""
        return source(self.label, self.session, self.records)

    @property
    def is_known(self) -> bool:
        """Whether it can be said what was not measured."""
        return self.session.status == "ok" or self.plan is not None

    @cached_property
    def all_judged(self) -> list[Judgement]:
        """What became of the expectations of all tests."""
        return judgements(self.records, self.places)

    def judged(self, test: str) -> list[Judgement]:
        """What became of the expectations of a test."""
        places = {at: run for at, run in self.places.items() if at[0] == test}
        return judgements(self.of(test, "run"), places)

    def of(self, test: str, *kinds: str) -> list[RunRecord]:
        """The records of a test: its runs, or what prepared it."""
        own = (record for record in self.records if record.asked.test == test)
        return [record for record in own if record.asked.kind in kinds]


def reported(
    sessions: Sequence[Session],
    records: Sequence[list[RunRecord]],
    plans: Mapping[str, CheckedPlan | None],
) -> list[Reported]:
    """Sessions with their records; `plans` has the plan of each that is still one."""
    targets = [own[0].target if own else {} for own in records]
    names = labels(sessions, targets)
    places: dict[int, dict[Place, Run]] = {}  # of a plan that many sessions ran, once
    parts = []
    for session, label, own in zip(sessions, names, records, strict=True):
        plan, unfinished = plans.get(session.id), {}
        if plan and session.status != "ok":
            unfinished = places.get(id(plan)) or places_of(plan)
            places[id(plan)] = unfinished
        parts.append(Reported(session, label, own, plan, unfinished))
    return parts
