"""Checks tests: the matrix, the steps, what must hold, what is shown."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, product
from typing import TypeVar

from ioplan.language import tree
from ioplan.language.axes import axis_of, dimension, name_kinds
from ioplan.language.conditions import condition
from ioplan.language.fields import AXIS_FIELDS, count, of_kind
from ioplan.language.plan import (
    After,
    Axis,
    CellValue,
    Chart,
    Condition,
    Expectation,
    IdleTemplate,
    RepeatTemplate,
    Rounds,
    RunTemplate,
    StepTemplate,
    Test,
)
from ioplan.language.preconditions import one_line, precondition
from ioplan.language.quantity import Quantity
from ioplan.language.scope import Scope
from ioplan.language.streams import check_streams, stream_names
from ioplan.language.support import check_support
from ioplan.language.timing import amount_of, metric_of, only, steady_rule
from ioplan.language.workloads import TIMING, Timing, split, workload
from ioplan.suggest import did_you_mean

MOST_RUNS = 1_000_000
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
        varies = self.all(tree.Vary)
        self.scope = Scope(
            scope.module, scope.parameters, name_kinds(varies, scope), set()
        )
        self.findings = scope.findings
        self.axes: tuple[Axis, ...] = ()
        self.streams: set[str] = set()
        self.runs: list[RunTemplate] = []

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
        before = len(self.findings.found)
        self.axes = tuple(a for a in map(self._axis, self.all(tree.Vary)) if a)
        self._check_axis_names()
        steps = self._steps(self._step_nodes(self.node.statements))
        made = Test.model_construct(
            title=self.node.title.text,
            after=self._after(),
            axes=self.axes,
            steps=tuple(steps),
            skip=tuple(self._skips()),
            rounds=self._rounds(),
            expectations=tuple(self._expectations()),
            charts=tuple(self._charts()),
            text=self.node.span.text,
        )
        self._check_used()
        self._check_whole(made)
        return made if len(self.findings.found) == before else None

    # the matrix

    def _axis(self, vary: tree.Vary) -> Axis | None:
        return axis_of(vary, self.scope)

    def _check_axis_names(self) -> None:
        seen: set[str] = set()
        for vary in self.all(tree.Vary):
            for word in vary.names:
                if word.text in seen:
                    self.findings.error(f"{word.text!r} is varied twice", word.span)
                seen.add(word.text)

    def _check_used(self) -> None:
        """An axis is a field, or a name that a step uses."""
        for vary in self.all(tree.Vary):
            for word in vary.names:
                what = dimension(word)
                if what.field is None and word.text not in self.scope.used:
                    self._unused(word)
                elif what.stream and what.stream not in self.streams:
                    near = did_you_mean(what.stream, self.streams)
                    self.findings.error(
                        f"there is no stream {what.stream!r} in this test{near}",
                        word.span,
                    )

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
            made = condition(skip.condition, self.axes, self.scope)
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
        if isinstance(times, Quantity):
            counted = self.scope.parameters.guarded(
                node.times.span,
                lambda: count(times, "the number of repeats", MOST_RUNS),
            )
            if counted is None:
                return None
        return times and RepeatTemplate(times=times, steps=tuple(steps))

    def _idle(self, node: tree.Idle) -> IdleTemplate | None:
        pause = self.scope.of_kind(node.pause, "a pause", "time")
        return pause and IdleTemplate(pause=pause, text=one_line(node.span.text))

    def _run(self, node: tree.Run) -> RunTemplate | None:
        clauses, timing = split(node.spec, self.scope)
        only(timing, ("for", "warmup", "passes"), "a run", self.scope)
        base, override = workload(clauses, node.spec, self.scope)
        if base is None:
            return None
        check_streams(base, override, self.axes, node.spec.span, self.scope)
        self.streams |= stream_names(base, self.axes)
        run = RunTemplate(
            workload=base,
            override=override,
            warmup=amount_of(timing, "warmup", self.scope, "time"),
            text=one_line(node.span.text),
            span=node.span,
        )
        return run.model_copy(update=self._how_long(timing, node))

    def _how_long(self, timing: Timing, node: tree.Run) -> dict[str, object]:
        lasting = amount_of(timing, "for", self.scope, "time", "size")
        passes = amount_of(timing, "passes", self.scope, "passes")
        if ("for" in timing) == ("passes" in timing):
            self.findings.missing(
                "a run says once how long it goes on",
                timing["passes"].span if "passes" in timing else node.span,
                node.span,
                "add: for 1min, or: for 10GiB, or: 1 pass",
            )
        if passes is not None:
            return {"passes": passes}
        if lasting is not None and self.scope.kind_of(lasting) == "size":
            return {"limit": lasting}
        return {"run": lasting}

    # preparation and rounds

    def _after(self) -> After | None:
        node = self.one(tree.After, "after")
        if node is None:
            return None
        made = precondition(node.name, self.scope, self.time_scale)
        if node.before_each:
            self._check_each(node.before_each)
        each = node.before_each.text if node.before_each else None
        return made and After(precondition=made, before_each=each)

    def _check_each(self, word: tree.Word) -> None:
        names = [name for axis in self.axes for name in axis.names]
        known = [*names, "run", "round"]
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
            if clause.kind not in TIMING:
                self.findings.error(
                    f"{clause.kind!r} cannot stand in rounds", clause.span
                )
            elif clause.kind in timing:
                self.findings.error(f"{clause.kind} is said twice", clause.span)
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
        metric = metric_of(until.words[0], tuple(self.streams), self.scope)
        at_most = self._count_of(most)
        when = until.condition and condition(until.condition, self.axes, self.scope)
        if metric is None or at_most is None or (until.condition and not when):
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

    def _count_of(self, clause: tree.Clause) -> int | None:
        quantity = self.scope.quantity(clause.atoms[0], "'at most'")
        return quantity and self.scope.parameters.guarded(
            clause.atoms[0].span, lambda: count(quantity, "'at most'", 100_000)
        )

    def _check_tracked(self, rounds: Rounds, span: tree.Span) -> None:
        """One cell is tracked, and the plan says which."""
        tracked = list(islice(self._cells_where(rounds.when), 2))
        if len(tracked) == 1:
            return
        self.findings.error(
            "rounds track one cell; here they track "
            + ("several" if tracked else "none"),
            span,
            "name it: until steady iops when size == 4KiB and read == 0%",
        )

    def _cells_where(self, when: Condition | None) -> Iterator[dict[str, CellValue]]:
        skips = list(self._quiet_skips())
        for rows in islice(product(*(a.values for a in self.axes)), MOST_RUNS):
            cell = {
                name: value
                for axis, row in zip(self.axes, rows, strict=True)
                for name, value in zip(axis.names, row, strict=True)
            }
            if (when is None or when.holds(cell)) and not any(
                skip.holds(cell) for skip in skips
            ):
                yield cell

    def _quiet_skips(self) -> Iterator[Condition]:
        noted = len(self.findings.found)
        skips = list(self._skips())
        del self.findings.found[noted:]  # said already
        return iter(skips)

    # what must hold, and what is shown

    def _expectations(self) -> Iterator[Expectation]:
        for node in self.all(tree.Expect):
            made = self._expectation(node)
            if made:
                check_support(
                    made, node, self.runs, self.axes, self.scope, self.time_scale
                )
                yield made

    def _expectation(self, node: tree.Expect) -> Expectation | None:
        metric = metric_of(node.metric, tuple(self.streams), self.scope)
        when = node.condition and condition(node.condition, self.axes, self.scope)
        limit = self.scope.quantity(node.limit, "an expectation's limit")
        if metric is None or limit is None or (node.condition and not when):
            return None
        kind = "share" if node.of_baseline else metric.kind
        what = "a part of the baseline" if node.of_baseline else str(metric)
        if kind == "iops" and limit.kind == "number":
            kind = "number"  # `iops >= 100000` leaves no doubt
        checked = self.scope.parameters.guarded(
            node.limit.span, lambda: of_kind(limit, what, kind)
        )
        return checked and Expectation(
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
        metrics = [
            metric_of(word, tuple(self.streams), self.scope) for word in node.metrics
        ]
        for word in (*node.by, *node.per):
            self._check_chart_axis(word)
        for scale in node.scales:
            if scale.text not in ("log x", "log y", "linear and log"):
                self.findings.error(
                    "a scale is log x, log y or linear and log", scale.span
                )
        when = node.condition and condition(node.condition, self.axes, self.scope)
        if any(m is None for m in metrics) or (node.condition and not when):
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

    def _check_chart_axis(self, word: tree.Word) -> None:
        names = [name for axis in self.axes for name in axis.names]
        known = [*names, "time", "round", "iops", "bytes"]
        if word.text not in known:
            self.findings.unknown(
                word.text,
                f"{word.text!r} is not varied in this test"
                f"{did_you_mean(word.text, known)}",
                word.span,
                f"here may stand: {', '.join(known)}",
            )

    # the whole

    def _check_whole(self, test: Test) -> None:
        nodes = self._step_nodes(self.node.statements)
        if not nodes:
            self.findings.missing(
                "the test has no step",
                self.node.title.span,
                self.node.span,
                "add for example: run random 4KiB 100/0 for 1min",
            )
        cells = 1
        for axis in test.axes:
            cells *= len(axis.values)
        runs = cells * sum(_most_runs(step) for step in test.steps)
        if runs > MOST_RUNS:
            self.findings.error(
                f"the test has {runs:_} runs, more than {MOST_RUNS:_}",
                self.node.title.span,
                "vary less, or repeat less",
            )


def _most_runs(step: StepTemplate) -> int:
    if not isinstance(step, RepeatTemplate):
        return 1
    inner = sum(_most_runs(s) for s in step.steps)
    if isinstance(step.times, Quantity):
        return int(step.times.value) * inner
    return inner
