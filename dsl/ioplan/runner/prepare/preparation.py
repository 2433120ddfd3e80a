"""What a run needs before it: states, rests, and the runs that came before it.

Done only when a run needs them: a resumed session, or one whose target is in the state
already, prepares nothing that no run will use. A test whose runs write one after the
other asks of each the state that those before it have left: where that is not proven,
the precondition is repeated, and so are they, without a record.
"""

from __future__ import annotations

from ioplan.planner.run_id import digest, prepare_digest
from ioplan.planner.steps import Idle, Prepare, Run, SingleStep
from ioplan.planner.target_state import TargetState


class PreparationQueue:
    """The steps since the last run, and the path to the state that holds.

    A simulated drive is new in each process: its path begins with the session, and has
    all that was done (`whole`).
    """

    def __init__(self, *, whole: bool = False) -> None:
        self.whole = whole
        self.pending: list[Prepare | Idle] = []
        self.path: list[SingleStep] = []
        self.digests: list[str] = []

    def enqueue(self, step: Prepare | Idle) -> None:
        """The plan has come to a step before a run."""
        self.pending.append(step)
        if isinstance(step, Prepare):
            if step.position == 1 and not self.whole:
                self._clear()
            self._append(step, prepare_digest(step.step))
        elif self.whole:
            self._append(step, digest("idle", step.pause_ns))

    def pending_for(self, run: Run, state: TargetState) -> list[SingleStep]:
        """What must be done before a run, on a target that is in a state."""
        missing = self._missing(state) if run.after or self.whole else []
        if self.whole:
            return missing
        needed = {id(step) for step in missing}
        pending = {id(step) for step in self.pending}
        repeated = [step for step in missing if id(step) not in pending]
        return [
            *repeated,
            *(s for s in self.pending if isinstance(s, Idle) or id(s) in needed),
        ]

    def _missing(self, state: TargetState) -> list[SingleStep]:
        known = list(state.path) == self.digests[: len(state.path)]
        return self.path[len(state.path) if known else 0 :]

    def path_to(self, step: SingleStep) -> tuple[str, ...]:
        """The digests of the path up to a step, that one included."""
        length = next(i for i, one in enumerate(self.path, 1) if one is step)
        return tuple(self.digests[:length])

    def is_on_path(self, step: SingleStep) -> bool:
        """Whether the state after a step depends on it."""
        return bool(self.path) and self.path[-1] is step

    def rests(self) -> list[Idle]:
        """Rests that no run follows; the plan has them all the same."""
        return [step for step in self.pending if isinstance(step, Idle)]

    def completed(self, run: Run) -> None:
        """A run has come to its end, now or in an earlier part of the session."""
        self.pending = []
        if self.whole or (run.writes and self.path):
            self._append(run, digest(run.run_id, run.round, run.iteration))

    def left_out(self) -> None:
        """A run was not done, and has changed nothing."""
        self.pending = []

    def lost(self, *, writes: bool) -> None:
        """A step has failed, or cannot be repeated: the next ones start from there."""
        self.pending = []
        if self.whole or writes:
            self._clear()

    def _append(self, step: SingleStep, name: str) -> None:
        self.path.append(step)
        self.digests.append(name)

    def _clear(self) -> None:
        self.path, self.digests = [], []
