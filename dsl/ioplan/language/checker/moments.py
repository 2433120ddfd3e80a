"""Checks `cut power at …` and `event … at …`: what is done in the midst of a run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ioplan.language.checker.scope import Scope
from ioplan.language.checker.timing import Timing
from ioplan.language.fields import of_kind
from ioplan.language.metric import LEAST_BEFORE, Metric
from ioplan.language.plan import Moment, NamedEvent, RunTemplate
from ioplan.language.quantity import Quantity, make
from ioplan.language.syntax import tree
from ioplan.language.syntax.source import Span
from ioplan.workload import interval_of

MOST_EVENTS = 20


class _Wording(NamedTuple):
    """How messages speak of what is done."""

    noun: str
    a_noun: str
    happens: str
    help: str
    example: str


CUT = _Wording(
    *("the power cut", "a power cut", "the power is cut"),
    *("cut it before the run ends", "cut power at 5s..110s"),
)
EVENT = _Wording(
    *("the event", "an event", "the event is"),
    *("move it before the end of the run", 'event "path down" at 30s..90s'),
)


def power_cut(timing: Timing, scope: Scope) -> Moment | None:
    """None without the clause, or after an error."""
    clause = timing.get("cut")
    return _moment(clause, CUT, timing, scope) if clause else None


def events(
    clauses: Iterable[tree.Clause], timing: Timing, scope: Scope
) -> tuple[NamedEvent, ...]:
    """The events that have no error, as the plan writes them."""
    named = [clause for clause in clauses if clause.kind == "event"]
    if len(named) > MOST_EVENTS:
        text = f"the run has {len(named)} events, more than {MOST_EVENTS}"
        scope.findings.error(text, named[MOST_EVENTS].span, "make several runs")
    found = ((one, _moment(one, EVENT, timing, scope)) for one in named)
    return tuple(
        NamedEvent(name=clause.words[0].text, moment=moment, span=clause.span)
        for clause, moment in found
        if moment and _has_name(clause, scope)
    )


def _has_name(clause: tree.Clause, scope: Scope) -> bool:
    if clause.words[0].text.strip():
        return True
    help = "write the name that the lab file has under [events]"
    scope.findings.error("the event has no name", clause.span, help)
    return False


def _moment(
    clause: tree.Clause, wording: _Wording, timing: Timing, scope: Scope
) -> Moment | None:
    """None after an error."""
    ends = [_time(atom, wording, scope) for atom in clause.atoms]
    known = [one for one in ends if one is not None]
    if len(known) < len(ends) or not _fits(clause, wording, known, timing, scope):
        return None
    return Moment(earliest=known[0], latest=known[-1])


def _time(atom: tree.Atom, wording: _Wording, scope: Scope) -> Quantity | None:
    what = f"the moment of {wording.a_noun}"
    found = scope.quantity(atom, what)
    if found is None:
        return None
    return scope.parameters.guarded(atom.span, lambda: of_kind(found, what, "time"))


def _fits(
    clause: tree.Clause,
    wording: _Wording,
    ends: list[Quantity],
    timing: Timing,
    scope: Scope,
) -> bool:
    """Whether the moment is in the midst of the run, as far as this is known."""
    if ends[0].value > ends[-1].value:
        text = f"the range of {wording.noun} ends before it begins"
        scope.findings.error(text, clause.span, "write the earlier time first")
        return False
    lasting = timing.get("for")
    if lasting is None:
        scope.findings.error(
            f"a run with {wording.a_noun} needs a length in time",
            clause.span,
            f"write: for 2min, {wording.example}",
        )
        return False
    return _ends_before(clause, wording, ends[-1], lasting, scope)


def _ends_before(
    clause: tree.Clause,
    wording: _Wording,
    last: Quantity,
    lasting: tree.Clause,
    scope: Scope,
) -> bool:
    found = scope.amount(lasting.atoms[0])
    if not isinstance(found, Quantity) or found.kind != "time":
        return True
    if last.value < found.value:
        return True
    scope.findings.error(
        f"{wording.happens} at {last.text}, and the run lasts {found.text}",
        clause.span,
        wording.help,
    )
    return False


def check_event_cost(
    metric: Metric, span: Span, runs: tuple[RunTemplate, ...], scope: Scope
) -> bool:
    """Whether each run has an event, and a level before it; else an error."""
    if not all(run.events for run in runs):
        a_run = "a" if any(run.events for run in runs) else "no"
        scope.findings.error(
            f"{metric} counts from an event, and {_WITHOUT[a_run]}",
            span,
            f"write in the run for example: {EVENT.example}",
        )
        return False
    return all(_has_level(metric, span, run, scope) for run in runs)


_WITHOUT = {"a": "a run of this test has none", "no": "no run of this test has one"}


def _has_level(metric: Metric, span: Span, run: RunTemplate, scope: Scope) -> bool:
    first = min((one.moment.earliest for one in run.events), key=lambda one: one.value)
    needed_ns = _warmup_ns(run, scope) + LEAST_BEFORE * _interval_ns(run, scope)
    if first.value >= needed_ns:
        return True
    scope.findings.error(
        f"{metric} needs {LEAST_BEFORE} intervals before the first event, which may be "
        f"at {first.text}",
        span,
        f"move it to {make('time', needed_ns).text} or later, or write for example: "
        "interval 100ms",
    )
    return False


def _warmup_ns(run: RunTemplate, scope: Scope) -> float:
    """A moment counts from the beginning of the warm-up."""
    found = scope.values_of(run.warmup) if run.warmup else ()
    return max((one.value for one in found), default=0)


def _interval_ns(run: RunTemplate, scope: Scope) -> float:
    if run.interval:
        return run.interval.value
    lengths = scope.values_of(run.run) if run.run else ()
    return interval_of(round(max((one.value for one in lengths), default=0)) or None)
