"""Runs and series as flat rows, for tables and data frames.

Each column has a type, so that an empty export has the columns of a full one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from ioplan.job import SECOND_NS
from ioplan.language.metric import Metric
from ioplan.planner.steps import Run
from ioplan.records.current import current_records
from ioplan.records.drive import Drive
from ioplan.records.record import (
    PERCENTILES,
    DirectionResult,
    Interval,
    Latency,
    PhaseResult,
    RunDetail,
    RunRecord,
)
from ioplan.records.scopes import results_of
from ioplan.records.session import Session
from ioplan.records.telemetry import Readings, TelemetryPoint
from ioplan.records.window import Window, window_of
from ioplan.results.exports.tabular import Columns, Row
from ioplan.results.measure.interval_counts import Slice
from ioplan.results.measure.metrics import NO_DETAIL, Sample, Stretch, figure
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
EVENT_COST_METRICS = {
    "recovery_ns": Metric(name="recovery"),
    "lost_work_ios": Metric(name="lost_work"),
}
"""In the row of the total of a run with events; the recovery is of p99 to 120 %."""
TOTAL: Columns = {
    **TELEMETRY,
    **WEAR,
    "gap_ns": int,  # the longest of all streams
    **dict.fromkeys(EVENT_COST_METRICS, float),
}
PERCENTILE_COLUMNS: Columns = {
    f"p{percent:g}_{part}": kind
    for percent in PERCENTILES
    for part, kind in (("ns", float), ("supported", bool))
}
LATENCIES: Columns = {n: k for n, k in PERCENTILE_COLUMNS.items() if k is float}
COLUMNS: dict[str, Columns] = {
    "runs": FIGURES | PERCENTILE_COLUMNS | TOTAL,
    "phases": {"phase": str, "phase_s": float} | FIGURES | PERCENTILE_COLUMNS,
    "series": POINT | TELEMETRY | TRACE,
    "streams": {"t_s": float, "length_s": float} | FIGURES | LATENCIES,
}
"""Of each kind of rows, those behind the place of the run and its session."""


def run_rows(record: RunRecord, costs: Row) -> Iterator[Row]:
    """A row for the total, and one for each direction that did something.

    Of several streams, there is one for each direction of each of them as well.
    """
    total, *parts = _result_rows(record)
    readings = _readings(record.telemetry)
    yield total | readings | _wear(record) | _gap(record) | costs
    yield from parts


def _result_rows(of: RunRecord | PhaseResult) -> Iterator[Row]:
    yield _figures("total", of.total)
    for direction in COUNTED:
        if direction in of.directions:
            yield _figures(direction, of.directions[direction])
    if len(of.streams) > 1:
        for scope, result in results_of(of).items():
            yield {"stream": scope.stream} | _figures(scope.direction, result)


def phase_rows(record: RunRecord) -> Iterator[Row]:
    """Of each phase a row for the total, each direction, and each of each stream."""
    for name, phase in record.phases.items():
        times = {"phase": name, "phase_s": phase.run_s}
        yield from (times | row for row in _result_rows(phase))


def series_rows(detail: RunDetail) -> Iterator[Row]:
    """A row for each interval, with the telemetry of the same time."""
    telemetry = {point.t_s: point for point in detail.telemetry}
    for point in detail.series:
        yield _point(point) | _readings(telemetry.get(point.t_s))


def stream_rows(intervals: Iterable[Slice]) -> Iterator[Row]:
    """A row for each direction of each stream in each interval.

    Percentiles stand there however few I/Os lie beyond them: `ios` says how many.
    """
    for interval in intervals:
        length_ns = interval.end_ns - interval.begin_ns
        times = {"t_s": interval.end_ns / SECOND_NS, "length_s": length_ns / SECOND_NS}
        for stream in Stretch([interval]).streams:
            for direction, result in stream.directions.items():
                row = times | {"stream": stream.name} | _figures(direction, result)
                yield {k: v for k, v in row.items() if not k.endswith("_supported")}


def place_row(record: RunRecord, counted: Counted) -> Row:
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
    gaps = [stream.gap_ns for stream in record.streams if stream.gap_ns is not None]
    return {"gap_ns": max(gaps)} if gaps else {}


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
