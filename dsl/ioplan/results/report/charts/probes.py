"""The probes of a seek as a curve: what each value gave, yes or no, and the limit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from ioplan.language.metric import UNITS, parse_metric
from ioplan.language.plan import Demand, Seek, Test
from ioplan.records.record import RunRecord
from ioplan.results.report.charts.axis import axis_title, scale_of
from ioplan.results.report.charts.encoding import Datum, drawn, without
from ioplan.results.report.charts.request import capital, metric_name, y_column
from ioplan.results.report.documents import ChartSpec, Column
from ioplan.results.report.many_sessions import first_lines
from ioplan.results.report.point import Dimensions
from ioplan.results.report.reader import Reader
from ioplan.results.report.sentences import found_line

ANSWER = "answer"
LEGEND = ("yes", "no", "undecided", "")
"""Answers in their order; a probe of a knee has none."""
THROUGHPUT = Demand(metric=parse_metric("iops"), operator="", limit=0.0, text="")
"""What is looked at to find a knee; it has no limit."""

ByLabel = Mapping[str, Sequence[RunRecord]]


class _Probe(NamedTuple):
    """A probe with the cell that it was for, and its answer."""

    record: RunRecord
    value: float
    dimensions: Dimensions


def probe_pictures(
    test: Test | None, tried: ByLabel, runs: ByLabel, reader: Reader
) -> Iterator[ChartSpec]:
    """A picture for each part of the condition, by the labels of sessions."""
    if test is None or test.seek is None:
        return
    seek = test.seek
    probes = sorted(
        _probes(seek, tried),
        key=lambda p: (LEGEND.index(p.dimensions[ANSWER]), p.value),
    )
    notes = first_lines([*_notes(runs)])
    # errors are hardly ever any, so that a curve shows nothing
    demands = [one for one in seek.where if one.metric.name != "errors"]
    for demand in [THROUGHPUT] if seek.goal == "knee" else demands:
        yield _picture(seek, demand, probes, reader, notes)


def _probes(seek: Seek, tried: ByLabel) -> Iterator[_Probe]:
    for label, records in tried.items():
        for record in records:
            probed = record.asked.seek
            if probed and record.status == "ok":
                cell = {"session": label, **without(record.asked.cell, seek.axis)}
                answer = probed.decision if probed.decision in LEGEND else ""
                yield _Probe(record, probed.value, cell | {ANSWER: answer})


def _notes(runs: ByLabel) -> Iterator[str]:
    several = len(runs) > 1
    for label, records in runs.items():
        for record in records:
            if record.found:
                cell = [f"{n}={t}" for n, t in record.asked.cell.items()]
                where = " ".join([label, *cell] if several else cell)
                yield f"{where}: " * bool(where) + found_line(record.found)


def _picture(
    seek: Seek,
    demand: Demand,
    probes: list[_Probe],
    reader: Reader,
    notes: tuple[str, ...],
) -> ChartSpec:
    data = [
        Datum(dimensions, (value, figure.value))
        for record, value, dimensions in probes
        for figure in (reader.figure(demand.metric, [record]),)
        if figure.value is not None
    ]
    values = sorted(probe.value for probe in probes)
    limits = [
        Datum(one.dimensions, (values[0], values[-1], demand.limit))
        for one in data
        if seek.goal != "knee"
    ]
    limit, axis = f", {demand.text}" if demand.text else "", axis_title(seek.axis)
    return drawn(
        "probes",
        f"Probes: {capital(metric_name(demand.metric))} by {axis}{limit}",
        data,
        (Column("x", axis, UNITS[seek.kind]), y_column([demand.metric])),
        per=(ANSWER,),
        dashes=0,
        over=limits,
        over_columns=tuple(Column(k, k, "") for k in ("x", "x2", "limit")),
        x_scale=scale_of(values),
        y_scale=scale_of([float(d.values[1]) for d in data if d.values[1]]),
        notes=notes,
    )
