"""What a test varies, skips and runs: what its other statements are judged by."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import chain
from math import ceil
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ioplan.core.text import did_you_mean
from ioplan.language.bind.bind import amount_of, workload_of
from ioplan.language.bind.matrix import MOST_CELLS, Cell, Matrix, cell_text
from ioplan.language.checker.axes.axis import axis_of
from ioplan.language.checker.axes.names import (
    Dimension,
    dimension,
    kind_of,
    names_of,
    values_of,
)
from ioplan.language.checker.conditions import condition
from ioplan.language.checker.moments import check_event_cost
from ioplan.language.checker.scope import Scope
from ioplan.language.checker.streams.phases import check_comes, check_phase
from ioplan.language.checker.streams.stream_builder import stream_names
from ioplan.language.checker.timing import metric_of
from ioplan.language.errors.collector import Findings
from ioplan.language.metric import EVENT_COSTS, Metric
from ioplan.language.plan import Axis, Condition, RunTemplate, axes_of, comparisons
from ioplan.language.syntax import tree
from ioplan.language.syntax.source import Span
from ioplan.workload import SYNCS, Rate, SizeShare, Stream

SPENT_AT_ONCE = 256
BEYOND = 10
"""So many I/Os must lie beyond a percentile."""
SECOND_NS = 1e9
FASTEST_NS = 1_000
"""No I/O on a real device completes faster, so QD / 1 us bounds the IOPS."""
RUN_LONGER = ("run longer", "")
PLURALS = {"flush": "flushes"}
SYNC_HINT = "let a stream that writes flush, as in: sync every 8"


BOUND = 60
"""How many comparisons take as long as to bind a workload to a cell."""
HARMLESS = {"align_bytes", "region", "distribution", "data", "dedup_percent", "fua"}
"""What of a stream decides nothing of how many I/Os it can do."""
SIZES = {"read_sizes", "write_sizes"}


def check_support(
    metric: Metric,
    where: Span,
    runs: tuple[RunTemplate, ...],
    sweep: Sweep,
    when: Condition | None = None,
) -> None:
    """An error where a cell that is judged cannot have enough I/Os."""
    percent = None if metric.beyond else metric.plain.percent
    if percent is None or not runs:
        return
    needed = round(BEYOND / (1 - percent / 100))
    way, time = ("raise the rate", " in a second") if metric.worst else RUN_LONGER
    for cell, possible in sweep.most_ios(metric, runs, when, where):
        if possible < needed:
            place = f" where {cell_text(cell)}" if cell else ""
            sweep.findings.error(
                f"{metric.name} needs {needed:,} I/Os{time}, and the run can have "
                f"{int(possible):,} at most{place}",
                where,
                f"{way}, or expect a lower percentile",
            )
            return


def check_seconds(where: Span, runs: tuple[RunTemplate, ...], scope: Scope) -> bool:
    """Whether intervals tell one second from the next; else an error."""
    long = [one.interval for one in runs if one.interval]
    longest = max(long, key=lambda one: one.value, default=None)
    if longest is None or longest.value <= SECOND_NS:
        return True
    scope.findings.error(
        f"a worst second needs intervals of 1s at most, not of {longest.text}",
        where,
        "write: interval 1s, or expect for example: intervals of p99 above 5ms",
    )
    return False


def runs_of(metric: Metric, runs: tuple[RunTemplate, ...]) -> tuple[RunTemplate, ...]:
    """The runs that a metric is of: the step that it names, or all."""
    return tuple(run for run in runs if metric.step in (None, run.name))


def _most_ios(run: RunTemplate, cell: Cell, metric: Metric) -> float:
    """An upper bound of the I/Os in a run, or in its worst second; unbounded where no
    time limits it."""
    run_ns = _second_ns(run) if metric.worst else _run_ns(run, cell)
    if run_ns is None:
        return float("inf")
    streams = workload_of(run.workload, run.override, cell).streams
    return sum(
        _share(stream, metric)
        * _most_per_s(stream)
        * (run_ns if metric.worst else stream.own_ns(round(run_ns)))
        / SECOND_NS
        for stream in streams
        if metric.stream in (None, stream.name)
    )


def _second_ns(run: RunTemplate) -> float:
    """The whole intervals that begin in a second."""
    length_ns = run.interval.value if run.interval else SECOND_NS
    return ceil(SECOND_NS / length_ns) * length_ns


def has_direction(run: RunTemplate, cell: Cell, metric: Metric) -> bool:
    """Whether a run has I/O of the metric's direction, in its stream if it has one."""
    return any(
        _share(stream, metric) > 0
        for stream in workload_of(run.workload, run.override, cell).streams
        if metric.stream in (None, stream.name)
    )


