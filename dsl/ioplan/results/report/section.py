"""A section of a report: one test, over all sessions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from ioplan.core.grouping import grouped
from ioplan.core.text import counted
from ioplan.core.units import latency_text
from ioplan.language.plan import Test
from ioplan.language.replayed import questions
from ioplan.planner.places import NOT_MEASURED
from ioplan.planner.steps import Run
from ioplan.records.record import BEYOND, RunRecord
from ioplan.results.report.blocks import MOST_CARDS, Facts, Judged
from ioplan.results.report.charts.charts import pictures
from ioplan.results.report.charts.convergence import convergence, probe_pictures
from ioplan.results.report.charts.tables import ON, run_frame
from ioplan.results.report.documents import (
    DOUBTED,
    FAILED,
    STATUS,
    ChartSpec,
    Frame,
    Value,
)
from ioplan.results.report.facts import Reported, pts_header, workload
from ioplan.results.report.headlines.doubts import (
    MIXED,
    SIMULATED,
    Doubts,
    doubts_of,
    gravity,
)
from ioplan.results.report.headlines.headline import Headline
from ioplan.results.report.headlines.headlines import headlines
from ioplan.results.report.judgements import Judgement, judged_lines, worst_failures
from ioplan.results.report.many_sessions import first_lines
from ioplan.results.report.point import Point, figures_of, points
from ioplan.results.report.reader import Reader
from ioplan.results.report.remarks import ByLabel, remarks, text_kind
from ioplan.results.report.sentences import prepare_line

T = TypeVar("T")


class Section(Struct, frozen=True, dict=True):
    """One test in all sessions; only what is looked at is computed."""

    id: str
    title: str
    parts: list[Reported]
    reader: Reader

    @cached_property
    def plan(self) -> Test | None:
        """The test as the first session's plan has it."""
        plans = (part.plan for part in self.parts if part.plan)
        tests = (test for plan in plans for test in plan.tests)
        return next((test for test in tests if test.title == self.title), None)

    @property
    def plan_text(self) -> str:
        return self.plan.text if self.plan else ""

    @property
    def workload(self) -> str:
        return workload(self.plan)

    def _of_parts(self, read: Callable[[Reported], list[T]]) -> dict[str, list[T]]:
        """What is read of each session that has any of it."""
        by_label = ((part.label, read(part)) for part in self.parts)
        return {label: own for label, own in by_label if own}

    def records(self, *kinds: str) -> dict[str, list[RunRecord]]:
        return self._of_parts(lambda part: part.of(self.title, *kinds))

    @cached_property
    def measured(self) -> dict[str, list[RunRecord]]:
        return self.records("run")

    @cached_property
    def prepared(self) -> dict[str, list[RunRecord]]:
        return self.records("prepare")

    @cached_property
    def missing(self) -> dict[str, list[Run]]:
        """The cells that were not measured in each session that has any."""
        return self._of_parts(lambda part: part.missing_of(self.title))

    @cached_property
    def points(self) -> list[Point]:
        return points(self.measured, self.missing)

    @cached_property
    def by_label(self) -> dict[str, list[Point]]:
        return grouped(self.points, key=lambda point: point.dimensions["session"])

    @cached_property
    def doubts(self) -> dict[str, Doubts]:
        return {part.label: part.doubts for part in self.parts}

    def _against(self, point: Point) -> Iterator[str]:
        yield from self.doubts[point.dimensions["session"]].of(point)
        if not point.failed and self.reader.is_mixed(point.counted):
            yield MIXED

    @cached_property
    def runs(self) -> Frame:
        return run_frame(self.points, self.reader, self._against)

    @cached_property
    def signs(self) -> list[str]:
        every = chain.from_iterable(self.measured.values())
        return [*_signs([*self.runs.records()], _least_bound(every))]

    @cached_property
    def headlines(self) -> dict[str, tuple[Headline, ...]]:
        """Also of a session whose runs all failed, which has none."""
        return {
            label: headlines(own, self.reader, self.plan, self.doubts[label])
            for label, own in self.by_label.items()
        }

    @cached_property
    def judgements(self) -> list[Judgement]:
        return [*chain.from_iterable(self._judgements.values())]

    @cached_property
    def _judgements(self) -> dict[str, list[Judgement]]:
        return self._of_parts(lambda part: part.judged(self.title))

    @cached_property
    def judged(self) -> list[Judged]:
        return [*judged_lines(self._judgements)]

    @property
    def failures(self) -> list[Judged]:
        return [*worst_failures(self._judgements)]

    @cached_property
    def remarks(self) -> list[Judged]:
        return [*remarks(self.records("run", "prepare"), self.missing, self.reader)]

    @cached_property
    def pictures(self) -> list[ChartSpec]:
        return [*self.drawings()]

    def drawings(self) -> Iterator[ChartSpec]:
        """What the plan asks for, with the state of the drive; nothing that is empty
        and nobody asked for."""
        notes = tuple(self._state_notes())
        for chart in pictures(self.plan, self.points, self.reader):
            if chart.frame.rows or chart.line or chart.notes:
                yield replace(chart, notes=(*chart.notes, *notes))
        probes = self.records("probe")
        yield from probe_pictures(self.plan, probes, self.measured, self.reader)
        yield from convergence(self.points, [*_preparation_points(self.prepared)])

    @property
    def preparations(self) -> Sequence[str]:
        several = len(self.prepared) > 1
        lines = [
            f"{label}: " * several + prepare_line(run)
            for label, runs in self.prepared.items()
            for run in runs
        ]
        return first_lines(lines) if len(self.prepared) > MOST_CARDS else lines

    @property
    def against(self) -> Iterator[str]:
        """`client: not steady`; that all is simulated stands in titles."""
        for label, own in self.by_label.items():
            by_kind: dict[str, str] = {}
            for text in chain.from_iterable(map(self._against, own)):
                by_kind.setdefault(text_kind(text), text)
            if doubts := [text for text in by_kind.values() if text != SIMULATED]:
                yield f"{label}: " * (len(self.parts) > 1) + ", ".join(doubts)

    def _state_notes(self) -> Iterator[str]:
        """The state of a drive whose figures will not last."""
        several = len(self.parts) > 1
        for label, own in self.by_label.items():
            states = (point.runs[-1].state for point in own if point.runs)
            doubts = (state.doubt for state in states if state and state.doubt)
            if doubt := min(doubts, key=gravity, default=""):
                yield f"{label if several else 'state of the drive'}: {doubt}"

    @property
    def headers(self) -> list[Facts]:
        headers = (pts_header(part, self.title) for part in self.parts)
        return [header for header in headers if header][:MOST_CARDS]

    @property
    def counted(self) -> str:
        """`22 runs of 7 cells in 2 sessions, 3 rounds, 1 cell not measured`."""
        cells = {_cell(point) for point in self.points if point.runs}
        runs = counted(sum(map(len, self.measured.values())), "run")
        texts = [f"{runs} of {counted(len(cells), 'cell')}"]
        if len(self.measured) > 1:
            texts[0] += f" in {len(self.measured)} sessions"
        windows = (point.window for point in self.points)
        if last := max((window.last for window in windows if window), default=0):
            texts.append(counted(last, "round"))
        if missing := sum(not point.runs for point in self.points):
            texts.append(f"{counted(missing, 'cell')} {NOT_MEASURED}")
        return ", ".join(texts)

    @property
    def figures_of(self) -> str:
        """Which rounds the figures are of; empty without rounds."""
        rounds = figures_of(self.points)
        text = f"Figures are of {rounds}: rates are means, latencies of all I/Os"
        return text * bool(rounds)

    @property
    def answers(self) -> list[str]:
        runs = chain.from_iterable(self.measured.values())
        workloads = {run.asked.workload for run in runs}
        return [*questions(s for workload in workloads for s in workload.streams)]


