"""How often each step of a plan is done at most."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ioplan.planner.steps import Idle, Prepare, RoundsOf, Run, SingleStep, Step


def counted(steps: Iterable[Step]) -> Iterator[tuple[SingleStep, int]]:
    """Single steps, each with how often it is done; of rounds, at most.

    What a round prepares may differ from the first to the second; all later ones
    are like the second.
    """
    for step in steps:
        if isinstance(step, RoundsOf):
            yield from _in_rounds(step)
        else:
            yield step, 1


def _in_rounds(step: RoundsOf) -> Iterator[tuple[SingleStep, int]]:
    most = step.rounds.at_most
    if step.test.after is None:
        yield from ((single, most) for single in step.round(1))
        return
    rounds = zip(_parts(step.round(1)), _parts(step.round(2)), strict=True)
    for (first, single), (later, _) in rounds:
        for position, prepare in sorted((first | later).items()):
            yield prepare, (position in first) + (position in later) * (most - 1)
        yield single, most


def _parts(
    steps: Iterable[SingleStep],
) -> Iterator[tuple[dict[int, Prepare], Run | Idle]]:
    """Each run or rest, with the preparation before it by its position."""
    prepares: dict[int, Prepare] = {}
    for step in steps:
        if isinstance(step, Prepare):
            prepares[step.position] = step
        else:
            yield prepares, step
            prepares = {}