def _run_ns(run: RunTemplate, cell: Cell) -> float | None:
    return None if run.run is None else float(amount_of(run.run, cell).value)


def _share(stream: Stream, metric: Metric) -> float:
    """Which part of a stream's I/Os a metric counts."""
    trims = stream.trim_percent / 100
    reads = (1 - trims) * stream.read_percent / 100
    writes = 1 - trims - reads
    syncs = writes / stream.sync_every if stream.sync_every else 0.0
    shares = {"read": reads, "write": writes, "trim": trims}
    shares |= dict.fromkeys(SYNCS, syncs)
    return shares[metric.direction] if metric.direction else 1.0


def _most_per_s(stream: Stream) -> float:
    depth = stream.qd * stream.threads * SECOND_NS / FASTEST_NS
    return min(depth, _rate_per_s(stream.rate, stream)) if stream.rate else depth


def _rate_per_s(rate: Rate, stream: Stream) -> float:
    if rate.bytes_per_s is None:
        return max(rate.all_per_s)
    sizes: tuple[SizeShare, ...] = (*stream.read_sizes, *stream.write_sizes)
    return max(rate.all_per_s) / min(share.size_bytes for share in sizes)


class Sweep(Struct, frozen=True, dict=True):
    """The cells of a test and the runs in them, as far as they are known.

    `complete` tells that axes and steps are free of errors, so that runs can be
    bound. What is `sought` has one value here, of those that it may have.
    """

    scope: Scope
    dimensions: tuple[Dimension, ...]
    matrix: Matrix
    runs: tuple[RunTemplate, ...] = ()
    complete: bool = False
    sought: str | None = None

    @property
    def findings(self) -> Findings:
        """Where errors go."""
        return self.scope.findings

    @property
    def names(self) -> list[str]:
        """What is varied, rightly or wrongly; not what is sought."""
        names = (what.name for what in self.dimensions)
        return [name for name in names if name != self.sought]

    @property
    def whole(self) -> bool:
        """Whether all of the matrix is known, so that its cells can be judged."""
        return not self.scope.axis_names.broken and self.matrix.size <= MOST_CELLS

    def cells(
        self, when: Condition | None, where: Span, each: int = 0
    ) -> Iterator[Cell]:
        """The cells of which a condition is true; to look at one may take `each`
        comparisons more. Raises EnoughFound where that becomes too much."""
        if not self.whole:
            return
        work = 2 + sum(map(comparisons, (*self.matrix.skips, when)))
        for number, cell in enumerate(Matrix(self.matrix.axes).cells()):
            if number % SPENT_AT_ONCE == 0:
                self.findings.spend(work * min(SPENT_AT_ONCE, self.matrix.size), where)
            if when is not None and not when.holds(cell):
                continue
            if any(skip.holds(cell) for skip in self.matrix.skips):
                continue
            if each:
                self.findings.spend(each, where)
            yield cell

    def most_ios(
        self,
        metric: Metric,
        runs: tuple[RunTemplate, ...],
        when: Condition | None,
        where: Span,
    ) -> list[tuple[Cell, float]]:
        """An upper bound of the I/Os that a metric can be of, in each cell in which
        they may differ; worked out once for all limits."""
        of = (metric.stream, metric.direction, metric.step, metric.worst)
        key = (*of, id(when), *map(id, runs))
        if key not in self.known_ios:
            counted = runs_of(metric, runs)
            plain = when is None and not self.matrix.skips
            axes = tuple(filter(self._decides_ios, self.matrix.axes))
            less = replace(self, matrix=Matrix(axes)) if plain else self
            found = [
                (cell, max(_most_ios(run, cell, metric) for run in counted))
                for cell in less.cells(when, where, BOUND * len(counted))
            ]
            self.known_ios[key] = found, when
        return self.known_ios[key][0]

    @cached_property
    def known_ios(self) -> dict[tuple[Any, ...], tuple[list[tuple[Cell, float]], Any]]:
        """Of `most_ios`, with what their keys are identities of."""
        return {}

    def _decides_ios(self, axis: Axis) -> bool:
        """Whether how many I/Os a run can do may differ along an axis."""
        if self._named & {*axis.names}:
            return True
        given = [set(one.attributes or ()) for row in axis.values for one in row]
        harmless = HARMLESS if self._has_byte_rates else HARMLESS | SIZES
        return not all(one and one <= harmless for one in given)

    @cached_property
    def _has_byte_rates(self) -> bool:
        """Whether a rate may be in bytes, of which the size of an I/O makes IOPS."""
        streams = [
            one for run in self.runs for one in (*run.workload.streams, run.override)
        ]
        given = [
            one.attributes or {}
            for one in chain.from_iterable(
                chain(*(axis.values for axis in self.matrix.axes))
            )
        ]
        rates = [one.get("rate") for one in (*given, *(s.attributes for s in streams))]
        named = any("rate" in stream.refs for stream in streams)
        return named or any(rate and rate[0] != "iops" for rate in rates)

    @cached_property
    def _named(self) -> set[str]:
        """The axes that amounts of runs refer to."""
        found: set[str] = set()
        for run in self.runs:
            amounts = [run.run, run.limit, run.passes, run.warmup]
            for stream in (*run.workload.streams, run.override):
                amounts += stream.refs.values()
            found |= {name for amount in amounts for name in axes_of(amount)}
        return found

    @cached_property
    def streams(self) -> set[str]:
        """All streams that any run may have."""
        axes = self.matrix.axes
        return {n for run in self.runs for n in stream_names(run.workload, axes)}

    def check_varied(self, word: tree.Word, *others: str) -> None:
        """A name is varied, or one of those that mean something here anyway."""
        known = [*self.names, *others]
        if word.text not in known:
            self.findings.unknown(
                word.text,
                f"{word.text!r} is not varied in this test"
                f"{did_you_mean(word.text, known)}",
                word.span,
                f"allowed here: {', '.join(known)}",
            )

    def when(
        self, node: tree.Condition | None, may_miss: bool = False
    ) -> tuple[Condition | None, bool]:
        """A condition, and whether it is right; no condition is.

        Unless it `may_miss`, at least one cell has to meet it.
        """
        if node is None:
            return None, True
        before = self.findings.error_count
        varied = tuple(a for a in self.matrix.axes if a.names != (self.sought,))
        made = condition(node, varied, self.scope)
        if made and self.findings.error_count == before and not may_miss:
            self._check_met(made, node)
        return made, made is not None

    def _check_met(self, when: Condition, node: tree.Condition) -> None:
        """A condition that no cell meets is a slip of the pen."""
        if self.whole and not any(True for _ in self.cells(when, node.span)):
            self.findings.error("no cell of this test meets the condition", node.span)

    def metric(self, word: tree.Word, when: Condition | None) -> Metric | None:
        """A metric, of a stream and a direction that there are."""
        if word.text == self.sought:
            return self._sought_metric(word.text)
        steps = tuple(run.name for run in self.runs if run.name)
        metric = metric_of(word, tuple(self.streams), self.scope, steps)
        if metric and metric.stream:
            self.check_stream(metric.stream, word, when)
        if metric and self.whole and not self._has(metric, when, word.span):
            hint = SYNC_HINT if metric.direction in SYNCS else ""
            noun = PLURALS.get(metric.direction or "", f"{metric.direction}s")
            self.findings.error(
                f"no run of this test has {noun} to measure", word.span, hint
            )
            return None
        known = (
            metric is None or not self.complete or self._has_time(metric, word, when)
        )
        return metric if known else None

    def _has_time(
        self, metric: Metric, word: tree.Word, when: Condition | None
    ) -> bool:
        """Whether runs have the phase, the event or the intervals of a metric."""
        runs, span = runs_of(metric, self.runs), word.span
        if metric.phase:
            has_phase = check_phase(metric, span, runs, self.matrix.axes, self.scope)
            cells = self.cells(when, span, BOUND)
            return has_phase and check_comes(
                metric.phase, span, runs, cells, self.scope
            )
        if metric.name in EVENT_COSTS:
            return check_event_cost(metric, span, runs, self.scope)
        return not metric.worst or check_seconds(span, runs, self.scope)

    def _sought_metric(self, name: str) -> Metric | None:
        """The value that is found, as a metric; None where the axis is wrong."""
        values = values_of(name, self.matrix.axes)
        return Metric(name=name, sought=kind_of(name, values[0])) if values else None

    def _has(self, metric: Metric, when: Condition | None, where: Span) -> bool:
        """Whether any run that is meant has I/O of the metric's direction."""
        if metric.direction is None or not self.complete:
            return True
        cells, runs = self.cells(when, where, BOUND), runs_of(metric, self.runs)
        return any(has_direction(run, cell, metric) for cell in cells for run in runs)

    def check_stream(
        self, stream: str, word: tree.Word, when: Condition | None
    ) -> None:
        """A stream that is named exists in every cell that is meant."""
        if stream not in self.streams:
            near = did_you_mean(stream, self.streams)
            message = f"there is no stream {stream!r} in this test{near}"
            self.findings.unknown(stream, message, word.span)
        elif self.whole:
            lacking = self._lacking(stream, when, word.span)
            if lacking is not None:
                self.findings.error(
                    f"the workload {lacking!r} has no stream {stream!r}",
                    word.span,
                    f"exclude its cells: when workload != {lacking}",
                )

    def _lacking(self, stream: str, when: Condition | None, where: Span) -> str | None:
        """The varied workload of a cell that lacks a stream."""
        lacking = {
            value.text
            for value in values_of("workload", self.matrix.axes)
            if value.workload and stream not in {s.name for s in value.workload.streams}
        }
        cells = self.cells(when, where) if lacking else iter(())
        found = (cell["workload"].text for cell in cells)
        return next((name for name in found if name in lacking), None)


