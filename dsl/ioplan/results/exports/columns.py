"""Runs and series as flat rows, for tables and data frames.

Each column has a type, so that an empty export has the columns of a full one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain

from msgspec import Struct

from ioplan.job import SECOND_NS
from ioplan.language.metric import Metric
from ioplan.language.plan import CheckedPlan
from ioplan.planner.places import NOT_MEASURED, not_measured, places_of
from ioplan.planner.steps import Run
from ioplan.records.current import current_records
from ioplan.records.drive import Drive
from ioplan.records.record import (
    PERCENTILES,
    DirectionResult,
    Interval,
    Latency,
    PhaseResult,
    RunRecord,
)
from ioplan.records.scopes import results_of
from ioplan.records.session import Session
from ioplan.records.telemetry import Readings, TelemetryPoint
from ioplan.records.window import Window, window_of
from ioplan.results.exports.tabular import Columns, Row
from ioplan.results.measure.interval_counts import IntervalCounts, Slice
from ioplan.results.measure.metrics import NO_DETAIL, Sample, Stretch, figure
from ioplan.results.store.runs import Fields
from ioplan.results.store.store import Store
from ioplan.workload import COUNTED, DIRECTIONS

DRIVE = ("serial", "model", "firmware")

PLACE: Columns = {
    "session": str,
    "seq": int,
    "run_id": str,
    "test": str,
    "kind": str,
    "step": int,
    "round": int,
    "in_window": bool,
    "current": bool,
    "iteration": int,
    "status": str,
    "cause": str,
    "backend": str,
    "started_at": str,
    "run_s": float,
    "step_name": str,
    "seek_phase": str,
    "seek_number": int,
    "seek_decision": str,
    "found_axis": str,
    "found_value": float,
    "found_no_at": float,
    "found_confirmed": bool,
}
"""Of rounds, `in_window` says whether the figures of reports are of this one too; a
run that `resume` did once more is `current` only the last time. Of a seek, `seek_…` is
of its probes, and `found_…` of what stands for all of them, in the axis' base unit."""
SESSION: Columns = dict.fromkeys(
    (
        *("job", "person", "host_name", "drive_serial", "drive_model"),
        *("drive_firmware", "lab_name", "tags", "note"),
    ),
    str,
)
"""Columns of the session, the same in all its rows; tags with blanks between."""
FIGURES: Columns = {
    "scope": str,
    "stream": str,
    "ios": int,
    "bytes": int,
    "errors": int,
    "iops": float,
    "bandwidth_bytes_per_s": float,
    "mean_ns": float,
    "min_ns": int,
    "max_ns": int,
    "stddev_ns": float,
}
POINT: Columns = {
    "t_s": float,
    "length_s": float,
    **{f"{direction}_ios": int for direction in DIRECTIONS},
    **{f"{direction}_bytes": int for direction in DIRECTIONS},
    "errors": int,
    "mean_ns": float,
    "p50_ns": float,
    "p99_ns": float,
    "p99.9_ns": float,
    "max_ns": int,
}
TELEMETRY: Columns = dict.fromkeys(Readings.model_fields, float)
"""Columns of the whole run, in the row of its total only; and of each interval."""
TRACE: Columns = {
    name: float for name in TelemetryPoint.model_fields if name.startswith("trace_")
}
"""Columns of each interval of a run with a replay."""
WEAR: Columns = {
    "wear_source": str,
    "host_written_bytes": int,
    "media_written_bytes": int,
    "waf": float,
    "dwpd": float,
}
"""Columns of the drive's log, in the row of the total only."""


GAP: Columns = {"gap_ns": int}
"""The longest of all streams, in the row of the total only."""
EVENT_COST_METRICS = {
    "recovery_ns": Metric(name="recovery"),
    "lost_work_ios": Metric(name="lost_work"),
}
"""In the row of the total of a run with events; the recovery is of p99 to 120 %."""


