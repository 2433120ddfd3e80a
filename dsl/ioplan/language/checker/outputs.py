"""Checks `expect`, `headline` and `chart`: what must hold, what is told and shown."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from ioplan.core.text import did_you_mean
from ioplan.language.checker.spelled import spelled
from ioplan.language.checker.sweep import Sweep, check_support
from ioplan.language.fields import of_kind
from ioplan.language.metric import (
    DURING,
    LATENCY,
    OF_HOST_IN_INTERVALS,
    Metric,
    why_not_in_intervals,
)
from ioplan.language.output_table import CHARTS
from ioplan.language.plan import Chart, Condition, Expectation, HeadlineLine
from ioplan.language.quantity import Kind, Quantity
from ioplan.language.syntax import tree


def expectations_of(
    nodes: list[tree.Expect], sweep: Sweep, time_scale: float
) -> Iterator[Expectation]:
    """The expectations without errors.

    A plan whose times were scaled is a rehearsal: whether its runs are long enough
    the verdict tells.
    """
    for node in nodes:
        made = _expectation(node, sweep)
        if made and time_scale == 1 and sweep.whole and sweep.complete:
            span, runs = node.metric.span, sweep.runs
            check_support(made.metric, span, runs, sweep, made.when)
        if made:
            yield made


def _expectation(node: tree.Expect, sweep: Sweep) -> Expectation | None:
    when, usable = sweep.when(node.condition)
    metric = sweep.metric(node.metric, when)
    limit = sweep.scope.quantity(node.limit, "an expectation's limit")
    of = sweep.metric(node.of, when) if node.of and not _is_baseline(node) else None
    if metric is None or limit is None or not usable:
        return None
    whole = node.of.text if node.of else ""
    checked = sweep.scope.parameters.guarded(
        node.limit.span, lambda: limit_of(limit, metric, whole)
    )
    if checked is None or (whole and not _is_baseline(node) and of is None):
        return None
    if node.of and of and of.unit != metric.unit:
        sweep.findings.error(
            f"{metric} and {of} have different units", node.of.span, "compare likes"
        )
        return None
    return Expectation(
        metric=metric,
        operator=node.operator.text,
        limit=checked,
        of_baseline=_is_baseline(node),
        of_metric=of,
        when=when,
        text=spelled(node.span, [node.limit], sweep.scope),
    )


def _is_baseline(node: tree.Expect) -> bool:
    return node.of is not None and node.of.text == "baseline"


def limit_of(limit: Quantity, metric: Metric, whole: str = "") -> float:
    """What the metric is compared with: of a whole, a share. Raises QuantityError."""
    if whole:
        what = f"a part of {'the ' if whole == 'baseline' else ''}{whole}"
        return float(of_kind(limit, what, "share").value)
    plain = metric.kind == "iops" and limit.kind == "number"
    kind: Kind = "number" if plain else metric.kind  # `iops >= 100000` leaves no doubt
    unit = "us" if kind == "time" else ""
    return float(of_kind(limit, str(metric), kind, unit=unit).value)


def headlines_of(nodes: list[tree.Headline], sweep: Sweep) -> Iterator[HeadlineLine]:
    """The headlines without errors."""
    seen: set[str] = set()
    for node in nodes:
        when, usable = sweep.when(node.condition)
        metric, text = sweep.metric(node.metric, when), node.span.one_line
        if text in seen:
            sweep.findings.error("this headline stands here twice", node.span)
        elif metric and usable:
            yield HeadlineLine(metric=metric, when=when, text=text)
        seen.add(text)


SCALES = ("log x", "log y", "linear and log")
BY_INTERVALS = ("axis", "intervals")
"""The renderers of charts that may have an axis of time or bytes."""
BANDS = ("bands", "time")
IN_INTERVALS = (
    "over time: iops, bandwidth, latencies and errors, also of a stream and direction; "
    "cpu, watts and temperature"
)
AXES = {1: "one axis", 2: "two axes"}


def charts_of(nodes: list[tree.Chart], sweep: Sweep) -> Iterator[Chart]:
    """The charts without errors."""
    for node in nodes:
        made = _chart(node, sweep)
        if made:
            yield made


def _chart(node: tree.Chart, sweep: Sweep) -> Chart | None:
    _check_kind(node, sweep)
    _check_axes(node, sweep)
    _check_intervals(node, sweep)
    when, usable = sweep.when(node.condition)
    has_latencies = _has_latencies(node)
    read = _latencies if has_latencies else Sweep.metric
    metrics = [read(sweep, word, when) for word in node.metrics]
    _check_scales(node, sweep)
    if any(metric is None for metric in metrics) or not usable:
        return None
    if _is_of_intervals(node) and not has_latencies:
        _check_in_intervals(node, [m for m in metrics if m], sweep)
    return Chart(
        kind=node.kind.text,
        metrics=tuple(m for m in metrics if m),
        by=tuple(word.text for word in node.by),
        per=tuple(word.text for word in node.per),
        when=when,
        scales=tuple(scale.text for scale in node.scales),
        text=node.span.one_line,
    )


def _has_latencies(node: tree.Chart) -> bool:
    """Whether it draws all latencies over time."""
    whole = [word.text.partition(DURING)[0] for word in node.metrics]
    names = [text.rpartition(".")[2] for text in whole]
    return _has_rows_over_time(node) and LATENCY in names


def _has_rows_over_time(node: tree.Chart) -> bool:
    """Whether it is a heatmap over time."""
    kind = CHARTS.get(node.kind.text)
    over = [word.text for word in node.by]
    return kind is not None and kind.has_latencies and over == ["time"]


def _latencies(sweep: Sweep, word: tree.Word, when: Condition | None) -> Metric | None:
    """`latency`, perhaps of a stream and a direction."""
    whole, _, phase = word.text.partition(DURING)
    scope, _, name = whole.rpartition(".")
    if phase:
        sweep.findings.error(
            "a heatmap over time shows all of the run, and its phases beside it",
            word.span,
            f"leave out: during {phase}",
        )
        return None
    if name != LATENCY:
        sweep.findings.error(
            f"a heatmap shows all latencies, or figures such as {word.text}, not both",
            word.span,
            "write a chart line for each of them",
        )
        return None
    text = f"{scope}.mean" if scope else "mean"
    found = sweep.metric(replace(word, text=text), when)
    return replace(found, name=LATENCY) if found else None


def _check_kind(node: tree.Chart, sweep: Sweep) -> None:
    if node.kind.text not in CHARTS:
        near = did_you_mean(node.kind.text, CHARTS)
        sweep.findings.error(
            f"unknown chart {node.kind.text!r}{near}",
            node.kind.span,
            f"charts: {' '.join(CHARTS)}",
        )


def _check_axes(node: tree.Chart, sweep: Sweep) -> None:
    seen: set[str] = set()
    for word in (*node.by, *node.per):
        sweep.check_varied(word, "time", "round", "iops", "bytes")
        if word.text in seen:
            sweep.findings.error(f"the axis {word.text!r} is listed twice", word.span)
        seen.add(word.text)
    kind = CHARTS.get(node.kind.text)
    needs_axes = kind and kind.needs_axes and not _has_rows_over_time(node)
    if kind and needs_axes and len(node.by) != len(kind.over):
        sweep.findings.error(
            f"a {kind.name} is drawn over {AXES[len(kind.over)]}",
            node.kind.span,
            f"for example {kind.example}",
        )


def _is_of_intervals(node: tree.Chart) -> bool:
    """Whether it has a point for each interval of a run."""
    kind = CHARTS.get(node.kind.text)
    renderer, first = kind.renderer if kind else "", [w.text for w in node.by[:1]]
    if (
        _has_rows_over_time(node)
        or renderer == "bands"
        or (renderer == "intervals" and not first)
    ):
        return True
    return renderer in BY_INTERVALS and first[:1] in (["time"], ["bytes"])


def _check_intervals(node: tree.Chart, sweep: Sweep) -> None:
    """What is drawn over the intervals of a run has them as its first axis."""
    kind, has_rows = CHARTS.get(node.kind.text), _has_rows_over_time(node)
    for place, word in enumerate((*node.by, *node.per)):
        if word.text not in ("time", "bytes") or kind is None or has_rows:
            continue
        if kind.renderer not in BY_INTERVALS and (kind.name, word.text) != BANDS:
            sweep.findings.error(
                f"a chart of the kind {kind.name!r} is not drawn over {word.text}",
                word.span,
                "over time: lines, scatter, bands, heatmap; over bytes: lines, scatter",
            )
        elif place or not node.by:
            sweep.findings.error(
                f"{word.text!r} is the first axis of a chart or none",
                word.span,
                f"for example chart lines iops over {word.text} per qd",
            )


def _check_in_intervals(node: tree.Chart, metrics: list[Metric], sweep: Sweep) -> None:
    for word, metric in zip(node.metrics, metrics, strict=True):
        why = why_not_in_intervals(metric)
        if _has_rows_over_time(node) and metric.name in OF_HOST_IN_INTERVALS:
            why = "a heatmap is of what streams counted; use lines"
        if why:
            sweep.findings.error(
                f"{metric} cannot be drawn over time: {why}", word.span, IN_INTERVALS
            )


def _check_scales(node: tree.Chart, sweep: Sweep) -> None:
    for scale in node.scales:
        if scale.text not in SCALES:
            sweep.findings.error(
                "a scale is log x, log y or linear and log", scale.span
            )