def sweep_of(varies: list[tree.Vary], rests: frozenset[str], scope: Scope) -> Sweep:
    """What a test varies; nothing is skipped yet, and no run is known."""
    axes = _axes(varies, rests, scope)
    opened = names_of(axes, varies, rests, scope)
    if opened.params:  # the varied workloads may depend on them
        axes = _axes(varies, rests, replace(scope, axis_names=opened, elsewhere=True))
    dimensions = tuple(dimension(word, rests) for vary in varies for word in vary.names)
    _check_decided_once(dimensions, scope.findings)
    return Sweep(replace(scope, axis_names=opened), dimensions, Matrix(axes))


def _axes(
    varies: list[tree.Vary], rests: frozenset[str], scope: Scope
) -> tuple[Axis, ...]:
    axes = (axis_of(vary, rests, scope) for vary in varies)
    return tuple(axis for axis in axes if axis)


def _check_decided_once(dimensions: Iterable[Dimension], findings: Findings) -> None:
    seen: list[Dimension] = []
    for what in dimensions:
        same = [d for d in seen if d.decides(what)]
        if same:
            _decided_twice(same[0], what, findings)
        seen.append(what)


def _decided_twice(earlier: Dimension, what: Dimension, findings: Findings) -> None:
    if earlier.name == what.name:
        findings.error(f"{what.name!r} is varied twice", what.word.span)
        return
    if earlier.field != what.field:  # both say where I/O falls
        findings.error(
            f"{what.name!r} varies what {earlier.name!r} varies already",
            what.word.span,
            "vary one: distribution in uniform, zipf 1.1, pareto 0.2",
        )
        return
    findings.error(
        f"{what.name!r} varies what {earlier.name!r} varies already",
        what.word.span,
        "name the stream in both, or in neither",
    )


