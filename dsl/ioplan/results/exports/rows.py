"""Runs, phases, intervals and streams as flat rows, for tables and data frames.

Each column has a type, so that an empty export has the columns of a full one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import starmap
from typing import Any, Literal

from ioplan.core.grouping import grouped
from ioplan.job import SECOND_NS
from ioplan.language.metric import Metric
from ioplan.planner.steps import Run
from ioplan.records.current import current_records
from ioplan.records.drive import Drive
from ioplan.records.record import (
    PERCENTILES,
    DirectionResult,
    PhaseResult,
    RunDetail,
    RunRecord,
)
from ioplan.records.scopes import results_of
from ioplan.records.session import Session
from ioplan.records.telemetry import Readings, TelemetryPoint
from ioplan.records.window import window_of
from ioplan.results.measure.interval_counts import Slice
from ioplan.results.measure.metrics import NO_DETAIL, Sample, Stretch, figure
from ioplan.workload import COUNTED, DIRECTIONS

Row = dict[str, Any]
Columns = dict[str, type]
Kind = Literal["runs", "phases", "series", "streams"]


def typed(names: str) -> Columns:
    """Columns by their names, with the type behind each that is no text."""
    types = {"": str, "int": int, "float": float, "bool": bool}
    words = (word.partition(":") for word in names.split())
    return {name: types[type] for name, _, type in words}


PLACE = typed("""
    session seq:int run_id test kind step:int round:int in_window:bool current:bool
    iteration:int status cause backend started_at run_s:float step_name
    seek_phase seek_number:int seek_decision
    found_axis found_value:float found_no_at:float found_confirmed:bool""")
"""Of rounds, `in_window` says whether the figures of reports are of this one too; a
run that `resume` did once more is `current` only the last time. Of a seek, `seek_…` is
of its probes, and `found_…` of what stands for all of them, in the axis' base unit."""
SESSION = typed("""
    job person host_name drive_serial drive_model drive_firmware lab_name tags note""")
"""The same in all rows of a session; tags with blanks between."""
FIGURES = typed("""
    scope stream ios:int bytes:int errors:int iops:float bandwidth_bytes_per_s:float
    mean_ns:float min_ns:int max_ns:int stddev_ns:float""")
SUPPORTED: Columns = {
    name: type
    for percent in PERCENTILES
    for name, type in ((f"p{percent:g}_ns", float), (f"p{percent:g}_supported", bool))
}
TIMES = typed("t_s:float length_s:float")
POINT = {
    **TIMES,
    **{f"{direction}_ios": int for direction in DIRECTIONS},
    **{f"{direction}_bytes": int for direction in DIRECTIONS},
    **typed("errors:int mean_ns:float p50_ns:float p99_ns:float p99.9_ns:float"),
    "max_ns": int,
}
TELEMETRY: Columns = dict.fromkeys(Readings.model_fields, float)
TRACE: Columns = {
    name: float for name in TelemetryPoint.model_fields if name.startswith("trace_")
}
TOTALS = typed("""
    wear_source host_written_bytes:int media_written_bytes:int waf:float dwpd:float
    gap_ns:int recovery_ns:float lost_work_ios:float""")
"""In the row of a run's total only, as is its telemetry: what the drive's log says; the
longest gap of all streams; of a run with events, the recovery of p99 to 120 %."""
COLUMNS: dict[Kind, Columns] = {
    "runs": FIGURES | SUPPORTED | TELEMETRY | TOTALS,
    "phases": typed("phase phase_s:float") | FIGURES | SUPPORTED,
    "series": POINT | TELEMETRY | TRACE,
    "streams": TIMES
    | FIGURES
    | {name: type for name, type in SUPPORTED.items() if type is float},
}
"""What each kind of rows has beside the columns of place and session."""


def columns_of(kind: Kind, axes: Iterable[str]) -> Columns:
    """The columns of a kind of rows, with their types, in order."""
    cells = {f"cell.{axis}": str for axis in axes}
    return PLACE | SESSION | cells | COLUMNS[kind]


class Counted:
    """Which runs of a session its figures are of: the window of each test in rounds,
    and the numbers of the runs that no later one replaces."""

    def __init__(self, records: Sequence[RunRecord]) -> None:
        current = current_records(records)
        rounds = [record for record in current if record.asked.round]
        tests = grouped(rounds, lambda record: record.asked.test)
        windows = {test: window_of(runs) for test, runs in tests.items()}
        self.windows = {test: window for test, window in windows.items() if window}
        self.current = {record.seq for record in current}


