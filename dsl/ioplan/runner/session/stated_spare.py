"""What a shaped write was told of the drive, for the write that follows it."""

from __future__ import annotations

from itertools import pairwise

from ioplan.language.checker.shaped import unlike_the_model
from ioplan.language.plan import WriteStep
from ioplan.planner.steps import Prepare
from ioplan.planner.target_state import steps_of
from ioplan.results.measure.wear import StatedSpare


def stated_spare(prepare: Prepare, step: WriteStep) -> StatedSpare | None:
    """By which the amplification of this write is known, if it is of the same kind."""
    after = prepare.test.after
    steps = steps_of(after.precondition) if after else ()
    then = after.then.steps if after and after.then else ()
    before = next(
        (one for one, next in pairwise((*steps, *then)) if next is step), None
    )
    if not isinstance(before, WriteStep) or len(step.workload.streams) > 1:
        return None
    (shaped, *_), (own,) = before.workload.streams, step.workload.streams
    if not shaped.spare_percent or [*unlike_the_model(own)]:
        return None
    sizes = max(shaped.sizes_bytes) / max(own.sizes_bytes)
    return StatedSpare(shaped.spare_percent, max(1.0, sizes), before.finds_spare)
