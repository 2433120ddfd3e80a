"""Checks tests: the matrix, the steps, what must hold, what is shown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice
from typing import Any, TypeVar

from ioplan.language import tree
from ioplan.language.axes import Dimension, axis_of, dimension, opened_by, values_of
from ioplan.language.conditions import condition
from ioplan.language.fields import AXIS_FIELDS, count, of_kind
from ioplan.language.matrix import MOST_CELLS, Matrix, cell_text
from ioplan.language.metric import Metric
from ioplan.language.plan import (
    After,
    Amount,
    Axis,
    Chart,
    Condition,
    Expectation,
    IdleTemplate,
    Ref,
    RepeatTemplate,
    Rounds,
    RunTemplate,
    StepTemplate,
    Test,
)
from ioplan.language.preconditions import depends, one_line, precondition
from ioplan.language.quantity import Quantity
from ioplan.language.scope import Open, Scope
from ioplan.language.source import Span
from ioplan.language.streams import alternatives, check_streams, stream_names
from ioplan.language.support import check_support, has_direction
from ioplan.language.timing import amount_of, metric_of, only, steady_rule
from ioplan.language.workloads import Timing, merged, split, workload
from ioplan.suggest import did_you_mean

MOST_RUNS = MOST_CELLS
MOST_ROUNDS = 100_000
CHARTS = (
    *("lines", "bars", "heatmap", "scatter", "percentiles", "histogram"),
    *("table", "cumulative", "bands"),
)
Node = TypeVar("Node")


class TestChecker:
    """Checks one test."""

    __test__ = False

    def __init__(self, node: tree.Test, scope: Scope, time_scale: float) -> None:
        self.node, self.time_scale = node, time_scale
        self.findings = scope.findings
        self.before = self.findings.noted
        self.varies = self.all(tree.Vary)
        self.axes = self._axes(scope)
        opened = opened_by(self.axes, self.varies, scope)
        if opened.params:  # the varied workloads may depend on them
            self.axes = self._axes(replace(scope, open=opened, elsewhere=True))
        self.scope = replace(scope, open=opened)
        self.matrix = Matrix(self.axes)
        self.complete = False
        """Whether axes and steps are free of errors, so that runs can be bound."""
        self.streams: set[str] = set()
        self.runs: list[RunTemplate] = []

    def _axes(self, scope: Scope) -> tuple[Axis, ...]:
        axes = (axis_of(vary, scope) for vary in self.varies)
        return tuple(axis for axis in axes if axis)

    def all(self, kind: type[Node]) -> list[Node]:
        """The statements of a kind."""
        return [s for s in self.node.statements if isinstance(s, kind)]

    def one(self, kind: type[Node], keyword: str) -> Node | None:
        """The statement of a kind of which there is one at most."""
        found = self.all(kind)
        for extra in found[1:]:
            assert isinstance(extra, tree.Node)
            self.findings.error(f"a test has one {keyword!r} at most", extra.span)
        return found[0] if found else None

    def check(self) -> Test | None:
        """The checked test, or None after errors."""
        self._check_axis_names()
        steps = self._steps(self._step_nodes(self.node.statements))
        self._check_size(steps)
        skips = tuple(self._skips())
        self.matrix = Matrix(self.axes, skips)
        self._check_left()
        self.complete = self.findings.noted == self.before
        self._note_used(steps)
        made = Test.model_construct(
            title=self.node.title.text,
            after=self._after(),
            axes=self.axes,
            steps=tuple(steps),
            skip=skips,
            rounds=self._rounds(),
            expectations=tuple(self._expectations()),
            charts=tuple(self._charts()),
            text=self.node.span.text,
        )
        self._check_used()
        self._check_runs()
        return made if self.findings.noted == self.before else None

    @property
    def whole(self) -> bool:
        """Whether all of the matrix is known, so that its cells can be judged."""
        return not self.scope.open.broken and self.matrix.size <= MOST_CELLS

    # the matrix

    def _check_axis_names(self) -> None:
        seen: list[Dimension] = []
        for word in self._varied():
            what = dimension(word)
            same = [d for d in seen if d.decides(what)]
            if same:
                self._varied_twice(same[0], what)
            seen.append(what)

    def _varied_twice(self, earlier: Dimension, what: Dimension) -> None:
        if earlier.name == what.name:
            self.findings.error(f"{what.name!r} is varied twice", what.word.span)
            return
        self.findings.error(
            f"{what.name!r} varies what {earlier.name!r} varies already",
            what.word.span,
            "name the stream in both, or in neither",
        )

    def _varied(self) -> list[tree.Word]:
        return [word for vary in self.varies for word in vary.names]

    def _check_left(self) -> None:
        if self.whole and not any(True for _ in self.matrix.cells()):
            skips = self.all(tree.Skip)
            self.findings.error("no cell of this test is left", skips[-1].span)

    def _check_met(self, when: Condition | None, node: tree.Node | None) -> None:
        """A condition that no cell meets is a slip of the pen."""
        if not (when and node and self.whole):
            return
        if not any(True for _ in self.matrix.cells(when)):
            self.findings.error("no cell of this test meets the condition", node.span)

    def _check_used(self) -> None:
        """An axis is a field, or a name that a step uses."""
        for word in self._varied():
            what = dimension(word)
            if what.field is None and word.text not in self.scope.open.used:
                self._unused(word)
            elif what.stream:
                self._check_stream(what.stream, word, None)

    def _check_stream(
        self, stream: str, word: tree.Word, when: Condition | None
    ) -> None:
        """A stream that is named exists in every cell that is meant."""
        if stream not in self.streams:
            near = did_you_mean(stream, self.streams)
            message = f"there is no stream {stream!r} in this test{near}"
            self.findings.unknown(stream, message, word.span)
        elif self.whole:
            lacking = self._lacking(stream, when)
            if lacking is not None:
                self.findings.error(
                    f"the workload {lacking!r} has no stream {stream!r}",
                    word.span,
                    f"leave its cells out: when workload != {lacking}",
                )

    def _lacking(self, stream: str, when: Condition | None) -> str | None:
        """The varied workload of a cell that lacks a stream."""
        if "workload" not in self.matrix.names:
            return None
        lacking = {
            value.text
            for value in values_of("workload", self.axes)
            if value.workload and stream not in {s.name for s in value.workload.streams}
        }
        cells = self.matrix.cells(when) if lacking else iter(())
        found = (cell["workload"].text for cell in cells)
        return next((name for name in found if name in lacking), None)

    def _note_used(self, steps: list[StepTemplate]) -> None:
        """A name that a definition uses and a step overrides decides nothing."""
        if not self.complete:
            return
        amounts: list[Amount | None] = []
        for step in _flat(steps):
            if isinstance(step, IdleTemplate):
                amounts.append(step.pause)
            elif isinstance(step, RepeatTemplate):
                amounts.append(step.times)
        for run in self.runs:
            amounts += [run.run, run.limit, run.passes, run.warmup]
        names = {amount.name for amount in amounts if isinstance(amount, Ref)}
        self.scope.open.used = names | {n for run in self.runs for n in self._refs(run)}

    def _refs(self, run: RunTemplate) -> Iterator[str]:
        for template in alternatives(run.workload, self.axes):
            for stream in template.streams:
                yield from merged(stream, run.override).refs.values()

    def _unused(self, word: tree.Word) -> None:
        near = did_you_mean(word.text, AXIS_FIELDS)
        self.findings.unknown(
            word.text,
            f"no step uses {word.text!r}, and no field has that name{near}",
            word.span,
            f"fields: {' '.join(AXIS_FIELDS)}",
        )

    def _skips(self) -> Iterator[Condition]:
        for skip in self.all(tree.Skip):
            made, _ = self._when(skip.condition)
            if made:
                yield made

    # the steps

    def _step_nodes(self, statements: tuple[tree.Statement, ...]) -> list[tree.Step]:
        return [s for s in statements if isinstance(s, tree.Step)]

    def _steps(self, nodes: list[tree.Step]) -> list[StepTemplate]:
        made = [self._step(node) for node in nodes]
        return [step for step in made if step]

    def _step(self, node: tree.Step) -> StepTemplate | None:
        if isinstance(node, tree.Run):
            run = self._run(node)
            self.runs += [run] if run else []
            return run
        if isinstance(node, tree.Idle):
            return self._idle(node)
        times = self.scope.of_kind(node.times, "the number of repeats", "number")
        steps = self._steps(list(node.steps))
        if not node.steps:
            self.findings.missing("a repeat needs a step", node.span, node.span)
        if times is None:
            return None
        self.scope.judged(times, node.times, _repeats)
        return RepeatTemplate(times=times, steps=tuple(steps))

    def _idle(self, node: tree.Idle) -> IdleTemplate | None:
        pause = self.scope.of_kind(node.pause, "a pause", "time")
        if pause is None:
            return None
        return IdleTemplate(pause=pause, text=one_line(node.span.text))

    def _run(self, node: tree.Run) -> RunTemplate | None:
        clauses, timing = split(node.spec, self.scope)
        only(timing, ("for", "warmup", "passes"), "a run", self.scope)
        length = self._how_long(timing, node)
        warmup = amount_of(timing, "warmup", self.scope, "time")
        before = self.findings.noted
        base, override = workload(clauses, node.spec, self.scope)
        if base is None:
            return None
        if self.findings.noted == before and self.whole:
            check_streams(base, override, self.axes, node.spec.span, self.scope)
        self.streams |= stream_names(base, self.axes)
        run = RunTemplate(
            workload=base,
            override=override,
            warmup=warmup,
            text=one_line(node.span.text),
            span=node.span,
        )
        return run.model_copy(update=length)

    def _how_long(self, timing: Timing, node: tree.Run) -> dict[str, object]:
        lasting = amount_of(timing, "for", self.scope, "time", "size")
        passes = amount_of(timing, "passes", self.scope, "passes")
        if ("for" in timing) == ("passes" in timing):
            self._no_length(timing, node)
        if passes is not None:
            return {"passes": passes}
        if lasting is not None and self.scope.kind_of(lasting) == "size":
            return {"limit": lasting}
        return {"run": lasting}

    def _no_length(self, timing: Timing, node: tree.Run) -> None:
        if "for" in timing:
            span = max(timing["for"].span, timing["passes"].span, key=lambda s: s.start)
            message = "how long the run goes on is said twice"
            self.findings.error(message, span, "keep one of them")
            return
        self.findings.missing(
            "a run says how long it goes on",
            node.span,
            node.span,
            "add: for 1min, or: for 10GiB, or: , 1 pass",
        )

    # preparation and rounds

    def _after(self) -> After | None:
        node = self.one(tree.After, "after")
        if node is None:
            return None
        made = precondition(node.name, self.scope, self.time_scale)
        if node.before_each:
            self._check_each(node.before_each)
        each = node.before_each.text if node.before_each else None
        self._check_fixed(node.name)
        return After(precondition=made, before_each=each) if made else None

    def _check_fixed(self, word: tree.Word) -> None:
        """A state is one state: no axis decides what a precondition does."""
        opened = Open(params=self.scope.open.params, names=self.scope.open.names)
        inside = Scope(self.scope.module, self.scope.parameters, opened)
        for name in depends(word.text, inside):
            self.findings.error(
                f"the precondition {word.text!r} uses {name!r}, which this test varies",
                word.span,
                "a precondition is the same for all cells",
            )

    def _names(self) -> list[str]:
        return [word.text for word in self._varied()]

    def _check_each(self, word: tree.Word) -> None:
        known = [*self._names(), "run", "round"]
        if word.text not in known:
            near = did_you_mean(word.text, known)
            self.findings.unknown(
                word.text,
                f"{word.text!r} is not varied in this test{near}",
                word.span,
                f"here may stand: {', '.join(known)}",
            )
        elif word.text == "round" and not self.all(tree.Rounds):
            self.findings.error("this test has no rounds", word.span)

    def _rounds(self) -> Rounds | None:
        node = self.one(tree.Rounds, "rounds")
        if node is None:
            return None
        timing: Timing = {}
        for clause in node.clauses:
            if clause.kind in timing:
                self.findings.error(f"{clause.kind!r} is said twice", clause.span)
            timing.setdefault(clause.kind, clause)
        only(
            timing, ("until", "at most", "over", "range", "slope"), "rounds", self.scope
        )
        return self._rounds_of(node, timing)

    def _rounds_of(self, node: tree.Rounds, timing: Timing) -> Rounds | None:
        until, most = timing["until"], timing.get("at most")
        if until.atoms:
            self.findings.error(
                "rounds are judged after each round; 'every' has no place here",
                until.atoms[0].span,
            )
        if most is None:
            self.findings.error(
                "rounds need to know when to give up", node.span, "add: at most 25"
            )
            return None
        at_most = self._count_of(most)
        when, usable = self._when(until.condition)
        metric = self._metric(until.words[0], when)
        if metric is None or at_most is None or not usable:
            return None
        rule = steady_rule(timing, metric, self.scope)
        if at_most < rule.window:
            self.findings.error(
                f"{at_most} rounds cannot fill a window of {rule.window}", most.span
            )
        text = one_line(node.span.text)
        made = Rounds(rule=rule, when=when, at_most=at_most, text=text)
        self._check_tracked(made, until.span)
        return made

    def _when(self, node: tree.Condition | None) -> tuple[Condition | None, bool]:
        """A condition, and whether it is right; no condition is."""
        if node is None:
            return None, True
        before = self.findings.noted
        made = condition(node, self.axes, self.scope)
        if self.findings.noted == before:
            self._check_met(made, node)
        return made, made is not None

    def _metric(self, word: tree.Word, when: Condition | None) -> Metric | None:
        """A metric, of a stream and a direction that there are."""
        metric = metric_of(word, tuple(self.streams), self.scope)
        if metric and metric.stream:
            self._check_stream(metric.stream, word, when)
        if metric and self.whole and not self._has(metric, when):
            self.findings.error(
                f"no run of this test has {metric.direction}s to measure",
                word.span,
            )
            return None
        return metric

    def _has(self, metric: Metric, when: Condition | None) -> bool:
        """Whether any run that is meant has I/O of the metric's direction."""
        if metric.direction is None or not self.complete:
            return True
        cells = self.matrix.cells(when)
        return any(
            has_direction(run, cell, metric) for cell in cells for run in self.runs
        )

    def _count_of(self, clause: tree.Clause) -> int | None:
        quantity = self.scope.quantity(clause.atoms[0], "'at most'")
        if quantity is None:
            return None
        return self.scope.parameters.guarded(
            clause.atoms[0].span, lambda: count(quantity, "'at most'", MOST_ROUNDS)
        )

    def _check_tracked(self, rounds: Rounds, span: Span) -> None:
        """One cell is tracked, and the plan says which."""
        tracked = list(islice(self.matrix.cells(rounds.when), 2))
        if len(tracked) == 1 or not tracked or not self.whole:
            return
        self.findings.error(
            "rounds track one cell; here they track several",
            span,
            f"name it: until steady {rounds.rule.metric} when {cell_text(tracked[0])}",
        )

    # what must hold, and what is shown

    def _expectations(self) -> Iterator[Expectation]:
        for node in self.all(tree.Expect):
            made = self._expectation(node)
            if made:
                self._check_support(made, node)
                yield made

    def _check_support(self, made: Expectation, node: tree.Expect) -> None:
        """A plan whose times were scaled is a rehearsal; there the verdict tells."""
        if self.time_scale == 1 and self.whole and self.complete:
            cells = self.matrix.cells(made.when)
            check_support(made.metric, node, self.runs, cells, self.scope)

    def _expectation(self, node: tree.Expect) -> Expectation | None:
        when, usable = self._when(node.condition)
        metric = self._metric(node.metric, when)
        limit = self.scope.quantity(node.limit, "an expectation's limit")
        if metric is None or limit is None or not usable:
            return None
        kind = "share" if node.of_baseline else metric.kind
        what = "a part of the baseline" if node.of_baseline else str(metric)
        if kind == "iops" and limit.kind == "number":
            kind = "number"  # `iops >= 100000` leaves no doubt
        checked = self.scope.parameters.guarded(
            node.limit.span, lambda: of_kind(limit, what, kind)
        )
        if checked is None:
            return None
        return Expectation(
            metric=metric,
            operator=node.operator.text,
            limit=float(checked.value),
            of_baseline=node.of_baseline,
            when=when,
            text=one_line(node.span.text),
        )

    def _charts(self) -> Iterator[Chart]:
        for node in self.all(tree.Chart):
            made = self._chart(node)
            if made:
                yield made

    def _chart(self, node: tree.Chart) -> Chart | None:
        if node.kind.text not in CHARTS:
            near = did_you_mean(node.kind.text, CHARTS)
            self.findings.error(
                f"there is no chart {node.kind.text!r}{near}",
                node.kind.span,
                f"charts: {' '.join(CHARTS)}",
            )
        self._check_axes_of(node)
        when, usable = self._when(node.condition)
        metrics = [self._metric(word, when) for word in node.metrics]
        for scale in node.scales:
            if scale.text not in ("log x", "log y", "linear and log"):
                self.findings.error(
                    "a scale is log x, log y or linear and log", scale.span
                )
        if any(metric is None for metric in metrics) or not usable:
            return None
        return Chart(
            kind=node.kind.text,
            metrics=tuple(m for m in metrics if m),
            by=tuple(word.text for word in node.by),
            per=tuple(word.text for word in node.per),
            when=when,
            scales=tuple(scale.text for scale in node.scales),
            text=one_line(node.span.text),
        )

    def _check_axes_of(self, node: tree.Chart) -> None:
        seen: set[str] = set()
        for word in (*node.by, *node.per):
            self._check_chart_axis(word)
            if word.text in seen:
                self.findings.error(f"the axis {word.text!r} stands twice", word.span)
            seen.add(word.text)
        if node.kind.text == "heatmap" and len(node.by) != 2:
            self.findings.error(
                "a heatmap is drawn over two axes",
                node.kind.span,
                "for example chart heatmap iops by size, read",
            )

    def _check_chart_axis(self, word: tree.Word) -> None:
        known = [*self._names(), "time", "round", "iops", "bytes"]
        if word.text not in known:
            self.findings.unknown(
                word.text,
                f"{word.text!r} is not varied in this test"
                f"{did_you_mean(word.text, known)}",
                word.span,
                f"here may stand: {', '.join(known)}",
            )

    # the whole

    def _check_runs(self) -> None:
        if not any(isinstance(node, tree.Run) for node in _flat(self.node.statements)):
            self.findings.missing(
                "the test runs nothing",
                self.node.title.span,
                self.node.span,
                "add for example: run random 4KiB 100/0 for 1min",
            )

    def _check_size(self, steps: list[StepTemplate]) -> None:
        runs = self.matrix.size * sum(self._most_runs(step) for step in steps)
        if runs > MOST_RUNS or self.matrix.size > MOST_CELLS:
            shown = f"{runs:_}" if runs < 10**15 else "far too many"
            self.findings.error(
                f"the test has {shown} runs, more than {MOST_RUNS:_}",
                self.node.title.span,
                "vary less, or repeat less",
            )

    def _most_runs(self, step: StepTemplate) -> int:
        if not isinstance(step, RepeatTemplate):
            return 1
        values = self.scope.values_of(step.times)
        times = max((int(value.value) for value in values), default=1)
        return times * sum(self._most_runs(inner) for inner in step.steps)


def _repeats(quantity: Quantity) -> int:
    return count(quantity, "the number of repeats", MOST_RUNS)


def _flat(nodes: Iterable[Any]) -> Iterator[Any]:
    """Steps, of the tree or the plan, and those inside repeats."""
    for node in nodes:
        yield node
        if isinstance(node, tree.Repeat | RepeatTemplate):
            yield from _flat(node.steps)
