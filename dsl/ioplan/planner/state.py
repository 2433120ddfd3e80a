"""Which state the target provably is in, while a plan unfolds."""

from __future__ import annotations

from functools import lru_cache

from ioplan.language.plan import Precondition, PrepareStep, PurgeStep
from ioplan.planner.identity import digest, prepare_digest


@lru_cache(maxsize=256)
def steps_of(precondition: Precondition) -> tuple[PrepareStep, ...]:
    """The steps that matter: a purge undoes all that came before it."""
    steps = precondition.steps
    purges = [i for i, step in enumerate(steps) if isinstance(step, PurgeStep)]
    return steps[purges[-1] :] if purges else steps


@lru_cache(maxsize=256)
def path_of(precondition: Precondition) -> tuple[str, ...]:
    """The same steps as digests: two equal paths lead to the same state."""
    return tuple(prepare_digest(step) for step in steps_of(precondition))


def state_digest(precondition: Precondition) -> str:
    """Identifies a state by what leads to it, not by its name."""
    return digest(*path_of(precondition))


class TargetState:
    """The preparation that the target has had since it was last written otherwise.

    Reading and resting leave a state as it is; writing ends it. A state that is
    the beginning of another is continued, not done again.
    """

    def __init__(self, path: tuple[str, ...] | None = None) -> None:
        self.path = path

    def remaining(self, wanted: Precondition) -> tuple[PrepareStep, ...]:
        """What is still to be done to reach a state; nothing when it is reached."""
        path, steps = path_of(wanted), steps_of(wanted)
        if self.path is not None and path[: len(self.path)] == self.path:
            return steps[len(self.path) :]
        return steps

    def prepared(self, step: PrepareStep) -> None:
        """A step of a precondition was done."""
        before = () if isinstance(step, PurgeStep) else (self.path or ())
        self.path = (*before, prepare_digest(step))

    def left_over(self, wanted: Precondition) -> None:
        """All before the first step of a state no longer counts."""
        if self.path is not None and path_of(wanted)[: len(self.path)] != self.path:
            self.path = None

    def ran(self, writes: bool) -> None:
        """A run is over."""
        if writes:
            self.path = None
