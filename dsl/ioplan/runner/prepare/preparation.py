"""The steps before a run: states to reach, and rests. Done only when a run needs them.

So a resumed session, or one whose target is in the state already, prepares nothing
that no run will use; and one that was interrupted repeats what it must.
"""

from __future__ import annotations

from ioplan.planner.run_id import prepare_digest
from ioplan.planner.steps import Idle, Prepare, Run
from ioplan.planner.target_state import TargetState

BeforeRun = Prepare | Idle


class PreparationQueue:
    """The steps since the last run, and the path to the state that holds."""

    def __init__(self) -> None:
        self.pending: list[BeforeRun] = []
        self.path: list[Prepare] = []

    def enqueue(self, step: BeforeRun) -> None:
        """The plan has come to a step before a run."""
        self.pending.append(step)
        if isinstance(step, Prepare):
            if step.position == 1:
                self.path = []
            self.path.append(step)

    def pending_for(self, run: Run, state: TargetState) -> list[BeforeRun]:
        """What must be done before a run, on a target that is in a state."""
        missing = self._missing(state) if run.after else []
        needed = {id(step) for step in missing}
        pending = {id(step) for step in self.pending}
        repeated = [step for step in missing if id(step) not in pending]
        return [
            *repeated,
            *(s for s in self.pending if isinstance(s, Idle) or id(s) in needed),
        ]

    def _missing(self, state: TargetState) -> list[Prepare]:
        known = state.path == self.state_path(len(state.path))
        return self.path[len(state.path) if known else 0 :]

    def state_path(self, length: int) -> tuple[str, ...]:
        """The digests of the first steps of the path."""
        return tuple(prepare_digest(one.step) for one in self.path[:length])

    def state_path_to(self, step: Prepare) -> tuple[str, ...]:
        """The digests of the path up to a step, that one included."""
        place = next(i for i, one in enumerate(self.path, 1) if one is step)
        return self.state_path(place)

    def rests(self) -> list[Idle]:
        """Rests that no run follows; the plan has them all the same."""
        return [step for step in self.pending if isinstance(step, Idle)]

    def completed(self, run: Run) -> None:
        """A run is over, now or in an earlier part of the session."""
        self.pending = []
        if run.writes:
            self.path = []
