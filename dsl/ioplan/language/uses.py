"""Checks that each axis decides something: a field, or a name that a step uses."""

from __future__ import annotations

from collections.abc import Iterator

from ioplan.language import tree
from ioplan.language.draft import merged
from ioplan.language.fields import AXIS_FIELDS
from ioplan.language.fio_words import FIO_WORDS
from ioplan.language.plan import (
    Amount,
    IdleTemplate,
    Ref,
    RepeatTemplate,
    RunTemplate,
    StepTemplate,
)
from ioplan.language.steps import flat
from ioplan.language.streams import alternatives
from ioplan.language.sweep import Sweep
from ioplan.suggest import did_you_mean


def note_used(steps: list[StepTemplate], sweep: Sweep) -> None:
    """A name that a definition uses and a step overrides decides nothing."""
    if sweep.complete:
        amounts = (*_amounts(steps), *(a for run in sweep.runs for a in _timing(run)))
        names = {amount.name for amount in amounts if isinstance(amount, Ref)}
        sweep.scope.open.used = names | {
            name for run in sweep.runs for name in _refs(run, sweep)
        }


def _amounts(steps: list[StepTemplate]) -> Iterator[Amount]:
    for step in flat(steps):
        if isinstance(step, IdleTemplate):
            yield step.pause
        elif isinstance(step, RepeatTemplate):
            yield step.times


def _timing(run: RunTemplate) -> tuple[Amount | None, ...]:
    return run.run, run.limit, run.passes, run.warmup


def _refs(run: RunTemplate, sweep: Sweep) -> Iterator[str]:
    for template in alternatives(run.workload, sweep.matrix.axes):
        for stream in template.streams:
            yield from merged(stream, run.override).refs.values()


def check_used(sweep: Sweep) -> None:
    """An axis that nothing uses is a slip of the pen."""
    for what in sweep.dimensions:
        if what.field is None and what.name not in sweep.scope.open.used:
            _unused(what.word, sweep)
        elif what.stream:
            sweep.check_stream(what.stream, what.word, None)


def _unused(word: tree.Word, sweep: Sweep) -> None:
    meant = FIO_WORDS.get(word.text, "").partition(" ")[0]
    here = meant in AXIS_FIELDS
    near = "" if here else did_you_mean(word.text, AXIS_FIELDS)
    sweep.findings.unknown(
        word.text,
        f"no step uses {word.text!r}, and no field has that name{near}",
        word.span,
        f"write: vary {meant} in …" if here else f"fields: {' '.join(AXIS_FIELDS)}",
    )
