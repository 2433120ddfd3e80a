"""From the store to a report: a section for each test, over all sessions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain, islice

from msgspec import Struct
from msgspec.structs import replace

from ioplan.core.grouping import grouped
from ioplan.core.model import slimmed
from ioplan.core.text import counted
from ioplan.core.units import latency_text
from ioplan.language.plan import CheckedPlan, Test
from ioplan.language.replayed import questions
from ioplan.planner.places import NOT_MEASURED
from ioplan.planner.steps import Run
from ioplan.records.current import current_records
from ioplan.records.record import BEYOND, RunRecord
from ioplan.records.session import Session
from ioplan.results.report.blocks import MOST_CARDS, Facts
from ioplan.results.report.charts.charts import pictures
from ioplan.results.report.charts.convergence import convergence
from ioplan.results.report.charts.defaults import absent
from ioplan.results.report.charts.probes import probe_pictures
from ioplan.results.report.charts.tables import ON, run_frame
from ioplan.results.report.conformance.conformance import JudgedSession, conformance
from ioplan.results.report.documents import (
    AGAINST,
    DOUBTED,
    FAILED,
    STATUS,
    ChartSpec,
    Document,
    FirstScreen,
    Frame,
    Section,
    Value,
)
from ioplan.results.report.facts import (
    Reported,
    pts_header,
    reported,
    session_facts,
    workload,
)
from ioplan.results.report.first_screen import first_screen
from ioplan.results.report.headlines.doubts import OF_TITLES, SIMULATED
from ioplan.results.report.headlines.headline import Headline
from ioplan.results.report.headlines.headlines import headlines
from ioplan.results.report.judgements import judged_lines
from ioplan.results.report.many_sessions import first_lines
from ioplan.results.report.point import Point, figures_of, points
from ioplan.results.report.reader import Reader
from ioplan.results.report.remarks import ByLabel, remarks, text_kind
from ioplan.results.report.sentences import prepare_line
from ioplan.results.share.recorded_plan import recorded_plans
from ioplan.results.store.store import Store


class Most(Struct, frozen=True):
    """The most cells in a table of runs, and the most pictures of a section."""

    cells: int | None = None
    pictures: int | None = None


EVERYTHING = Most()


def sections(
    parts: list[Reported], reader: Reader, most: Most = EVERYTHING
) -> Iterator[Section]:
    """A section for each test, in the order of the plan, or else of the runs."""
    planned = (run.test.title for part in parts for run in part.places.values())
    measured = (record.asked.test for part in parts for record in part.records)
    for number, title in enumerate(dict.fromkeys(chain(planned, measured)), start=1):
        yield _Test(title, parts, reader, most).section(number)


class _Test(Struct, frozen=True, dict=True):
    """The records of one test in all sessions."""

    title: str
    parts: list[Reported]
    reader: Reader
    most: Most

    def section(self, number: int) -> Section:
        judged = {part.label: part.judged(self.title) for part in self.parts}
        both = self.records("run", "prepare")
        return Section(
            id=f"test-{number}",
            title=self.title,
            plan_text=self.plan.text if self.plan else "",
            workload=workload(self.plan),
            points=tuple(self.points),
            headlines=self._headlines(),
            judgements=tuple(chain.from_iterable(judged.values())),
            judged=tuple(judged_lines({k: own for k, own in judged.items() if own})),
            remarks=tuple(remarks(both, self.missing, self.reader)),
            preparations=tuple(self._preparations()),
            headers=tuple(self._headers()),
            pictures=tuple(islice(self._pictures(), self.most.pictures)),
            runs=self.table,
            counted=self._counted(),
            figures_of=self._figures_of(),
            signs=tuple(_signs(self.table, _least_bound(self._all_runs()))),
            against=tuple(self._doubt_lines()),
            answers=tuple(self._answers()),
        )

    @cached_property
    def plan(self) -> Test | None:
        """The test as the first session's plan has it."""
        plans = (part.plan for part in self.parts if part.plan)
        tests = (test for plan in plans for test in plan.tests)
        return next((test for test in tests if test.title == self.title), None)

    def records(self, *kinds: str) -> dict[str, list[RunRecord]]:
        """The records of some kinds in each session that has any."""
        by_label = {part.label: part.of(self.title, *kinds) for part in self.parts}
        return {label: records for label, records in by_label.items() if records}

    @cached_property
    def runs(self) -> dict[str, list[RunRecord]]:
        return self.records("run")

    @cached_property
    def prepared(self) -> dict[str, list[RunRecord]]:
        return self.records("prepare")

    @cached_property
    def missing(self) -> dict[str, list[Run]]:
        """The cells that were not measured in each session that has any."""
        by_label = {
            part.label: [run for run in part.missing if run.test.title == self.title]
            for part in self.parts
        }
        return {label: runs for label, runs in by_label.items() if runs}

    @cached_property
    def points(self) -> list[Point]:
        return points(self.runs, self.missing)

    @cached_property
    def table(self) -> Frame:
        shown = self.points[: self.most.cells]
        return run_frame(shown, self.reader, self._doubts)

    @cached_property
    def _parts(self) -> dict[str, Reported]:
        return {part.label: part for part in self.parts}

    def _doubts(self, point: Point) -> Iterator[str]:
        return self._parts[point.dimensions["session"]].doubts.of(point)

    def _all_runs(self) -> Iterator[RunRecord]:
        return chain.from_iterable(self.runs.values())

    def _headlines(self) -> dict[str, tuple[Headline, ...]]:
        """Also of a session whose runs all failed, which has none."""
        by_label = grouped(self.points, key=lambda point: point.dimensions["session"])
        return {
            label: headlines(own, self.reader, self.plan, self._parts[label].doubts)
            for label, own in by_label.items()
        }

    def _pictures(self) -> Iterator[ChartSpec]:
        """What the plan asks for, with the state of the drive; nothing that is empty
        and nobody asked for."""
        notes = tuple(self._state_notes())
        drawn = pictures(self.plan, self.points, self.reader)
        for chart in islice(drawn, self.most.pictures):
            if chart.frame.rows or chart.line or chart.notes:
                yield replace(chart, notes=(*chart.notes, *notes))
        probes = self.records("probe")
        yield from probe_pictures(self.plan, probes, self.runs, self.reader)
        yield from convergence(self.points, _preparation_points(self.prepared))

    def _preparations(self) -> Sequence[str]:
        count, lines = len(self.prepared), list[str]()
        for label, runs in self.prepared.items():
            where = f"{label}: " if count > 1 else ""
            lines += (where + prepare_line(run) for run in runs)
        return first_lines(lines) if count > MOST_CARDS else lines

    def _doubt_lines(self) -> Iterator[str]:
        """`client: not steady`; that all is simulated stands in titles."""
        texts: dict[str, dict[str, str]] = {}
        for point in self.points:
            by_kind = texts.setdefault(point.dimensions["session"], {})
            for text in self._doubts(point):
                by_kind.setdefault(text_kind(text), text)
        for label, by_kind in texts.items():
            if doubts := [text for text in by_kind.values() if text != SIMULATED]:
                where = f"{label}: " if len(self.parts) > 1 else ""
                yield where + ", ".join(doubts)

    def _state_notes(self) -> Iterator[str]:
        """The state of a drive whose figures will not last."""
        doubts: dict[str, str] = {}
        for point in self.points:
            state = point.runs[-1].state if point.runs else None
            if state and state.doubt:
                doubts.setdefault(point.dimensions["session"], state.doubt)
        for label, text in doubts.items():
            yield f"{label if len(self.parts) > 1 else 'state of the drive'}: {text}"

    def _headers(self) -> list[Facts]:
        headers = (
            pts_header(
                part.label,
                part.session,
                part.of(self.title, "run"),
                part.of(self.title, "prepare"),
            )
            for part in self.parts
        )
        return [header for header in headers if header][:MOST_CARDS]

    def _counted(self) -> str:
        """`22 runs of 7 cells in 2 sessions, 3 rounds, 1 cell not measured`."""
        cells = {_cell(point) for point in self.points if point.runs}
        runs = counted(sum(map(len, self.runs.values())), "run")
        texts = [f"{runs} of {counted(len(cells), 'cell')}"]
        if len(self.runs) > 1:
            texts[0] += f" in {len(self.runs)} sessions"
        windows = (point.window for point in self.points)
        if last := max((window.last for window in windows if window), default=0):
            texts.append(counted(last, "round"))
        if missing := sum(not point.runs for point in self.points):
            texts.append(f"{counted(missing, 'cell')} {NOT_MEASURED}")
        return ", ".join(texts)

    def _figures_of(self) -> str:
        rounds = figures_of(self.points)
        text = f"Figures are of {rounds}: rates are means, latencies of all I/Os"
        return text * bool(rounds)

    def _answers(self) -> list[str]:
        workloads = {run.asked.workload for run in self._all_runs()}
        return [*questions(s for workload in workloads for s in workload.streams)]


