"""Checks `skip when predicted within 2%`: where others may stand for a cell."""

from __future__ import annotations

from collections.abc import Iterator

from ioplan.language.bind.between import LEAST_VALUES, numeric_axes, skeleton
from ioplan.language.check.steady_clause import percent_within
from ioplan.language.check.sweep import Sweep
from ioplan.language.metric import RATES
from ioplan.language.plan import After, RunTemplate, StepTemplate, Test, Within
from ioplan.language.syntax import tree


def predicted_of(skips: list[tree.Skip], sweep: Sweep) -> Within | None:
    """How well a cell must be predicted to be left out; None if that is not asked."""
    said = [one.predicted for one in skips if one.predicted]
    for extra in said[1:]:
        sweep.findings.error("'predicted' is given twice", extra.span)
    if not said:
        return None
    clause = said[0]
    word = clause.words[0] if clause.words else tree.Word(clause.span, "iops")
    metric, percent = sweep.metric(word, None), percent_within(clause, sweep)
    if percent == 0:
        sweep.findings.error("'within' must be more than 0 %", clause.atoms[0].span)
    if metric and metric.name not in RATES:
        text = "a rate is predicted: iops or bandwidth"
        sweep.findings.error(text, clause.span)
    return Within(metric=metric, percent=percent) if metric and percent else None


def check_predicted(
    test: Test, start: After | None, skips: list[tree.Skip], sweep: Sweep
) -> None:
    """An error for each reason why no cell of a test can stand for another."""
    spans = [one.predicted.span for one in skips if one.predicted]
    if not test.predicted or not spans or not sweep.whole:
        return
    for text, help in _reasons(test, start, sweep):
        sweep.findings.error(f"no cell can be predicted: {text}", spans[0], help)


def _reasons(
    test: Test, start: After | None, sweep: Sweep
) -> Iterator[tuple[str, str]]:
    remove = "remove: skip when predicted"
    if sweep.sought:
        yield "each cell is a search", remove
    if test.rounds:
        text = "the figures of a cell are of its last rounds, which come after all"
        yield text, remove
    if not _is_one_run(test.steps):
        yield "a cell has more than one run", remove
    if start and start.before_each not in (None, "run"):
        text = f"'before each {start.before_each}' needs the order that 'vary' gives"
        yield text, remove
    cells = list(sweep.matrix.cells())
    if not numeric_axes(cells):
        text = f"vary an axis in at least {LEAST_VALUES} numbers: qd in 1..64 doubling"
        yield "no axis has so many numbers that one lies between others", text
        return
    open_cells = [cell for cell in cells if not test.judges(cell)]
    if len(open_cells) <= len([c for c in skeleton(cells) if c in open_cells]):
        text = "an 'expect' judges all that lie between others"
        yield text, "select those that matter: expect iops >= 1_000 when qd == 32"


def _is_one_run(steps: tuple[StepTemplate, ...]) -> bool:
    return len([s for s in steps if isinstance(s, RunTemplate)]) == len(steps) == 1
