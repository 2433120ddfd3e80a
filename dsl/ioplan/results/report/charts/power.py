"""Charts of power and temperature, which appear where something measured them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ioplan.language.metric import Metric
from ioplan.language.plan import Chart, Test
from ioplan.records.record import RunDetail, RunRecord
from ioplan.results.measure.metrics import Sample, figure
from ioplan.results.report.charts.defaults import chart, suggested
from ioplan.results.report.document import ChartSpec
from ioplan.results.report.points import Point

ABSENT = {
    "watts": "Power was not measured: there are no charts of watts, or of IOPS or "
    "throughput per watt.",
    "temperature": "No temperature was measured.",
}
UNASKED = ("watts", "iops_per_watt", "temperature")
METRICS = (*UNASKED, "bandwidth_per_watt")


def power_charts(test: Test | None, points: Sequence[Point]) -> Iterable[Chart]:
    """A chart of each figure that was measured and that no chart line names."""
    records = [run for point in points for run in point.runs]
    named = {m.name for c in (test.charts if test else ()) for m in c.metrics}
    for name in UNASKED:
        if name not in named and _measured(name, records):
            like = suggested(points)[0]
            over_time = like.by[:1] == ("time",)
            kind = "lines" if over_time else "bars"
            if not over_time or name != "iops_per_watt":
                yield chart(kind, (name,), like.by, like.per)


def without_power(picture: ChartSpec) -> bool:
    """Whether nothing measured what the picture is of, which is said elsewhere."""
    units = {Metric(name=name).unit for name in METRICS}
    keys = [column.key for column in picture.frame.columns if column.unit in units]
    rows = picture.frame.records()
    return bool(keys) and not any(row[k] is not None for row in rows for k in keys)


def absent(records: Sequence[RunRecord]) -> tuple[str, ...]:
    """What no record has is said once."""
    return tuple(t for name, t in ABSENT.items() if not _measured(name, records))


def _measured(name: str, records: Iterable[RunRecord]) -> bool:
    records = [record for record in records if record.telemetry]
    metric = Metric(name=name)
    samples = (Sample(record, RunDetail()) for record in records)
    return any(figure(metric, [sample]).value is not None for sample in samples)
