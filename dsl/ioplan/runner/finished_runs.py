"""What an interrupted session has done already, and need not do again."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

from ioplan.language.plan import CheckedPlan
from ioplan.planner.steps import RoundsOf, Run
from ioplan.planner.unfold import unfold
from ioplan.records.record import RunRecord

Key = tuple[str, int, int]


class FinishedRuns:
    """Finished runs, found by what they do. Each can be taken once.

    Names count for nothing, so that a run is found again in an edited plan; among
    runs that do the same, the one of the same test is preferred.
    """

    def __init__(self, records: Iterable[RunRecord] = ()) -> None:
        self.runs: dict[Key, deque[RunRecord]] = defaultdict(deque)
        for one in records:
            if one.status == "ok" and one.asked.kind == "run":
                key = (one.run_id, one.asked.round, one.asked.iteration)
                self.runs[key].append(one)

    def __len__(self) -> int:
        return sum(map(len, self.runs.values()))

    def take(self, run: Run) -> RunRecord | None:
        """The record of a run, if it was finished before."""
        if not self.runs:
            return None
        found = self.runs.get((run.run_id, run.round, run.iteration))
        if not found:
            return None
        same = (one for one in found if one.asked.test == run.test.title)
        taken = next(same, found[0])
        found.remove(taken)
        return taken

    def remaining(self) -> list[RunRecord]:
        """What has not been taken."""
        return list(chain.from_iterable(self.runs.values()))


@dataclass(frozen=True)
class PlanChange:
    """What an edited plan keeps of a session, has anew, and has no more."""

    reused: int
    added: list[Run]
    removed: list[RunRecord]


def plan_change(plan: CheckedPlan, records: list[RunRecord]) -> PlanChange:
    """Compare a plan with what was done; of rounds, those that were begun."""
    done = FinishedRuns(records)
    rounds = max((one.asked.round for one in records), default=0)
    kept, fresh = 0, []
    for run in _runs(plan, max(rounds, 1)):
        if done.take(run):
            kept += 1
        else:
            fresh.append(run)
    return PlanChange(kept, fresh, done.remaining())


def _runs(plan: CheckedPlan, rounds: int) -> Iterator[Run]:
    for step in unfold(plan):
        if isinstance(step, RoundsOf):
            for number in range(1, min(rounds, step.rounds.at_most) + 1):
                yield from (one for one in step.round(number) if isinstance(one, Run))
        elif isinstance(step, Run):
            yield step
