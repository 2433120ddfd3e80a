"""What became of each expectation in each cell, and the lines that tell it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, zip_longest

from msgspec import Struct

from ioplan.core.grouping import grouped
from ioplan.core.text import counted
from ioplan.core.units import (
    iops_suffix,
    metric_text,
    told_apart,
    whole_text,
    without_underscores,
)
from ioplan.planner.places import NOT_MEASURED, Place, expected_of, place_of
from ioplan.planner.steps import Run
from ioplan.records.record import RunRecord, Verdict, outcome_text
from ioplan.results.report.blocks import MOST_CARDS, Judged
from ioplan.results.report.many_sessions import first_lines
from ioplan.results.report.sentences import place_text

OPEN = ("undecided", "no baseline", NOT_MEASURED)
"""Outcomes of expectations that nothing has decided, the gravest first."""
SHARED = ("held", NOT_MEASURED)
"""Outcomes that are one line for many sessions."""
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
        verdict = self.verdict
        if verdict is None or verdict.actual is None or verdict.limit is None:
            return 0.0
        return abs(verdict.actual - verdict.limit) / (abs(verdict.limit) or 1.0)


def judgements(
    records: Iterable[RunRecord], places: Mapping[Place, Run]
) -> list[Judgement]:
    """All verdicts, and what was not judged though the plan expects it.

    `places` are those of a plan of which not all has run; else it is empty.
    """
    pairs = [(record, verdict) for record in records for verdict in record.verdicts]
    judged = {(place_of(run), v.expectation) for run, v in pairs} if places else ()
    missing = (
        Judgement(expected.text, NOT_MEASURED, run.cell_text)
        for place, run in places.items()
        for expected in expected_of(run)
        if (place, expected.text) not in judged
    )
    return [
        *(Judgement(v.expectation, v.outcome, r.asked.cell, v) for r, v in pairs),
        *missing,
    ]


def outcomes_of(judged: Iterable[Judgement]) -> Counter[str]:
    return Counter(judgement.outcome for judgement in judged)


def outcomes_text(outcomes: Mapping[str, int]) -> str:
    """`3 passed, 1 failed`; empty without any."""
    return ", ".join(f"{n} {outcome_text(outcome)}" for outcome, n in outcomes.items())


def labelled(lines: Mapping[str, Iterable[Judged]]) -> Iterator[Judged]:
    """With the labels of sessions, where there are several."""
    for label, own in lines.items():
        where = f"{label}: " if len(lines) > 1 else ""
        yield from (Judged(line.outcome, where + line.text) for line in own)


def judged_lines(by_label: Mapping[str, Sequence[Judgement]]) -> Iterator[Judged]:
    """The expectations of a test in each session.

    What held in many sessions is one line for all of them.
    """
    if len(by_label) <= MOST_CARDS:
        yield from labelled({k: verdict_lines(own) for k, own in by_label.items()})
        return
    lines = {label: [*verdict_lines(own)] for label, own in by_label.items()}
    yield from labelled(
        {k: [o for o in own if o.outcome not in SHARED] for k, own in lines.items()}
    )
    every = verdict_lines(chain.from_iterable(by_label.values()))
    yield from (line for line in every if line.outcome in SHARED)


def verdict_lines(judged: Iterable[Judgement]) -> Iterator[Judged]:
    """Where an expectation held and where it was not measured is one line.

    Cells in which it did not hold share a line, too, where these are more than a few.
    """
    for expectation, cells in grouped(judged, key=lambda own: own.expectation).items():
        yield from _met(expectation, cells)
        for outcome in dict.fromkeys(cell.outcome for cell in cells if cell.verdict):
            if outcome != "held":
                texts = _unmet(expectation, outcome, cells)
                yield from (Judged(outcome, text) for text in texts)


def _met(expectation: str, cells: Sequence[Judgement]) -> Iterator[Judged]:
    held = [own.verdict for own in cells if own.verdict and own.outcome == "held"]
    missing = sum(own.verdict is None for own in cells)
    of = f" of {counted(len(cells), 'cell')}"
    where = f" in {len(held) or missing}{of}" if len(cells) > 1 else ""
    outcome = NOT_MEASURED if missing else "held"
    if held:
        where += f", {missing} {NOT_MEASURED}" if missing else ""
        differ = any(v.actual != v.limit or v.baseline for v in held)
        figures = f": {_measured(held)}" if differ else ""
        yield Judged(outcome, f"passed{where}: {expectation}{figures}{_why(held)}")
    elif missing:
        yield Judged(outcome, f"{NOT_MEASURED}{where}: {expectation}")


def _unmet(expectation: str, outcome: str, cells: Sequence[Judgement]) -> Iterator[str]:
    """A line for each cell, or one for all of them."""
    unmet = [judgement for judgement in cells if judgement.outcome == outcome]
    verdicts = [judgement.verdict for judgement in unmet if judgement.verdict]
    places = [judgement.cell for judgement in unmet]
    if len(unmet) <= MOST_APART:
        yield from map(verdict_line, places, verdicts)
        return
    worst = max(unmet, key=lambda judgement: judgement.distance)
    at = f", worst at {place_text(worst.cell)}"
    at *= worst.verdict is not None and worst.verdict.actual is not None
    where = cells_text(places, [judgement.cell for judgement in cells])
    in_cells = f"in {len(unmet)} of {counted(len(cells), 'cell')}{where}"
    figures = f"{_measured(verdicts)}{at}{_why(verdicts)}"
    yield f"{outcome} {in_cells}: {expectation}: {figures}"


def verdict_line(cell: Mapping[str, str], verdict: Verdict) -> str:
    """One line on an expectation, with the cell it was judged on."""
    where = f" [{place_text(cell)}]" if cell else ""
    figure = f"{_measured([verdict])}{_why([verdict])}"
    return f"{outcome_text(verdict.outcome)}: {verdict.expectation}{where}: {figure}"


# The failures of a test in few lines.

MOST_FAILURES = 3


class Failure(Struct, frozen=True):
    """A line on an expectation that failed, of one cell or of many of them."""

    label: str
    expectation: str
    text: str
    count: int
    distance: float


def worst_failures(by_label: Mapping[str, Sequence[Judgement]]) -> Iterator[Judged]:
    """The worst failure of each session, then its next; what has no room is counted."""
    several = len(by_label) > 1
    own = [_failures(label, judged) for label, judged in by_label.items()]
    own = sorted(filter(None, own), key=lambda failures: -failures[0].distance)
    every = [*filter(None, chain.from_iterable(zip_longest(*own)))]
    for failure in every[:MOST_FAILURES]:
        yield Judged("failed", f"{failure.label}: " * several + failure.text)
    if rest := every[MOST_FAILURES:]:
        texts = (f"{f.label}: " * several + f.expectation for f in rest)
        names = first_lines([*dict.fromkeys(texts)], MOST_FAILURES, "…")
        count = sum(failure.count for failure in rest)
        yield Judged("failed", f"and {count:,} more failed: {'; '.join(names)}")


def _failures(label: str, judged: Iterable[Judgement]) -> list[Failure]:
    """Those of one session, the worst first."""
    failures: list[Failure] = []
    for expectation, cells in grouped(judged, key=lambda own: own.expectation).items():
        distances = [own.distance for own in cells if own.outcome == "failed"]
        texts = [*_unmet(expectation, "failed", cells)] if distances else []
        if len(texts) < len(distances):  # one line for all of them
            count, worst = len(distances), max(distances)
            failures.append(Failure(label, expectation, texts[0], count, worst))
        else:
            pairs = zip(texts, distances, strict=True)
            failures += [Failure(label, expectation, t, 1, d) for t, d in pairs]
    return sorted(failures, key=lambda failure: -failure.distance)


def _measured(verdicts: Sequence[Verdict]) -> str:
    """`86.3 us to 224 us, limit 250 ms`: the plan may give the limit a name."""
    unit = verdicts[0].unit
    actual = sorted({v.actual for v in verdicts if v.actual is not None})
    limits = {v.limit for v in verdicts if v.limit is not None}
    limit = next(iter(limits)) if len(limits) == 1 else None
    ends = (told_apart(value, limit, unit) for value in (*actual[:1], *actual[-1:]))
    text = " to ".join(dict.fromkeys(ends))
    text = text + iops_suffix(unit) if text else metric_text(None, unit)
    baseline = _baseline_text(verdicts)
    if limit is not None and (limits != set(actual) or baseline):
        text += f", limit {whole_text(limit, unit)}"
    return text + baseline


def _baseline_text(verdicts: Sequence[Verdict]) -> str:
    """`, baseline 120 k IOPS in session ID`; empty without one."""
    ids = dict.fromkeys(verdict.baseline for verdict in verdicts if verdict.baseline)
    values = [verdict.baseline_value for verdict in verdicts if verdict.baseline]
    if not ids:
        return ""
    is_same = len({*values}) == 1
    figure = f"{whole_text(values[0], verdicts[0].unit)} in " if is_same else ""
    return f", baseline {figure}session {', '.join(ids)}"


def _why(verdicts: Sequence[Verdict]) -> str:
    """The first reason, in brackets, and whether there are others."""
    whys = dict.fromkeys(verdict.why for verdict in verdicts if verdict.why)
    if not whys:
        return ""
    first = without_underscores(next(iter(whys)))
    return f" ({first}{', …' if len(whys) > 1 else ''})"


def cells_text(
    cells: Sequence[Mapping[str, str]], every: Sequence[Mapping[str, str]]
) -> str:
    """` [qd=64, 128 read=0%]`: the values of axes that these cells are all those of.

    Empty where they are all cells, or where no such values tell them from the others.
    """
    own, common = _values(cells), _values(every)
    differing = {axis: values for axis, values in own.items() if values != common[axis]}
    matching = [c for c in every if all(c.get(a) in v for a, v in differing.items())]
    if not differing or len(matching) != len(cells):
        return ""
    texts = {axis: ", ".join(values) for axis, values in differing.items()}
    return f" [{place_text(texts)}]"


def _values(cells: Iterable[Mapping[str, str]]) -> dict[str, dict[str, None]]:
    """The values of each axis, each once, in their order."""
    values: dict[str, dict[str, None]] = {}
    for cell in cells:
        for axis, value in cell.items():
            values.setdefault(axis, {})[value] = None
    return values


BAD_FIRST = ("failed", *OPEN, "warning")
MOST_LINES = 40


def first_lines_of(lines: Sequence[Judged], what: str) -> tuple[Judged, ...]:
    """What is bad first, so that nothing bad is cut off unseen."""
    if len(lines) <= MOST_LINES:
        return tuple(lines)
    ranks = {outcome: rank for rank, outcome in enumerate(BAD_FIRST)}
    lines = sorted(lines, key=lambda line: ranks.get(line.outcome, len(ranks)))
    left = lines[MOST_LINES:]
    more = Judged(left[0].outcome, f"and {len(left)} more {what}: ioplan show")
    return (*lines[:MOST_LINES], more)
