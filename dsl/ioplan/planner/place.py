"""Where a run stands among the steps of its test."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ioplan.language.plan import RepeatTemplate, RunTemplate, StepTemplate

Around = tuple[StepTemplate | None, ...]
"""Steps of a cell that bear on a run; None stands for the run itself."""


class Place(NamedTuple):
    """The number of a run or a rest in its test, from 0, and what bears on it."""

    number: int
    around: Around


def places(steps: tuple[StepTemplate, ...]) -> Iterator[tuple[int, Place]]:
    """The place of each run, by the identity of its template."""
    for number, (step, around) in enumerate(_leaves(steps, (), repeated=False)):
        if isinstance(step, RunTemplate):
            yield id(step), Place(number, around)


def _leaves(
    steps: tuple[StepTemplate, ...], before: Around, repeated: bool
) -> Iterator[tuple[StepTemplate, Around]]:
    """Runs and rests with what is done before them; in a repeat, all the rest is."""
    for i, step in enumerate(steps):
        rest = steps[i + 1 :] if repeated else ()
        around = (*before, *steps[:i], *((None, *rest) if rest else ()))
        if isinstance(step, RepeatTemplate):
            yield from _leaves(step.steps, around, repeated=True)
        else:
            yield step, around