def _by_param(node: tree.Condition, sweep: Sweep) -> bool:
    """Whether a param decides what is left out, which may then be nothing."""
    if isinstance(node, tree.Junction):
        return any(_by_param(part, sweep) for part in node.parts)
    value = node.value
    return isinstance(value, tree.Atom) and sweep.scope.param(value.text) is not None


def _check_skips(sweep: Sweep, skips: list[tree.Skip]) -> None:
    """Each cell is looked at for whether it is skipped, whenever the plan is read."""
    if sweep.whole:
        looked_at = sum(map(comparisons, sweep.matrix.skips)) * sweep.matrix.size
        sweep.findings.spend(looked_at // 2, skips[-1].span)


def skipping(sweep: Sweep, skips: list[tree.Skip]) -> Sweep:
    """The sweep without the cells that are skipped."""
    said = [skip.condition for skip in skips]
    made = [sweep.when(one, _by_param(one, sweep))[0] for one in said]
    matrix = Matrix(sweep.matrix.axes, tuple(when for when in made if when))
    left = replace(sweep, matrix=matrix)
    if not skips:
        return left
    _check_skips(left, skips)
    if left.whole and not any(True for _ in left.cells(None, skips[-1].span)):
        sweep.findings.error("all cells of this test are skipped", skips[-1].span)
    return left