def run_columns(axes: Iterable[str]) -> Columns:
    """The columns of `run_rows`."""
    columns = _place_columns(axes) | FIGURES | _percentile_columns()
    return columns | TELEMETRY | WEAR | GAP | dict.fromkeys(EVENT_COST_METRICS, float)


def _percentile_columns() -> Columns:
    columns: Columns = {}
    for percent in PERCENTILES:
        columns[f"p{percent:g}_ns"] = float
        columns[f"p{percent:g}_supported"] = bool
    return columns


def series_columns(axes: Iterable[str]) -> Columns:
    """The columns of `series_rows`."""
    return _place_columns(axes) | POINT | TELEMETRY | TRACE


def stream_columns(axes: Iterable[str]) -> Columns:
    """The columns of `stream_rows`."""
    percentiles = {f"p{percent:g}_ns": float for percent in PERCENTILES}
    times = {"t_s": float, "length_s": float}
    return _place_columns(axes) | times | FIGURES | percentiles


def phase_columns(axes: Iterable[str]) -> Columns:
    """The columns of `phase_rows`."""
    times: Columns = {"phase": str, "phase_s": float}
    return _place_columns(axes) | times | FIGURES | _percentile_columns()


def _place_columns(axes: Iterable[str]) -> Columns:
    return PLACE | SESSION | {f"cell.{axis}": str for axis in axes}


def run_rows(record: RunRecord, counted: Counted) -> Iterator[Row]:
    """A row for the total, and one for each direction that did something.

    Of several streams, there is one for each direction of each of them as well.
    """
    place = _place(record, counted)
    total, *parts = _result_rows(place, record)
    yield total | _readings(record.telemetry) | _wear(record) | _gap(record)
    yield from parts


def _result_rows(place: Row, of: RunRecord | PhaseResult) -> Iterator[Row]:
    """The total, each direction, and of several streams each direction of each."""
    yield place | _figures("total", of.total)
    for direction in COUNTED:
        if direction in of.directions:
            yield place | _figures(direction, of.directions[direction])
    if len(of.streams) > 1:
        for scope, result in results_of(of).items():
            yield place | {"stream": scope.stream} | _figures(scope.direction, result)


def phase_rows(record: RunRecord, counted: Counted) -> Iterator[Row]:
    """Of each phase a row for the total, each direction, and each of each stream."""
    place = _place(record, counted)
    for name, phase in record.phases.items():
        times = {"phase": name, "phase_s": phase.run_s}
        yield from _result_rows(place | times, phase)


def series_rows(
    record: RunRecord,
    counted: Counted,
    series: Iterable[Interval],
    telemetry: Iterable[TelemetryPoint] = (),
) -> Iterator[Row]:
    """A row for each interval, with the telemetry of the same time."""
    place, beside = _place(record, counted), {point.t_s: point for point in telemetry}
    for point in series:
        yield place | _point(point) | _readings(beside.get(point.t_s))


def stream_rows(
    record: RunRecord, counted: Counted, intervals: Iterable[Slice]
) -> Iterator[Row]:
    """A row for each direction of each stream in each interval.

    Percentiles stand there however few I/Os lie beyond them: `ios` says how many.
    """
    place = _place(record, counted)
    for one in intervals:
        length_ns = one.end_ns - one.begin_ns
        times = {"t_s": one.end_ns / SECOND_NS, "length_s": length_ns / SECOND_NS}
        for stream in Stretch([one]).streams:
            for direction, result in stream.directions.items():
                row = {"stream": stream.name} | _figures(direction, result)
                kept = {k: v for k, v in row.items() if not k.endswith("_supported")}
                yield place | times | kept


def _place(record: RunRecord, counted: Counted) -> Row:
    """Which run it is: the part that all of its rows share."""
    asked = record.asked
    names = ("session", "seq", "run_id", "status", "cause", "started_at", "run_s")
    asked_names = ("test", "kind", "step", "round", "iteration")
    return {
        **{name: getattr(record, name) for name in names},
        **{name: getattr(asked, name) for name in asked_names},
        **counted.row(record),
        **_seek(record),
        "backend": record.backend.name,
        **{f"cell.{axis}": value for axis, value in asked.cell.items()},
    }