def _cell(point: Point) -> tuple[tuple[str, str], ...]:
    """A point's axes, without its session and step."""
    names = point.dimensions.items()
    return tuple((n, text) for n, text in names if n not in ("session", "step"))


def _preparation_points(prepared: ByLabel) -> list[Point]:
    """Each write that was to become steady stands by itself."""
    return [
        Point({"session": label, "preparation": _name(record, number)}, [record])
        for label, records in prepared.items()
        for number, record in enumerate(r for r in records if r.steady)
    ]


def _name(record: RunRecord, number: int) -> str:
    name = record.asked.after.name if record.asked.after else ""
    return f"{name} {number + 1}" if number else name


# What the signs in a table of runs mean.


def _least_bound(runs: Iterable[RunRecord]) -> str:
    """The least latency of percentiles of which no more is known; empty without."""
    results = (result for run in runs for result in run.directions.values())
    latencies = (result.latency for result in results if result.latency)
    bounds = [p.latency_ns for own in latencies for p in own.percentiles if p.is_bound]
    return latency_text(min(bounds)) if bounds else ""


def _signs(frame: Frame, bound: str = "") -> Iterator[str]:
    """What the signs in a table of runs mean, where it has them."""
    rows = [row for row in frame.records() if row["iops"]]
    if any(row.get(STATUS.key, "ok") != "ok" for row in rows):
        yield f"{FAILED} failed or stopped: the figures are of what was done until then"
    if doubts := list(_doubts_in(rows)):
        yield f"{DOUBTED} not to be relied on: {', '.join(doubts)}"
    timed = [row for row in rows if row["mean"] is not None]
    if len(timed) < len(rows):
        yield "– of the latency: it was not measured"
    if any(row["p99"] is None or row["p99.9"] is None for row in timed):
        is_merged = any(map(_is_merged, rows))
        merged = "; of a target, it is known of single runs" * is_merged
        least = f", or it is only known to be at least {bound}" * bool(bound)
        yield f"– fewer than {BEYOND} I/Os lie beyond this percentile{least}{merged}"