def place_row(record: RunRecord, counted: Counted) -> Row:
    """Which run it is: the part that all of its rows share."""
    asked, seek, finding = record.asked, record.asked.seek, record.found
    own = ("session", "seq", "run_id", "status", "cause", "started_at", "run_s")
    row = {name: getattr(record, name) for name in own}
    of_step = ("test", "kind", "step", "round", "iteration")
    row |= {name: getattr(asked, name) for name in of_step}
    row["current"] = record.seq in counted.current
    if asked.round:
        row["in_window"] = counted.windows[asked.test].holds(record)
    if asked.name:
        row["step_name"] = asked.name
    if seek:
        row |= {"seek_phase": seek.phase, "seek_number": seek.number}
        row["seek_decision"] = seek.decision
    if finding:
        row |= {"found_axis": finding.axis, "found_confirmed": finding.confirmed}
        row |= _present(found_value=finding.value, found_no_at=finding.no_at)
    row["backend"] = record.backend.name
    return row | {f"cell.{axis}": value for axis, value in asked.cell.items()}


def missing_place(run: Run) -> Row:
    """Where in the plan a cell is that was not measured."""
    cell = {f"cell.{axis}": value for axis, value in run.cell_text.items()}
    return {"test": run.test.title, "step": run.index, "run_id": run.run_id} | cell


def session_row(session: Session) -> Row:
    """Who ran it on which drive and why, as far as that is known."""
    drive = session.drive or Drive()
    row = {name: getattr(session, name) for name in ("job", "person", "host_name")}
    row |= {f"drive_{n}": getattr(drive, n) for n in ("serial", "model", "firmware")}
    row |= {"lab_name": drive.lab_name, "tags": " ".join(session.tags)}
    row["note"] = session.note
    return {name: text for name, text in row.items() if text}


def _present(**values: Any) -> Row:
    return {name: value for name, value in values.items() if value is not None}


def run_rows(record: RunRecord, costs: Row) -> Iterator[Row]:
    """The total with what only it has, each direction, and of several streams each
    direction of each."""
    total, *parts = _result_rows(record)
    gaps = [s.gap_ns for s in record.streams if s.gap_ns is not None]
    gap = {"gap_ns": max(gaps)} if gaps else {}
    yield total | _readings(record.telemetry) | _wear(record) | gap | costs
    yield from parts


def phase_rows(record: RunRecord) -> Iterator[Row]:
    """Of each phase the same rows as of a run."""
    for name, phase in record.phases.items():
        times = {"phase": name, "phase_s": phase.run_s}
        yield from (times | row for row in _result_rows(phase))


def _result_rows(of: RunRecord | PhaseResult) -> Iterator[Row]:
    results = {"total": of.total}
    results |= {d: of.directions[d] for d in COUNTED if d in of.directions}
    yield from starmap(_figures, results.items())
    if len(of.streams) > 1:
        for scope, result in results_of(of).items():
            yield {"stream": scope.stream} | _figures(scope.direction, result)


def series_rows(detail: RunDetail) -> Iterator[Row]:
    """A row for each interval, with the telemetry of the same time."""
    readings = {point.t_s: point for point in detail.telemetry}
    for point in detail.series:
        row = point.model_dump(exclude={"ios", "bytes", "p99_9_ns"})
        row["p99.9_ns"] = point.p99_9_ns
        for direction in DIRECTIONS:
            row[f"{direction}_ios"] = point.ios.get(direction, 0)
            row[f"{direction}_bytes"] = point.bytes.get(direction, 0)
        yield row | _readings(readings.get(point.t_s))


def stream_rows(intervals: Iterable[Slice]) -> Iterator[Row]:
    """A row for each direction of each stream in each interval.

    Percentiles stand there however few I/Os lie beyond them: `ios` says how many.
    """
    for interval in intervals:
        length_s = interval.length_ns / SECOND_NS
        times = {"t_s": interval.end_ns / SECOND_NS, "length_s": length_s}
        for stream in Stretch([interval]).streams:
            for direction, result in stream.directions.items():
                row = times | {"stream": stream.name} | _figures(direction, result)
                yield {k: v for k, v in row.items() if not k.endswith("_supported")}


def _figures(scope: str, result: DirectionResult) -> Row:
    row = {"scope": scope, **result.model_dump(exclude={"latency"})}
    if latency := result.latency:
        row |= latency.model_dump(exclude={"percentiles"})
        for percentile in latency.percentiles:
            row[f"p{percentile.percent:g}_ns"] = percentile.latency_ns
            row[f"p{percentile.percent:g}_supported"] = percentile.supported
    return row


def _readings(readings: Readings | None) -> Row:
    row = readings.model_dump(include={*TELEMETRY, *TRACE}) if readings else {}
    return _present(**row)


def _wear(record: RunRecord) -> Row:
    """What the drive's log says of a run, as far as it says it."""
    wear = record.wear
    if wear is None:
        return {}
    row: Row = {"wear_source": wear.source}
    row["host_written_bytes"] = wear.host_written_bytes
    row |= _present(media_written_bytes=wear.media_written_bytes)
    run = [Sample(record, NO_DETAIL)]
    rates = {name: figure(Metric(name=name), run).value for name in ("waf", "dwpd")}
    return row | _present(**rates)
