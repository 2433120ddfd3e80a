"""The probes of a seek as a curve: what each value gave, yes or no, and the limit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from ioplan.language.metric import UNITS, parse_metric
from ioplan.language.plan import Demand, Seek, Test
from ioplan.records.record import RunRecord
from ioplan.results.report.charts.axis import axis_title, scale_of
from ioplan.results.report.charts.encoding import Datum, framed
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


class _Probe(NamedTuple):
    """A probe with the cell that it was for."""

    cell: Dimensions
    record: RunRecord
    value: float
    answer: str


def probe_pictures(
    test: Test | None,
    tried: Mapping[str, Sequence[RunRecord]],
    found: Mapping[str, Sequence[RunRecord]],
    reader: Reader,
) -> Iterator[ChartSpec]:
    """A picture for each part of the condition, by the labels of sessions."""
    if test is None or test.seek is None:
        return
    probes = [
        probe
        for label, records in tried.items()
        for probe in _probes(test.seek, label, records)
    ]
    notes = first_lines([*_notes(found)])
    for demand in _demands(test.seek):
        yield _picture(test.seek, demand, probes, reader, notes)


def _demands(seek: Seek) -> list[Demand]:
    """The parts with a figure that a curve can show; errors are hardly ever any."""
    if seek.goal == "knee":
        return [THROUGHPUT]
    return [one for one in seek.where if one.metric.name != "errors"]


def _probes(seek: Seek, label: str, records: Iterable[RunRecord]) -> Iterator[_Probe]:
    for record in records:
        probed = record.asked.seek
        if probed and record.status == "ok":
            cell = {n: t for n, t in record.asked.cell.items() if n != seek.axis}
            answer = probed.decision if probed.decision in LEGEND else ""
            yield _Probe({"session": label, **cell}, record, probed.value, answer)


def _notes(found: Mapping[str, Sequence[RunRecord]]) -> Iterator[str]:
    several = len(found) > 1
    for label, records in found.items():
        for record in records:
            if record.found:
                cell = [f"{n}={t}" for n, t in record.asked.cell.items()]
                where = " ".join([label, *cell] if several else cell)
                line = found_line(record.found)
                yield f"{where}: {line}" if where else line


def _picture(
    seek: Seek,
    demand: Demand,
    probes: list[_Probe],
    reader: Reader,
    notes: tuple[str, ...],
) -> ChartSpec:
    """The limit goes from end to end."""
    ordered = sorted(probes, key=lambda p: (LEGEND.index(p.answer), p.value))
    data = [
        Datum({**one.cell, ANSWER: one.answer}, (one.value, figure.value))
        for one in ordered
        for figure in (reader.figure(demand.metric, [one.record]),)
        if figure.value is not None
    ]
    columns = (
        Column("x", axis_title(seek.axis), UNITS[seek.kind]),
        y_column([demand.metric]),
    )
    frame, channels = framed(data, columns, (ANSWER,), dashes=0)
    values = sorted(one.value for one in ordered)
    overlay = None
    if seek.goal != "knee" and data:
        ends = (values[0], values[-1], demand.limit)
        limits = [Datum(one.dimensions, ends) for one in data]
        limited = tuple(Column(k, k, "") for k in ("x", "x2", "limit"))
        overlay, _ = framed(limits, limited, (ANSWER,), dashes=0)
    limit = f", {demand.text}" if demand.text else ""
    name = capital(metric_name(demand.metric))
    return ChartSpec(
        kind="probes",
        title=f"Probes: {name} by {axis_title(seek.axis)}{limit}",
        line="",
        frame=frame,
        channels=channels,
        x_scale=scale_of(values),
        y_scale=scale_of([float(d.values[1]) for d in data if d.values[1]]),
        overlay=overlay,
        notes=notes,
    )