def _is_merged(row: Mapping[str, Value]) -> bool:
    """Whether it is of a target in several runs, whose histograms are of all."""
    return str(row.get("scope", "")).startswith(ON) and row.get("runs", 1) != 1


def _doubts_in(rows: Sequence[Mapping[str, Value]]) -> Iterator[str]:
    texts = (
        text for row in rows for text in str(row.get(AGAINST.key) or "").split(", ")
    )
    counts = Counter(text for text in texts if text not in OF_TITLES)
    for text, count in counts.items():
        yield text if count == len(rows) else f"{text} ({counted(count, 'row')})"


# From the store to a report's document.

Plans = Mapping[str, CheckedPlan | None]
"""The plan of each session by its id, where it is still one."""


def document(
    store: Store, sessions: Sequence[Session], plans: Plans, made: str
) -> Document:
    """The report of sessions; `made` says when and by what. Raises StoreError."""
    parts = _parts(store, sessions, plans)
    tests = tuple(sections(parts, Reader(store)))
    judged = [JudgedSession(part.session, part.label, part.records) for part in parts]
    return Document(
        screen=first_screen(parts, tests),
        made=made,
        sessions=tuple(session_facts(p.label, p.session, p.records) for p in parts),
        sections=tests,
        absent=absent([record for part in parts for record in part.records]),
        sources=tuple(part.source for part in parts),
        conformance=tuple(conformance(store, judged)),
    )


def session_sections(
    store: Store,
    session: Session,
    records: Sequence[RunRecord],
    plan: CheckedPlan | None,
    most_cells: int | None = None,
    most_pictures: int | None = None,
) -> tuple[list[Section], FirstScreen]:
    """The sections of some records of one session, and its first screen.

    Their tables of runs have at most so many cells, and each section has at most so
    many pictures. Raises StoreError.
    """
    parts = reported([session], [current_records(records)], {session.id: plan})
    tests = [*sections(parts, Reader(store), Most(most_cells, most_pictures))]
    return tests, first_screen(parts, tests)


def sessions_screen(store: Store, sessions: Sequence[Session]) -> FirstScreen:
    """The first screen of several sessions. Raises StoreError."""
    parts = _parts(store, sessions, recorded_plans(sessions))
    return first_screen(parts, [*sections(parts, Reader(store), Most(0, 0))])


def _parts(store: Store, sessions: Sequence[Session], plans: Plans) -> list[Reported]:
    stored = ([*map(slimmed, store.records(session.id))] for session in sessions)
    return reported(sessions, [*map(current_records, stored)], plans)
