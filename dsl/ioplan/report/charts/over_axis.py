"""Charts whose points are cells: figures over an axis, over rounds, over IOPS."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ioplan.core.text import counted
from ioplan.language.metric import Metric
from ioplan.records.record import RunRecord
from ioplan.report.charts.axis import axis_title, in_order, numbers, scale_of
from ioplan.report.charts.encoding import MOST_DASHES, Place, Point, framed, tied
from ioplan.report.charts.request import Request, metrics_title, y_column
from ioplan.report.document import Column, Kind, Picture, Scale, Value
from ioplan.report.points import Spot

FAR = 40
"""Latencies that lie this far apart start on a logarithmic axis."""


@dataclass
class Missing:
    """Counts the points that cannot be drawn, by their reason and metric."""

    reasons: dict[str, Counter[str]]

    def add(self, metric: Metric, why: str) -> None:
        """One more."""
        self.reasons.setdefault(why, Counter())[str(metric)] += 1

    def notes(self) -> tuple[str, ...]:
        """A line for each reason."""
        return tuple(
            f"{counted(metrics.total(), 'point')} left out: {', '.join(metrics)}: {why}"
            for why, metrics in self.reasons.items()
        )


def over_axis(request: Request) -> Iterator[Picture]:
    """Lines or bars over the values of an axis, a picture for each unit."""
    by = request.chart.by[0] if request.chart.by else ""
    spots = _along(by, [s for s in request.spots if not by or by in s.place])
    for _, metrics in request.by_unit():
        missing = Missing({})
        points = [
            Point(_placed(spot, metric, metrics, by), (spot.place.get(by, ""), value))
            for spot in spots
            for metric in metrics
            for value in values_of(request, metric, spot, missing)
        ]
        kind: Kind = "bars" if request.chart.kind == "bars" or not by else "lines"
        yield _picture(request, kind, by, metrics, points, missing)


def _along(by: str, spots: list[Spot]) -> list[Spot]:
    """Without the axes that move together with the one that is drawn over."""
    ties = tied([spot.place for spot in spots])
    group = {by, ties.get(by, by)}
    mates = {n for pair in ties.items() if group & set(pair) for n in pair} - {by}
    return [Spot(_without(s.place, *mates), s.records) for s in spots]


def over_rounds(request: Request) -> Iterator[Picture]:
    """A point a round."""
    for _, metrics in request.by_unit():
        missing = Missing({})
        points = [
            Point(_placed(Spot(spot.place), metric, metrics, ""), (str(number), value))
            for spot in request.spots
            for number, records in _rounds(spot).items()
            for metric in metrics
            for value in _value(request, metric, records, missing)
        ]
        yield _picture(request, "lines", "round", metrics, points, missing)


def over_iops(request: Request) -> Iterator[Picture]:
    """A figure against the IOPS that it was measured at; the swept axis links."""
    swept = _swept(request)
    for _, metrics in request.by_unit():
        missing = Missing({})
        points = []
        for number, spot in enumerate(_in_order(request.spots, swept)):
            records = spot.last_window(request.window)
            iops = request.reader.figure(Metric(name="iops"), records).value
            for metric in metrics:
                for value in _value(request, metric, records, missing):
                    place = _placed(spot, metric, metrics, swept)
                    at = spot.place.get(swept, "")
                    label = at if metric is metrics[-1] else ""
                    points.append(Point(place, (iops, value, at, label, number)))
        columns = (
            Column("x", "IOPS", "1/s"),
            y_column(metrics),
            Column("at", axis_title(swept) if swept else "run"),
            Column("label", "", "hidden"),
            Column("number", "", "hidden"),
        )
        frame, channels = framed(points, columns, request.per)
        yield Picture(
            kind="hockey",
            title=f"{metrics_title(metrics)} against IOPS{request.when}",
            line=request.line,
            frame=frame,
            x="x",
            y="y",
            channels=channels,
            x_scale=request.x_scale("linear"),
            y_scale=request.y_scale(_scale(metrics, points)),
            notes=missing.notes(),
        )


def over_two(request: Request) -> Iterator[Picture]:
    """A heatmap or a table over two axes; each metric has a picture of its own."""
    across, down = (*request.chart.by, "", "")[:2]
    spots = [s for s in request.spots if across in s.place]
    columns = {
        name: in_order(s.place.get(name, "") for s in spots) for name in (across, down)
    }
    for metric in request.chart.metrics:
        missing = Missing({})
        points = [
            Point(
                _without(spot.place, across, down),
                (spot.place[across], spot.place.get(down, ""), value),
            )
            for spot in spots
            for value in values_of(request, metric, spot, missing)
        ]
        frame, channels = framed(
            points,
            (
                Column("x", axis_title(across), "text", columns[across]),
                Column("row", axis_title(down), "text", columns[down]),
                y_column([metric]),
            ),
            colored=False,
        )
        by = " and ".join(axis_title(name) for name in request.chart.by)
        yield Picture(
            kind="heatmap" if request.chart.kind == "heatmap" else "table",
            title=f"{metrics_title([metric])} by {by}{request.when}",
            line=request.line,
            frame=frame,
            x="x",
            y="row",
            channels=channels,
            x_scale="names",
            y_scale="names",
            notes=missing.notes(),
        )


def _picture(
    request: Request,
    kind: Kind,
    by: str,
    metrics: list[Metric],
    points: list[Point],
    missing: Missing,
) -> Picture:
    x, points, scale = _x_axis(kind, by, points)
    dashes = 0 if kind == "bars" else MOST_DASHES
    frame, channels = framed(points, (x, y_column(metrics)), request.per, dashes=dashes)
    over = f" by {axis_title(by)}" if by else ""
    return Picture(
        kind=kind,
        title=f"{metrics_title(metrics)}{over}{request.when}",
        line=request.line,
        frame=frame,
        x="x",
        y="y",
        channels=channels,
        x_scale=request.x_scale(scale) if scale != "names" else scale,
        y_scale=request.y_scale(_scale(metrics, points)),
        notes=missing.notes(),
    )


def _x_axis(
    kind: str, by: str, points: list[Point]
) -> tuple[Column, list[Point], Scale]:
    """Numbers where the axis has them; bars stand side by side under their names."""
    texts = [str(point.values[0]) for point in points]
    known = numbers(texts)
    if kind == "bars" or known is None:
        return Column("x", axis_title(by), "text", in_order(texts)), points, "names"
    values, unit = known
    numbered = [
        Point(p.place, (values[str(p.values[0])], *p.values[1:])) for p in points
    ]
    scale: Scale = "linear" if by == "round" else scale_of(values.values())
    return Column("x", axis_title(by), unit), numbered, scale


def _scale(metrics: list[Metric], points: Sequence[Point]) -> Scale:
    """Latencies that lie far apart are seen on a logarithmic axis only."""
    values = [v for p in points if isinstance(v := p.values[1], (int, float)) and v > 0]
    wide = len(values) > 1 and max(values) / min(values) >= FAR
    return "log" if wide and metrics[0].unit == "ns" else "linear"


def _placed(spot: Spot, metric: Metric, metrics: list[Metric], by: str) -> Place:
    place = _without(spot.place, by)
    return {**place, "metric": str(metric)} if len(metrics) > 1 else place


def _without(place: Place, *names: str) -> Place:
    return {name: text for name, text in place.items() if name not in names}


def values_of(
    request: Request, metric: Metric, spot: Spot, missing: Missing
) -> Iterable[Value]:
    """The figure that counts of a spot, or none and its reason."""
    return _value(request, metric, spot.last_window(request.window), missing)


def _value(
    request: Request, metric: Metric, records: Sequence[RunRecord], missing: Missing
) -> Iterable[Value]:
    """One value, or none and its reason."""
    found = request.reader.figure(metric, records)
    if found.value is None:
        missing.add(metric, found.why.partition(", had ")[0])
        return ()
    return (found.value,)


def _rounds(spot: Spot) -> dict[int, list[RunRecord]]:
    rounds: dict[int, list[RunRecord]] = {}
    for record in spot.records:
        rounds.setdefault(record.asked.round, []).append(record)
    return rounds


def _swept(request: Request) -> str:
    """The axis whose values are linked to a line: the last one that is left."""
    values: dict[str, set[str]] = {}
    for spot in request.spots:
        for name, text in spot.place.items():
            values.setdefault(name, set()).add(text)
    taken = {"session", "step", *request.chart.per, *request.chart.by[1:]}
    left = [n for n, found in values.items() if len(found) > 1 and n not in taken]
    return left[-1] if left else ""


def _in_order(spots: Sequence[Spot], swept: str) -> list[Spot]:
    """By their value of the swept axis."""
    texts = in_order(spot.place.get(swept, "") for spot in spots)
    order = {text: number for number, text in enumerate(texts)}
    return sorted(spots, key=lambda spot: order[spot.place.get(swept, "")])