def _seek(record: RunRecord) -> Row:
    """What a run is to a seek, and the name of its step, where there is any."""
    probed, found, row = record.asked.seek, record.found, Row()
    if record.asked.name:
        row["step_name"] = record.asked.name
    if probed:
        row |= {"seek_phase": probed.phase, "seek_number": probed.number}
        row["seek_decision"] = probed.decision
    if found:
        row |= {"found_axis": found.axis, "found_confirmed": found.confirmed}
        known = {"found_value": found.value, "found_no_at": found.no_at}
        row |= {name: value for name, value in known.items() if value is not None}
    return row


def _figures(scope: str, result: DirectionResult) -> Row:
    figures = {"scope": scope, **result.model_dump(exclude={"latency"})}
    return figures | (_latency(result.latency) if result.latency else {})


def _gap(record: RunRecord) -> Row:
    known = [one.gap_ns for one in record.streams if one.gap_ns is not None]
    return {"gap_ns": max(known)} if known else {}


def _latency(latency: Latency) -> Row:
    row = latency.model_dump(exclude={"percentiles"})
    for percentile in latency.percentiles:
        row[f"p{percentile.percent:g}_ns"] = percentile.latency_ns
        row[f"p{percentile.percent:g}_supported"] = percentile.supported
    return row


def _point(point: Interval) -> Row:
    row = point.model_dump(exclude={"ios", "bytes", "p99_9_ns"})
    row["p99.9_ns"] = point.p99_9_ns
    for direction in DIRECTIONS:
        row[f"{direction}_ios"] = point.ios.get(direction, 0)
        row[f"{direction}_bytes"] = point.bytes.get(direction, 0)
    return row


def _readings(readings: Readings | None) -> Row:
    """The readings that there are."""
    row = readings.model_dump(include={*TELEMETRY, *TRACE}) if readings else {}
    return {name: value for name, value in row.items() if value is not None}


def _wear(record: RunRecord) -> Row:
    """What its log says of a run, as far as it says it."""
    wear = record.wear
    if wear is None:
        return {}
    row: Row = {"wear_source": wear.source}
    row["host_written_bytes"] = wear.host_written_bytes
    if wear.media_written_bytes is not None:
        row["media_written_bytes"] = wear.media_written_bytes
    run = [Sample(record, NO_DETAIL)]
    found = {name: figure(Metric(name=name), run).value for name in ("waf", "dwpd")}
    return row | {n: value for n, value in found.items() if value is not None}


class Counted(Struct, frozen=True):
    """Which runs of a session its figures are of: the window of each test in rounds,
    and the numbers of the runs that no later one replaces."""

    windows: dict[str, Window]
    current: frozenset[int]

    def row(self, record: RunRecord) -> Row:
        """Columns of this record; outside of rounds there is no window."""
        row: Row = {"current": record.seq in self.current}
        if record.asked.round:
            row["in_window"] = self.windows[record.asked.test].holds(record)
        return row


def counted_of(records: Sequence[RunRecord]) -> Counted:
    """Which of the runs of one session count."""
    current = current_records(records)
    by_test: dict[str, list[RunRecord]] = {}
    for record in current:
        if record.asked.round:
            by_test.setdefault(record.asked.test, []).append(record)
    found = {test: window_of(runs) for test, runs in by_test.items()}
    windows = {test: window for test, window in found.items() if window}
    return Counted(windows, frozenset(record.seq for record in current))


def missing_place(run: Run) -> Row:
    """Where in the plan a cell is that was not measured."""
    cell = {f"cell.{axis}": value for axis, value in run.cell_text.items()}
    named = {"test": run.test.title, "step": run.index, "run_id": run.run_id}
    return named | cell


