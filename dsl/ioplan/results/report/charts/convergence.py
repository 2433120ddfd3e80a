"""How a test came to its end: what each probe of a seek gave, yes or no; the tracked
values of a steady state, the window, the limits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from ioplan.core.grouping import grouped
from ioplan.language.metric import UNITS, parse_metric
from ioplan.language.plan import Demand, Test
from ioplan.records.record import RunRecord, Steady
from ioplan.results.measure.steady_state import least_squares_slope
from ioplan.results.report.charts.axis import axis_title, scale_of
from ioplan.results.report.charts.over_axis import failed_note
from ioplan.results.report.charts.request import (
    Datum,
    capital,
    drawn,
    metric_name,
    without,
    y_column,
)
from ioplan.results.report.documents import ChartSpec, Column
from ioplan.results.report.many_sessions import first_lines
from ioplan.results.report.point import Dimensions, Point
from ioplan.results.report.reader import Reader
from ioplan.results.report.sentences import (
    found_line,
    has_all_values,
    steady_window_line,
)

LIMITS = ("x", "x2", "mean", "low", "high", "least", "most", "fit", "fit2")


class Curve(NamedTuple):
    """The value of each round or window by its number, and the last assessment."""

    dimensions: Dimensions
    values: dict[int, float]
    steady: Steady
    failed: Mapping[int, str] = {}


def convergence(
    runs: Sequence[Point], prepared: Sequence[Point]
) -> Iterator[ChartSpec]:
    """Of each tracked metric a picture of the rounds, and one of the writes that were
    to become steady."""
    for points, curves, x, what in (
        (runs, _round_curves(runs), "round", "rounds"),
        (prepared, _window_curves(prepared), "window", "preparation"),
    ):
        records = [run for point in points for run in point.runs]
        for name, few in grouped(curves, lambda curve: curve.steady.metric).items():
            yield _of_curves(few, x, what, *_words(name, records))


def _words(metric: str, records: Iterable[RunRecord]) -> tuple[str, str]:
    tracked = [r for r in records if r.steady and r.steady.metric == metric]
    parsed = parse_metric(metric, [stream.name for stream in tracked[-1].streams])
    return metric_name(parsed), parsed.unit


def _round_curves(points: Sequence[Point]) -> Iterator[Curve]:
    """The tracked cells: the last assessment of each round has its value."""
    tracked: dict[str, list[RunRecord]] = {}
    for point in points:
        if any(run.steady and run.asked.round for run in point.runs):
            tracked.setdefault(point.dimensions["session"], []).extend(point.runs)
    for label, runs in tracked.items():
        judged = {run.asked.round: run.steady for run in runs if run.steady}
        failed = {r.asked.round: r.status for r in runs if r.status != "ok"}
        values = {
            number: steady.values[-1]
            for number, steady in judged.items()
            if steady.values and number not in failed
        }
        if values:
            yield Curve({"session": label}, values, judged[max(judged)], failed)


def _window_curves(points: Sequence[Point]) -> Iterator[Curve]:
    """A preparation keeps its last window."""
    for point in points:
        steady = point.runs[-1].steady
        if steady and len(steady.values) > 1:
            values = dict(enumerate(steady.values, start=1))
            yield Curve(point.dimensions, values, steady)


def _of_curves(
    curves: list[Curve], x: str, what: str, name: str, unit: str
) -> ChartSpec:
    """A row a round; one that failed has its status only."""
    data = [
        Datum(places, (float(n), values.get(n)), failed.get(n, "ok"))
        for places, values, _, failed in curves
        for n in sorted({*values, *failed})
    ]
    unsteady_first = sorted(curves, key=lambda curve: curve.steady.reached)
    lines = [
        f"{', '.join(curve.dimensions.values())}: "
        f"{steady_window_line(curve.steady, unit)}"
        for curve in unsteady_first
    ]
    judged = [curve for curve in curves if has_all_values(curve.steady)]
    failed_rounds = sum(len(curve.failed) for curve in curves)
    return drawn(
        "convergence",
        f"Steady state of the {what}: {name}",
        data,
        (Column("x", x, ""), Column("y", name, unit)),
        over=[Datum(curve.dimensions, _window(curve)) for curve in judged],
        over_keys=LIMITS,
        notes=(*first_lines(lines), *failed_note(failed_rounds)),
    )


def _window(curve: Curve) -> tuple[float, ...]:
    """The window, its limits as the standard draws them, and its straight line."""
    values, last, mean = curve.steady.values, max(curve.values), curve.steady.mean
    count, half = len(values), curve.steady.range_limit_percent / 200
    slope = least_squares_slope(values) if count > 1 else 0.0
    rise = slope * (count - 1) / 2
    return (
        *(float(last - count + 1), float(last), mean),
        *(mean * (1 - half), mean * (1 + half), min(values), max(values)),
        *(mean - rise, mean + rise),
    )


# The probes of a seek.

ANSWER = "answer"
LEGEND = ("yes", "no", "undecided", "")
"""Answers in their order; a probe of a knee has none."""
THROUGHPUT = Demand(metric=parse_metric("iops"), operator="", limit=0.0, text="")
"""What is looked at to find a knee; it has no limit."""

ByLabel = Mapping[str, Sequence[RunRecord]]


def probe_pictures(
    test: Test | None, tried: ByLabel, runs: ByLabel, reader: Reader
) -> Iterator[ChartSpec]:
    if test is None or test.seek is None:
        return
    seek, is_knee = test.seek, test.seek.goal == "knee"
    probes = sorted(
        _probes(seek.axis, tried), key=lambda p: (LEGEND.index(p[1][ANSWER]), p[0])
    )
    notes, axis = first_lines([*_results(runs)]), axis_title(seek.axis)
    # errors are hardly ever any, so that a curve shows nothing
    demands = [each for each in seek.where if each.metric.name != "errors"]
    for demand in [THROUGHPUT] if is_knee else demands:
        data = [
            Datum(place, (value, figure.value))
            for value, place, record in probes
            for figure in (reader.figure(demand.metric, [record]),)
            if figure.value is not None
        ]
        values = sorted(value for value, *_ in probes)
        limits = [
            Datum(row.dimensions, (values[0], values[-1], demand.limit))
            for row in data
            if not is_knee
        ]
        limit, name = f", {demand.text}" if demand.text else "", demand.metric
        yield drawn(
            "probes",
            f"Probes: {capital(metric_name(name))} by {axis}{limit}",
            data,
            (Column("x", axis, UNITS[seek.kind]), y_column([name])),
            per=(ANSWER,),
            over=limits,
            over_keys=("x", "x2", "limit"),
            x_scale=scale_of(values),
            y_scale=scale_of([float(d.values[1]) for d in data if d.values[1]]),
            notes=notes,
        )


def _probes(axis: str, tried: ByLabel) -> Iterator[tuple[float, Dimensions, RunRecord]]:
    """The value of each, its cell with its answer, and its record."""
    for label, records in tried.items():
        for record in records:
            probed = record.asked.seek
            if probed and record.status == "ok":
                cell = {"session": label, **without(record.asked.cell, axis)}
                answer = probed.decision if probed.decision in LEGEND else ""
                yield probed.value, cell | {ANSWER: answer}, record


def _results(runs: ByLabel) -> Iterator[str]:
    for label, records in runs.items():
        for record in records:
            if record.found:
                cell = [f"{n}={t}" for n, t in record.asked.cell.items()]
                where = " ".join([label, *cell] if len(runs) > 1 else cell)
                yield f"{where}: " * bool(where) + found_line(record.found)
