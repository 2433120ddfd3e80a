"""What became of each expectation in each cell, and the lines that tell it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from ioplan.core.text import counted
from ioplan.core.units import metric_text, told_apart
from ioplan.planner.places import NOT_MEASURED, Place, expected_of, place_of
from ioplan.planner.steps import Run
from ioplan.records.record import RunRecord, Verdict

OPEN = ("undecided", "no baseline", NOT_MEASURED)
"""Outcomes of expectations that nothing has decided, the gravest first."""
MOST_APART = 3
"""So many cells, or runs, of the same failure each have a line of their own."""


class Judgement(Struct, frozen=True):
    """One expectation in one cell; without a verdict it was not measured."""

    expectation: str
    outcome: str
    cell: Mapping[str, str]
    verdict: Verdict | None = None

    @property
    def distance(self) -> float:
        """How far the figure is from its limit, as a share of the limit."""
        return _distance(self.verdict) if self.verdict else 0.0


def judgements(
    records: Iterable[RunRecord], places: Mapping[Place, Run]
) -> list[Judgement]:
    """All verdicts, and what was not judged though the plan expects it.

    `places` are those of a plan of which not all has run; else it is empty.
    """
    found, judged = [], set()
    for record in records:
        for one in record.verdicts:
            cell, outcome = record.asked.cell, one.outcome
            found.append(Judgement(one.expectation, outcome, cell, one))
            judged.add((place_of(record), one.expectation))
    for where, run in places.items():
        for expected in expected_of(run):
            if (where, expected.text) not in judged:
                found.append(Judgement(expected.text, NOT_MEASURED, run.cell_text))
    return found


def outcomes_of(found: Iterable[Judgement]) -> Counter[str]:
    """How many judgements had which outcome."""
    return Counter(one.outcome for one in found)


def outcomes_text(outcomes: Mapping[str, int]) -> str:
    """`3 held, 1 failed`; empty without any."""
    return ", ".join(f"{count} {outcome}" for outcome, count in outcomes.items())


def verdict_line(
    cell: Mapping[str, str], verdict: Verdict, limits: bool = False
) -> str:
    """One line on an expectation, with the cell it was judged on."""
    place = _cell_text(cell)
    actual = (
        measured([verdict])
        if limits or verdict.baseline
        else told_apart(verdict.actual, verdict.limit, verdict.unit)
    )
    why = f" ({verdict.why})" if verdict.why else ""
    where = f" [{place}]" if place else ""
    return f"{verdict.outcome}: {verdict.expectation}{where}: {actual}{why}"


def measured(verdicts: Sequence[Verdict]) -> str:
    """`86.3 us to 224 us, limit 250 ms`: the plan may give the limit a name."""
    unit = verdicts[0].unit
    actual = sorted({v.actual for v in verdicts if v.actual is not None})
    limits = {v.limit for v in verdicts if v.limit is not None}
    limit = next(iter(limits)) if len(limits) == 1 else None
    shown = (*actual[:1], *actual[-1:])
    ends = dict.fromkeys(told_apart(value, limit, unit) for value in shown)
    text = " to ".join(ends) or metric_text(None, unit)
    baseline = _baseline_text(verdicts)
    if limit is None or (limits == set(actual) and not baseline):
        return text + baseline
    return f"{text}, limit {metric_text(limit, unit)}{baseline}"


def _baseline_text(verdicts: Sequence[Verdict]) -> str:
    """`, baseline 120 k IOPS in session ID`; empty without one."""
    ids = dict.fromkeys(one.baseline for one in verdicts if one.baseline)
    if not ids:
        return ""
    values = [one.baseline_value for one in verdicts if one.baseline]
    alone = len(set(values)) == 1
    figure = f"{metric_text(values[0], verdicts[0].unit)} in " if alone else ""
    return f", baseline {figure}session {', '.join(ids)}"


def verdict_lines(
    found: Iterable[Judgement], limits: bool = False
) -> list[tuple[str, str]]:
    """Outcome and line; where it held and where it was not measured is one line.

    Cells in which it did not hold share a line, too, where these are more than a few.
    With `limits`, each line has the figures and what they were held against.
    """
    by_line: dict[str, list[Judgement]] = {}
    for one in found:
        by_line.setdefault(one.expectation, []).append(one)
    lines: list[tuple[str, str]] = []
    for expectation, judged in by_line.items():
        lines += _summed(expectation, judged, limits)
        for outcome in dict.fromkeys(one.outcome for one in judged if one.verdict):
            if outcome != "held":
                lines += _unmet(expectation, outcome, judged, limits)
    return lines


def _unmet(
    expectation: str, outcome: str, judged: Sequence[Judgement], limits: bool
) -> list[tuple[str, str]]:
    """A line for each cell, or one for all of them."""
    found = [(one.cell, one.verdict) for one in judged if one.outcome == outcome]
    known = [(cell, verdict) for cell, verdict in found if verdict]
    if len(known) <= MOST_APART:
        return [(outcome, verdict_line(*one, limits)) for one in known]
    where = cells_text([cell for cell, _ in known], [one.cell for one in judged])
    cell, worst = max(known, key=lambda one: _distance(one[1]))
    why = _why([verdict for _, verdict in known])
    figures = measured([verdict for _, verdict in known])
    at = f", worst at {_cell_text(cell)}" if worst.actual is not None else ""
    in_cells = f"in {len(known)} of {counted(len(judged), 'cell')}{where}"
    return [(outcome, f"{outcome} {in_cells}: {expectation}: {figures}{at}{why}")]


def _why(verdicts: Sequence[Verdict]) -> str:
    """The first reason, in brackets, and whether there are others."""
    whys = dict.fromkeys(one.why for one in verdicts if one.why)
    return f" ({next(iter(whys))}{', …' if len(whys) > 1 else ''})" if whys else ""


def _distance(verdict: Verdict) -> float:
    """How far from its limit, by its share of that."""
    if verdict.actual is None or verdict.limit is None:
        return 0.0
    return abs(verdict.actual - verdict.limit) / (abs(verdict.limit) or 1.0)


def cells_text(
    found: Sequence[Mapping[str, str]], every: Sequence[Mapping[str, str]]
) -> str:
    """` [qd=64, 128 read=0%]`: the values of axes that these cells are all those of.

    Empty where they are all cells, or where no such values tell them from the others.
    """
    some, whole = _values(found), _values(every)
    apart = {axis: values for axis, values in some.items() if values != whole[axis]}
    matching = [c for c in every if all(c.get(a) in v for a, v in apart.items())]
    if not apart or len(matching) != len(found):
        return ""
    told = (f"{axis}={', '.join(values)}" for axis, values in apart.items())
    return f" [{' '.join(told)}]"


def _values(cells: Iterable[Mapping[str, str]]) -> dict[str, dict[str, None]]:
    """The values of each axis, each once, in their order."""
    found: dict[str, dict[str, None]] = {}
    for cell in cells:
        for axis, value in cell.items():
            found.setdefault(axis, {})[value] = None
    return found


def _cell_text(cell: Mapping[str, str]) -> str:
    return " ".join(f"{axis}={value}" for axis, value in cell.items())


def _summed(
    expectation: str, judged: Sequence[Judgement], limits: bool
) -> list[tuple[str, str]]:
    """The line on the cells where it held, and on those that were not measured."""
    held = [one.verdict for one in judged if one.verdict and one.outcome == "held"]
    missing = sum(one.verdict is None for one in judged)
    if not held and not missing:
        return []
    cells = counted(len(judged), "cell")
    where = f" in {len(held) or missing} of {cells}" if len(judged) > 1 else ""
    if not held:
        return [(NOT_MEASURED, f"{NOT_MEASURED}{where}: {expectation}")]
    where += f", {missing} {NOT_MEASURED}" if missing else ""
    differ = limits and any(v.actual != v.limit for v in held)
    differ = differ or any(v.baseline for v in held)
    figures = f": {measured(held)}" if differ else ""
    outcome = NOT_MEASURED if missing else "held"
    return [(outcome, f"held{where}: {expectation}{figures}{_why(held)}")]
