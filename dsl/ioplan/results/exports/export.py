"""Sessions for other tools: JSON, JSON lines, CSV or Parquet.

JSON and JSON lines give whole records (`ioplan.records.record`), JSON also the window
of each test in rounds and the cells that were not measured; CSV and Parquet give flat
rows (`ioplan.results.exports.rows`). With `series`, every format gives a row for
each interval. All is written as it is read: a session may be large.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain
from typing import BinaryIO

from msgspec.structs import asdict

from ioplan.language.metric import Metric
from ioplan.language.plan import CheckedPlan
from ioplan.planner.places import NOT_MEASURED, not_measured, places_of
from ioplan.planner.steps import Run
from ioplan.records.drive import Drive
from ioplan.records.record import RunRecord
from ioplan.records.session import Session
from ioplan.results.exports.formats import (
    ExportError,
    JsonMember,
    Tabular,
    json_text,
    write,
)
from ioplan.results.exports.rows import (
    Columns,
    Counted,
    Kind,
    Row,
    columns_of,
    missing_place,
    phase_rows,
    place_row,
    run_rows,
    series_rows,
    session_row,
    stream_rows,
    typed,
)
from ioplan.results.measure.interval_counts import IntervalCounts
from ioplan.results.measure.metrics import Sample, figure
from ioplan.results.store.runs import Fields
from ioplan.results.store.sessions import SessionOverview
from ioplan.results.store.store import Store, session_now

EVENT_COSTS = {
    "recovery_ns": Metric(name="recovery"),
    "lost_work_ios": Metric(name="lost_work"),
}


def export(
    store: Store,
    session_id: str,
    format: str,
    out: BinaryIO,
    *,
    detail: bool = False,
    series: bool = False,
    streams: bool = False,
    phases: bool = False,
    plan: CheckedPlan | None = None,
) -> None:
    """Write a session to a binary stream.

    `session_id` is any key of `Store.session`. `detail` adds histograms and series
    to JSON, `streams` parts the series into streams and directions. With `phases` the
    rows are of the phases of runs, which whole records have anyway. With its `plan`,
    what was not measured is in it. Raises FormatError,
    ExportError, StoreError, and OSError from writing.
    """
    if detail and (format != "json" or series):
        raise ExportError("histograms are exported with whole records as json only")
    if streams and not series:
        raise ExportError("streams are of the series: add --series")
    if phases and (series or format not in ("csv", "parquet")):
        raise ExportError(
            "--phases gives rows of csv or parquet, without --series; json has the "
            "phases in each record"
        )
    kind: Kind = "series" if series else "phases" if phases else "runs"
    kind = "streams" if streams else kind
    session = session_now(store, session_id)
    write(Records(store, session, kind, plan, detail), format, out)


class Records(Tabular, frozen=True, dict=True):
    """A session as whole records, and as flat rows of a kind.

    With its plan, there is a row for each cell that was not measured as well, and a
    column for each recovery that it asks for.
    """

    store: Store
    session: Session
    kind: Kind = "runs"
    plan: CheckedPlan | None = None
    detail: bool = False

    def records(self) -> Iterator[RunRecord]:
        return self.store.records(self.session.id)

    @cached_property
    def places(self) -> list[RunRecord]:
        """Where in the plan each run is: what is kept in memory of all of them."""
        return list(self.store.records(self.session.id, fields=Fields.PLACE))

    @cached_property
    def counted(self) -> Counted:
        return Counted(self.places)

    @cached_property
    def missing(self) -> list[Run]:
        if self.plan is None or self.session.status == "ok":
            return []
        return not_measured(places_of(self.plan), self.places)

    @cached_property
    def recoveries(self) -> dict[str, Metric]:
        """The recoveries that its plan asks for, by their columns.

        Such as `recovery_of_iops_to_80_for_10s_ns`.
        """
        tests = self.plan.tests if self.plan else ()
        parts = (metric.recovery for test in tests for metric in test.metrics)
        metrics = [Metric(name="recovery", recovery=part) for part in parts if part]
        return {f"{m} ns".replace("%", "").replace(" ", "_"): m for m in metrics}

    def columns(self) -> Columns:
        cells = chain(
            (record.asked.cell for record in self.places),
            (run.cell_text for run in self.missing),
        )
        columns = columns_of(self.kind, dict.fromkeys(chain.from_iterable(cells)))
        recoveries = self.recoveries if self.kind == "runs" else ()
        return columns | dict.fromkeys(recoveries, float)

    def rows(self) -> Iterator[Row]:
        session = session_row(self.session)
        for record in self.records():
            place = session | place_row(record, self.counted)
            yield from (place | row for row in self._rows(record))
        session |= {"session": self.session.id, "backend": self.session.backend}
        session |= {"kind": "run", "status": NOT_MEASURED, "scope": "total"}
        for run in self.missing if self.kind == "runs" else ():
            yield session | missing_place(run)

    def _rows(self, record: RunRecord) -> Iterator[Row]:
        key = record.session, record.seq
        if self.kind == "phases":
            return phase_rows(record)
        if self.kind == "streams":
            return stream_rows(IntervalCounts(self.store.intervals(*key)))
        if self.kind == "series":
            return series_rows(self.store.detail(*key, with_histograms=False))
        return run_rows(record, self._event_costs(record))

    def _event_costs(self, record: RunRecord) -> Row:
        """What is not known, such as of a run that did not recover, has no value."""
        if not record.events:
            return {}
        sample = Sample(record, self.store.detail(record.session, record.seq))
        metrics = EVENT_COSTS | self.recoveries
        values = {n: figure(metric, [sample]).value for n, metric in metrics.items()}
        return {name: value for name, value in values.items() if value is not None}

    def json_lines(self) -> Iterable[str]:
        if self.kind != "runs":
            return super().json_lines()
        return (record.model_dump_json() for record in self.records())

    def json_members(self) -> Iterator[JsonMember]:
        yield "session", self.session.model_dump_json()
        windows = {test: asdict(w) for test, w in self.counted.windows.items()}
        yield "windows", json_text(windows)
        if self.kind != "runs":
            yield "series", self.json_lines()
            return
        yield "runs", self.json_lines()
        yield "not_measured", map(json_text, map(missing_place, self.missing))
        if self.detail:
            yield "details", self._details()

    def _details(self) -> Iterator[str]:
        for record in self.records():
            detail = self.store.detail(record.session, record.seq)
            yield json_text({"seq": record.seq, **detail.model_dump(mode="json")})


def export_sessions(
    sessions: Sequence[SessionOverview], format: str, out: BinaryIO
) -> None:
    """Write a list of sessions. Raises FormatError, ExportError."""
    write(SessionList(sessions), format, out)


LISTED = typed("""
    id plan plan_file target backend status started_at ended_at ioplan
    runs:int verdict held:int expected:int duration_s:float host_name person job
    drive serial model firmware lab_name wwid capacity_bytes:int tags note""")
"""`drive` is what people call it; tags have blanks between."""


class SessionList(Tabular, frozen=True):
    sessions: Sequence[SessionOverview]

    def columns(self) -> Columns:
        return LISTED

    def rows(self) -> Iterator[Row]:
        for session in self.sessions:
            own = {n: getattr(session, n) for n in LISTED if hasattr(session, n)}
            drive = (session.drive or Drive()).model_dump()
            tags = " ".join(session.tags)
            yield {**own, **drive, "drive": session.drive_name, "tags": tags}

    def json_members(self) -> Iterator[JsonMember]:
        yield "sessions", self.json_lines()