def _cell(point: Point) -> tuple[tuple[str, str], ...]:
    """A point's axes, without its session and step."""
    names = point.dimensions.items()
    return tuple((n, text) for n, text in names if n not in ("session", "step"))


def _preparation_points(prepared: ByLabel) -> Iterator[Point]:
    """Each write that was to become steady stands by itself."""
    for label, records in prepared.items():
        for number, record in enumerate((r for r in records if r.steady), start=1):
            name = record.asked.after.name if record.asked.after else ""
            name += f" {number}" * (number > 1)
            yield Point({"session": label, "preparation": name}, [record])


# What the signs in a table of runs mean.


def _least_bound(runs: Iterable[RunRecord]) -> str:
    """The least latency of percentiles of which no more is known; empty without."""
    results = (result for run in runs for result in run.directions.values())
    latencies = (result.latency for result in results if result.latency)
    bounds = [p.latency_ns for own in latencies for p in own.percentiles if p.is_bound]
    return latency_text(min(bounds)) if bounds else ""


def _signs(every: Sequence[Mapping[str, Value]], bound: str) -> Iterator[str]:
    """What the signs in the rows of a table of runs mean."""
    rows = [row for row in every if row["iops"]]
    if any(row.get(STATUS.key, "ok") != "ok" for row in rows):
        yield f"{FAILED} failed or stopped: the figures are of what was done until then"
    counts = Counter(chain.from_iterable(map(doubts_of, rows)))
    if counts:
        doubts = (
            text if count == len(rows) else f"{text} ({counted(count, 'row')})"
            for text, count in counts.items()
        )
        yield f"{DOUBTED} not to be relied on: {', '.join(doubts)}"
    timed = [row for row in rows if row["mean"] is not None]
    if len(timed) < len(rows):
        yield "– of the latency: it was not measured"
    if any(row["p99"] is None or row["p99.9"] is None for row in timed):
        targets = (row for row in rows if str(row.get("scope", "")).startswith(ON))
        is_merged = any(row.get("runs", 1) != 1 for row in targets)
        merged = "; of a target, it is known of single runs" * is_merged
        least = f", or it is only known to be at least {bound}" * bool(bound)
        yield f"– fewer than {BEYOND} I/Os lie beyond this percentile{least}{merged}"