def session_words(session: Session) -> Row:
    """Who ran it on which drive and why, as far as that is known."""
    drive = session.drive or Drive()
    row = {
        **{name: getattr(session, name) for name in ("job", "person", "host_name")},
        **{f"drive_{name}": getattr(drive, name) for name in DRIVE},
        "lab_name": drive.lab_name,
        "tags": " ".join(session.tags),
        "note": session.note,
    }
    return {name: text for name, text in row.items() if text}


class Source(Struct, frozen=True, dict=True):
    """A session, as records and as flat rows: of runs, or of their `phases`, or of
    their intervals, or of the `streams` in these.

    With its plan, there is a row for each cell that was not measured as well, and a
    column for each recovery that it asks for.
    """

    store: Store
    session: Session
    series: bool = False
    detail: bool = False
    plan: CheckedPlan | None = None
    streams: bool = False
    phases: bool = False

    def records(self) -> Iterator[RunRecord]:
        """The runs in order."""
        return self.store.records(self.session.id)

    @cached_property
    def places(self) -> list[RunRecord]:
        """Where in the plan each run is: what is kept in memory of all of them."""
        return list(self.store.records(self.session.id, fields=Fields.PLACE))

    def columns(self) -> Columns:
        """The columns of the rows."""
        found = chain(
            (record.asked.cell for record in self.places),
            (run.cell_text for run in self.missing),
        )
        axes = dict.fromkeys(axis for cell in found for axis in cell)
        if self.phases:
            return phase_columns(axes)
        if self.streams:
            return stream_columns(axes)
        if self.series:
            return series_columns(axes)
        return run_columns(axes) | dict.fromkeys(self.recoveries, float)

    @cached_property
    def recoveries(self) -> dict[str, Metric]:
        """The recoveries that its plan asks for, by their columns."""
        tests = self.plan.tests if self.plan else ()
        asked = (metric.recovery for test in tests for metric in test.metrics)
        found = [Metric(name="recovery", recovery=one) for one in asked if one]
        return {_recovery_column(metric): metric for metric in found}

    @cached_property
    def counted(self) -> Counted:
        """Which runs the figures of reports are of."""
        return counted_of(self.places)

    @cached_property
    def missing(self) -> list[Run]:
        """The cells that were not measured, where all of the plan has not run."""
        if self.plan is None or self.session.status == "ok":
            return []
        return not_measured(places_of(self.plan), self.places)

    def rows(self) -> Iterator[Row]:
        """The rows; a column that a row has no value for is not in it."""
        words = session_words(self.session)
        missing = [] if self.series or self.phases else self.missing
        for row in chain(self._measured(), map(self._empty, missing)):
            yield words | row

    def _empty(self, run: Run) -> Row:
        """The row of a cell that was not measured."""
        return missing_place(run) | {
            "session": self.session.id,
            "kind": "run",
            "status": NOT_MEASURED,
            "backend": self.session.backend,
            "scope": "total",
        }

    def _measured(self) -> Iterator[Row]:
        for record in self.records():
            if self.phases:
                yield from phase_rows(record, self.counted)
            elif self.streams:
                packed = self.store.intervals(record.session, record.seq)
                yield from stream_rows(record, self.counted, IntervalCounts(packed))
            elif self.series:
                detail = self.store.detail(record.session, record.seq)
                series, telemetry = detail.series, detail.telemetry
                yield from series_rows(record, self.counted, series, telemetry)
            else:
                total, *others = run_rows(record, self.counted)
                yield total | self._event_costs(record)
                yield from others

    def _event_costs(self, record: RunRecord) -> Row:
        """What is not known, such as of a run that did not recover, has no value."""
        if not record.events:
            return {}
        sample = Sample(record, self.store.detail(record.session, record.seq))
        asked = EVENT_COST_METRICS | self.recoveries
        found = ((name, figure(asked[name], [sample]).value) for name in asked)
        return {name: value for name, value in found if value is not None}


def _recovery_column(metric: Metric) -> str:
    """`recovery_of_iops_to_80_for_10s_ns`."""
    return f"{metric} ns".replace("%", "").replace(" ", "_")
