"""Checks the steps of a test: `run` with its `interval`, `idle`, `repeat`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec.structs import replace

from ioplan.language.bind.matrix import MOST_CELLS
from ioplan.language.checker.moments import events, power_cut
from ioplan.language.checker.scope import Scope
from ioplan.language.checker.shaped import check_unshaped
from ioplan.language.checker.spelled import atoms_of, spelled
from ioplan.language.checker.steady_clause import check_without, until_of
from ioplan.language.checker.streams.hosts import check_placed
from ioplan.language.checker.streams.phases import check_names, check_times
from ioplan.language.checker.streams.replay import is_replayed
from ioplan.language.checker.streams.rules import check_streams
from ioplan.language.checker.streams.stream_builder import alternatives
from ioplan.language.checker.sweep import Sweep
from ioplan.language.checker.timing import Timing, amount_of, only, split
from ioplan.language.checker.workloads import workload
from ioplan.language.fields import count
from ioplan.language.metric import METRICS, PERCENTILE
from ioplan.language.plan import (
    Amount,
    IdleTemplate,
    Ref,
    RepeatTemplate,
    RunTemplate,
    StepTemplate,
)
from ioplan.language.quantity import Kind, Quantity, QuantityError, make
from ioplan.language.syntax import tree
from ioplan.language.syntax.grammar import OF_UNTIL
from ioplan.language.syntax.source import Span
from ioplan.workload import COUNTED, MAX_INTERVAL_NS, MIN_INTERVAL_NS

MOST_RUNS = MOST_CELLS
RUN_TIMING = ("for", "warmup", "interval", "passes", "until", "cut", "event", *OF_UNTIL)


class StepChecker:
    """Checks steps; `runs` are the right ones, also those inside a wrong repeat."""

    def __init__(self, sweep: Sweep) -> None:
        self.sweep, self.scope = sweep, sweep.scope
        self.findings = sweep.findings
        self.runs: list[RunTemplate] = []
        self.names: set[str] = set()

    def steps(self, nodes: Iterable[tree.Step]) -> list[StepTemplate]:
        """The steps without errors."""
        made = [self._step(node) for node in nodes]
        return [step for step in made if step]

    def _step(self, node: tree.Step) -> StepTemplate | None:
        if isinstance(node, tree.Idle):
            return self._idle(node)
        if isinstance(node, tree.Repeat):
            return self._repeat(node)
        run = self._run(node)
        self.runs += [run] if run else []
        return run

    def _idle(self, node: tree.Idle) -> IdleTemplate | None:
        pause = self.scope.of_kind(node.pause, "a pause", "time")
        if pause is None:
            return None
        return IdleTemplate(pause=pause, text=node.span.one_line)

    def _repeat(self, node: tree.Repeat) -> RepeatTemplate | None:
        times = self.scope.of_kind(node.times, "the number of repeats", "number")
        steps = self.steps(node.steps)
        if not node.steps:
            self.findings.missing("a repeat needs a step", node.span, node.span)
        if times is None:
            return None
        self.scope.judged(times, node.times, _repeats)
        return RepeatTemplate(times=times, steps=tuple(steps))

    def _check_name(self, word: tree.Word | None) -> None:
        """A step's name stands before a metric's, as those of streams do."""
        if word is None:
            return
        is_metric = word.text in METRICS or PERCENTILE.fullmatch(word.text)
        if word.text in COUNTED or is_metric or "." in word.text:
            self.findings.error(
                f"a step cannot be called {word.text!r}",
                word.span,
                "it is a prefix of metrics, as in before.iops",
            )
        elif word.text in self.names:
            self.findings.error(f"two steps are called {word.text!r}", word.span)
        self.names.add(word.text)

    def _warmup(self, timing: Timing) -> Amount | None:
        """As the run says, else as an axis `warmup` does, which may have 0s."""
        opened = self.scope.axis_names.names.get("warmup")
        if "warmup" in timing or opened is None:
            return amount_of(timing, "warmup", self.scope, "time")
        varied = (d.word for d in self.sweep.dimensions if d.name == opened.name)
        atom = tree.Atom(next(varied).span, "name", opened.name)
        if not self.scope.of_kind(atom, "'warmup'", "time"):
            return None
        self.scope.axis_names.used.add("warmup")
        return Ref(name="warmup")

    def _run(self, node: tree.Run) -> RunTemplate | None:
        self._check_name(node.name)
        clauses, timing = split(node.spec, self.scope)
        only(timing, RUN_TIMING, "a run", self.scope)
        warmup = self._warmup(timing)
        before = self.findings.error_count
        base, override = workload(clauses, node.spec, self.scope)
        if base is None:
            _how_long(timing, node, self.scope)
            return None
        sound = self.findings.error_count == before and self.sweep.whole
        if is_replayed(base, override):
            length = _of_trace(timing, self.scope)
        else:
            length = _how_long(timing, node, self.scope)
        axes = self.sweep.matrix.axes if sound else ()
        check_unshaped((*base.streams, override), self.scope)
        if sound:
            check_streams(base, override, axes, node.spec.span, self.scope)
        run = RunTemplate(
            workload=base,
            override=override,
            warmup=warmup,
            name=node.name.text if node.name else "",
            text=spelled(node.span, atoms_of(node.spec), self.scope),
            span=node.span,
        )
        run = replace(
            run,
            cut=power_cut(timing, self.scope),
            events=events(node.spec.clauses, timing, self.scope),
            interval=interval_of(timing, length.get("run"), self.scope),
            **length,
        )
        if sound:
            templates = list(alternatives(base, axes))
            check_placed(run, templates, self.scope)
            check_times(run, templates, self.scope)
            check_names(run, templates, self.scope)
        return run


def _repeats(quantity: Quantity) -> int:
    return count(quantity, "the number of repeats", MOST_RUNS)


def _how_long(timing: Timing, node: tree.Run, scope: Scope) -> dict[str, Any]:
    """When a run ends, in the words of RunTemplate."""
    if "until" in timing:
        return _until(timing, scope)
    check_without(timing, scope)
    lasting = amount_of(timing, "for", scope, "time", "size")
    passes = amount_of(timing, "passes", scope, "passes")
    if ("for" in timing) == ("passes" in timing):
        _no_length(timing, node, scope)
    if passes is not None:
        return {"passes": passes}
    if lasting is not None and scope.kind_of(lasting) == "size":
        return {"limit": lasting}
    return {"run": lasting}


def _of_trace(timing: Timing, scope: Scope) -> dict[str, Any]:
    """Once through the trace, or a time of it."""
    for name in ("warmup", "passes", "until", "cut"):
        if name in timing:
            scope.findings.error(
                f"{name!r} does not go with a replay",
                timing[name].span,
                "a replay is once through its trace, or a time of it: for 10s",
            )
    if "until" not in timing:
        check_without(timing, scope)
    lasting = amount_of(timing, "for", scope, "time")
    if lasting is not None:
        return {"run": lasting}
    return {"passes": make("passes", 1)}


def _until(timing: Timing, scope: Scope) -> dict[str, Any]:
    """Until steady, within so many passes; `for` bounds it in time as well."""
    if "passes" in timing:
        scope.findings.error(
            "the limit of 'until steady' is set with 'at most'",
            timing["passes"].span,
            f"write: at most {timing['passes'].span.text}",
        )
    kinds: tuple[Kind, ...] = ("passes",) if "for" in timing else ("passes", "time")
    found = until_of(timing, scope, *kinds)
    if found and found.every.kind == "share":
        scope.findings.error(
            "a share of a pass is an interval of a precondition's write only",
            timing["until"].atoms[0].span,
            "a time, such as 1min",
        )
        return {}
    lasting = amount_of(timing, "for", scope, "time")
    if found is None:
        return {}
    steady = {"rule": found.rule, "every": found.every}
    if scope.kind_of(found.most) == "time":
        return {"run": found.most, **steady}
    return {"passes": found.most, "run": lasting, **steady}


def _no_length(timing: Timing, node: tree.Run, scope: Scope) -> None:
    if "for" in timing:
        span = max(timing["for"].span, timing["passes"].span, key=lambda s: s.start)
        message = "the length of the run is given twice"
        scope.findings.error(message, span, "keep one of them")
        return
    scope.findings.missing(
        "the run has no length",
        node.span,
        node.span,
        "add: for 1min, or: for 10GiB, or: , 1 pass",
    )


def check_size(steps: list[StepTemplate], sweep: Sweep, title: Span) -> None:
    """A test of too many runs is refused; repeats count."""
    cells = sweep.matrix.size
    runs = cells * sum(_most_runs(step, sweep.scope) for step in steps)
    if runs > MOST_RUNS or cells > MOST_CELLS:
        shown = f"{runs:,}" if runs < 10**15 else "far too many"
        sweep.findings.error(
            f"the test has {shown} runs, more than {MOST_RUNS:,}",
            title,
            "vary less, or repeat less",
        )


def _most_runs(step: StepTemplate, scope: Scope) -> int:
    if not isinstance(step, RepeatTemplate):
        return 1
    values = scope.values_of(step.times)
    times = max((int(value.value) for value in values), default=1)
    return times * sum(_most_runs(inner, scope) for inner in step.steps)


def flat(nodes: Iterable[Any]) -> Iterator[Any]:
    """Steps, of the tree or the plan, and those inside repeats."""
    for node in nodes:
        yield node
        if isinstance(node, tree.Repeat | RepeatTemplate):
            yield from flat(node.steps)


def interval_of(timing: Timing, run: Amount | None, scope: Scope) -> Quantity | None:
    """The length that a run's clause says, in ns."""
    clause = timing.get("interval")
    if clause is None:
        return None
    (atom,) = clause.atoms
    found = scope.of_kind(atom, "'interval'", "time")
    if found is not None and not isinstance(found, Quantity):
        scope.findings.error(
            "an interval is as long in all cells", atom.span, "for example: 100ms"
        )
        return None
    return found and scope.parameters.guarded(atom.span, lambda: _judged(found, run))


def _judged(interval: Quantity, run: Amount | None) -> Quantity:
    """Raises QuantityError."""
    if not MIN_INTERVAL_NS <= interval.value <= MAX_INTERVAL_NS:
        raise QuantityError("an interval is at least 10 ms and at most 1 h")
    if isinstance(run, Quantity) and run.value < interval.value:
        length = make("time", run.value).text
        raise QuantityError(f"the run is over after {length}, before one interval")
    return interval
