"""Which state the target provably is in, while a plan unfolds."""

from __future__ import annotations

from msgspec import Struct

from ioplan.core.memo import ByIdentity
from ioplan.language.plan import Precondition, PrepareStep, PurgeStep
from ioplan.planner.run_id import digest, prepare_digest


def _steps(precondition: Precondition) -> tuple[PrepareStep, ...]:
    """The steps that matter: a purge undoes all that came before it."""
    steps = precondition.steps
    purges = [i for i, step in enumerate(steps) if isinstance(step, PurgeStep)]
    return steps[purges[-1] :] if purges else steps


def _path(precondition: Precondition) -> tuple[str, ...]:
    """Digests of a precondition's steps: two equal paths lead to the same state."""
    return tuple(prepare_digest(step) for step in steps_of(precondition))


steps_of, path_of = ByIdentity(_steps), ByIdentity(_path)
"""The same of each precondition, asked before each run."""


def state_digest(precondition: Precondition) -> str:
    """Identifies a state by what leads to it, not by its name."""
    return digest(*path_of(precondition))


class TargetState(Struct, frozen=True):
    """The preparation that the target has had since it was last written otherwise.

    Reading and resting leave a state as it is; writing ends it. A state that is
    the beginning of another is continued, not done again. An empty path is a
    state of which nothing is known.
    """

    path: tuple[str, ...] = ()

    def remaining(self, wanted: Precondition) -> tuple[PrepareStep, ...]:
        """What is still to be done to reach a state; nothing when it is reached."""
        done = len(self.path)
        continued = path_of(wanted)[:done] == self.path
        return steps_of(wanted)[done if continued else 0 :]


def reached(wanted: Precondition) -> TargetState:
    """The state once all that remained was done."""
    return TargetState(path_of(wanted))
