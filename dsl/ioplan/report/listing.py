"""Tables without a second axis: a row a place, a column a figure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ioplan.language.metric import Metric
from ioplan.report.axis import axis_title
from ioplan.report.cells import Missing, values_of
from ioplan.report.document import Column, Frame, Picture, Value
from ioplan.report.places import Spot
from ioplan.report.power import METRICS as POWER
from ioplan.report.request import (
    UNIT_NAMES,
    Request,
    capital,
    metric_name,
    metrics_title,
    unit_of,
)
from ioplan.report.runtable import place_columns, place_values, varying


def listed(request: Request) -> Iterator[Picture]:
    """All figures in one table, each in its own unit; those without any left out."""
    by = request.chart.by[0] if request.chart.by else ""
    spots = [s for s in request.spots if not by or by in s.place]
    found, notes = _found(request, spots)
    axes = varying(spots, always=by)
    heads = [Column(f"m{n}", metric_name(m), unit_of(m)) for n, m in enumerate(found)]
    figures = zip(*found.values(), strict=True)
    rows = [
        (*place_values(spot, axes), *values)
        for spot, values in zip(spots, figures, strict=bool(found))
    ]
    yield Picture(
        kind="table",
        title=f"{_title(list(found) or request.chart.metrics, by)}{request.when}",
        line=request.line,
        frame=Frame((*place_columns(spots, axes), *heads), rows),
        x="",
        y="",
        notes=notes,
    )


def _title(metrics: Sequence[Metric], by: str) -> str:
    """What is in the table; of several figures, their kinds."""
    over = f" by {axis_title(by)}" if by else ""
    if len(metrics) == 1:
        return f"{metrics_title(metrics)}{over}"
    names = dict.fromkeys(UNIT_NAMES.get(m.unit) or metric_name(m) for m in metrics)
    return f"{capital(', '.join(names))}{over}"


def _found(
    request: Request, spots: list[Spot]
) -> tuple[dict[Metric, list[Value]], tuple[str, ...]]:
    """The values of each metric that has any, and why others are missing."""
    found: dict[Metric, list[Value]] = {}
    told = Missing({})
    for metric in request.chart.metrics:
        power = metric.name in POWER  # the first screen tells that it was not measured
        missing = Missing({}) if power else told
        parts = [tuple(values_of(request, metric, spot, missing)) for spot in spots]
        if any(parts):
            found[metric] = [part[0] if part else None for part in parts]
    return found, told.notes()
