"""From the store to a report's document."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice

from msgspec.structs import replace

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
from ioplan.results.report.burst_credits import credits
from ioplan.results.report.charts.charts import pictures
from ioplan.results.report.charts.convergence import convergence
from ioplan.results.report.charts.defaults import absent
from ioplan.results.report.charts.probes import probe_pictures
from ioplan.results.report.charts.tables import ON, run_frame
from ioplan.results.report.conformance.conformance import (
    Conformance,
    JudgedSession,
    conformance,
)
from ioplan.results.report.documents import (
    AGAINST,
    DOUBTED,
    FAILED,
    STATUS,
    Document,
    Facts,
    FirstScreen,
    Frame,
    Judged,
    Section,
    Value,
)
from ioplan.results.report.first_screen import first_screen
from ioplan.results.report.header import pts_header, session_facts
from ioplan.results.report.headlines.doubts import (
    OF_TITLES,
    SIMULATED,
    Doubts,
)
from ioplan.results.report.headlines.headline import Headline
from ioplan.results.report.headlines.headlines import headlines
from ioplan.results.report.many_sessions import MOST_CARDS, first_lines
from ioplan.results.report.point import Point, figures_of, points
from ioplan.results.report.power_cuts import survived
from ioplan.results.report.reader import Reader
from ioplan.results.report.reported import Reported, reported
from ioplan.results.report.sentences import prepare_line
from ioplan.results.report.source import source, workload
from ioplan.results.report.verdicts import NUMBER, judged_lines, remarks, steadiness
from ioplan.results.share.recorded_plan import recorded_plans
from ioplan.results.store.store import Store

ByLabel = Mapping[str, Doubts]
Most = tuple[int | None, int | None]
"""The most cells in a table of runs, and the most pictures of a section."""


def document(
    store: Store,
    sessions: Sequence[Session],
    plans: Mapping[str, CheckedPlan | None],
    made: str,
) -> Document:
    """The report of sessions; `plans` has each one's plan, where it is still one.

    `made` says when and by what. Raises StoreError.
    """
    each = ([*map(slimmed, store.records(session.id))] for session in sessions)
    records = [*map(current_records, each)]
    parts = reported(sessions, records, plans)
    everything = [record for part in parts for record in part.records]
    sections = tuple(_sections(parts, Reader(store)))
    return Document(
        screen=first_screen(parts, sections),
        made=made,
        sessions=tuple(session_facts(p.label, p.session, p.records) for p in parts),
        sections=sections,
        absent=absent(everything),
        sources=tuple(source(p.label, p.session, p.records) for p in parts),
        conformance=tuple(_conformance(store, parts)),
    )


def _conformance(store: Store, parts: Sequence[Reported]) -> Iterator[Conformance]:
    judged = [JudgedSession(part.session, part.label, part.records) for part in parts]
    return conformance(store, judged)


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
    found = current_records(records)
    (part,) = reported([session], [found], {session.id: plan})
    sections = [*_sections([part], Reader(store), (most_cells, most_pictures))]
    return sections, first_screen([part], sections)


def sessions_screen(store: Store, sessions: Sequence[Session]) -> FirstScreen:
    """The first screen of several sessions. Raises StoreError."""
    each = ([*map(slimmed, store.records(session.id))] for session in sessions)
    records = [*map(current_records, each)]
    parts = reported(sessions, records, recorded_plans(sessions))
    return first_screen(parts, [*_sections(parts, Reader(store), (0, 0))])


def _sections(
    parts: list[Reported], reader: Reader, most: Most = (None, None)
) -> Iterator[Section]:
    """A section for each test, in the order of the plan, or else of the runs."""
    planned = (run.test.title for part in parts for run in part.places.values())
    run = (r.asked.test for part in parts for r in part.records)
    titles = dict.fromkeys(chain(planned, run))
    for number, title in enumerate(titles, start=1):
        yield _section(number, title, parts, reader, most)


def _section(
    number: int,
    title: str,
    parts: list[Reported],
    reader: Reader,
    most: Most,
) -> Section:
    most_cells, most_pictures = most
    test = _test(title, parts)
    runs = _by_label(title, parts, ("run",))
    measured = {r.asked.workload for r in chain.from_iterable(runs.values())}
    prepared = _by_label(title, parts, ("prepare",))
    both = _by_label(title, parts, ("run", "prepare"))
    missing = _missing(title, parts)
    found = points(runs, missing)
    known = {part.label: part.doubts for part in parts}
    frame = run_frame(found[:most_cells], reader, lambda one: _against(one, known))
    judged = {part.label: part.judged(title) for part in parts}
    notes = tuple(_state_notes(found, len(parts) > 1))
    drawn = tuple(
        replace(one, notes=(*one.notes, *notes))
        for one in islice(pictures(test, found, reader), most_pictures)
        if one.frame.rows or one.line or one.notes  # nobody asked for what is empty
    )
    others = chain(
        probe_pictures(test, _by_label(title, parts, ("probe",)), runs, reader),
        convergence(found, _preparation_points(prepared)),
    )
    return Section(
        id=f"test-{number}",
        title=title,
        plan_text=test.text if test else "",
        workload=workload(test),
        points=tuple(found),
        headlines=_headlines(found, reader, test, known),
        judgements=tuple(chain.from_iterable(judged.values())),
        judged=judged_lines({label: some for label, some in judged.items() if some}),
        remarks=(
            *_not_measured(missing),
            *survived(both),
            *credits(both, reader),
            *steadiness(both),
            *remarks(both),
        ),
        preparations=_preparations(prepared),
        headers=tuple(_headers(title, parts)),
        pictures=tuple(islice(chain(drawn, others), most_pictures)),
        runs=frame,
        counted=_counted(found, runs),
        figures_of=_figures_of(found),
        signs=tuple(_signs(frame, _bounds_of(chain.from_iterable(runs.values())))),
        against=tuple(_all_against(found, known)),
        answers=tuple(questions(stream for run in measured for stream in run.streams)),
    )


def _headlines(
    found: list[Point], reader: Reader, test: Test | None, known: ByLabel
) -> dict[str, tuple[Headline, ...]]:
    by_label: dict[str, list[Point]] = {}
    for point in found:
        by_label.setdefault(point.dimensions["session"], []).append(point)
    return {
        label: headlines(some, reader, test, known[label])
        for label, some in by_label.items()
    }


def _against(point: Point, known: ByLabel) -> Iterator[str]:
    return known[point.dimensions["session"]].of(point)


def _all_against(found: list[Point], known: ByLabel) -> Iterator[str]:
    """`client: not steady`; that all is simulated stands in titles."""
    texts: dict[str, dict[str, str]] = {}
    for point in found:
        told = dict.fromkeys(_against(point, known))
        known_kinds = texts.setdefault(point.dimensions["session"], {})
        for text in told:
            known_kinds.setdefault(NUMBER.sub("0", text), text)
    for label, some in texts.items():
        if doubts := [text for text in some.values() if text != SIMULATED]:
            yield (f"{label}: " if len(known) > 1 else "") + ", ".join(doubts)


def _state_notes(found: list[Point], is_labelled: bool) -> Iterator[str]:
    """What the drive's state is, where the figures of a picture are none that last."""
    seen: dict[str, str] = {}
    for point in found:
        state = point.runs[-1].state if point.runs else None
        if state and state.doubt:
            seen.setdefault(point.dimensions["session"], state.doubt)
    for label, text in seen.items():
        yield (f"{label}: " if is_labelled else "state of the drive: ") + text


def _test(title: str, parts: list[Reported]) -> Test | None:
    """The test as the first session's plan has it."""
    tests = [t for part in parts if part.plan for t in part.plan.tests]
    return next((test for test in tests if test.title == title), None)


def _by_label(
    title: str, parts: list[Reported], kinds: tuple[str, ...]
) -> dict[str, list[RunRecord]]:
    """The records of a test in each session that has any."""
    found = {part.label: part.of(title, *kinds) for part in parts}
    return {label: records for label, records in found.items() if records}


def _missing(title: str, parts: list[Reported]) -> dict[str, list[Run]]:
    """The cells of a test that were not measured in each session that has any."""
    found = {p.label: [r for r in p.missing if r.test.title == title] for p in parts}
    return {label: runs for label, runs in found.items() if runs}


def _not_measured(missing: Mapping[str, Sequence[Run]]) -> Iterator[Judged]:
    """A line on each session."""
    for label, runs in missing.items():
        where = f"{label}: " if len(missing) > 1 else ""
        text = f"{where}{NOT_MEASURED}: {counted(len(runs), 'cell')}"
        yield Judged(NOT_MEASURED, text)


def _preparations(prepared: Mapping[str, Sequence[RunRecord]]) -> tuple[str, ...]:
    several = len(prepared) > 1
    lines = [
        f"{label}: {prepare_line(record)}" if several else prepare_line(record)
        for label, records in prepared.items()
        for record in records
    ]
    return first_lines(lines) if len(prepared) > MOST_CARDS else tuple(lines)


def _preparation_points(
    prepared: Mapping[str, Sequence[RunRecord]],
) -> list[Point]:
    """Each write that was to become steady stands by itself."""
    return [
        Point({"session": label, "preparation": _name(record, number)}, [record])
        for label, records in prepared.items()
        for number, record in enumerate(r for r in records if r.steady)
    ]


def _name(record: RunRecord, number: int) -> str:
    name = record.asked.after.name if record.asked.after else ""
    return f"{name} {number + 1}" if number else name


def _headers(title: str, parts: list[Reported]) -> list[Facts]:
    found = (
        pts_header(p.label, p.session, p.of(title, "run"), p.of(title, "prepare"))
        for p in parts
    )
    return [header for header in found if header][:MOST_CARDS]


def _counted(found: list[Point], runs: Mapping[str, Sequence[RunRecord]]) -> str:
    """`22 runs of 7 cells, 3 rounds`."""
    apart = {"session", "step"}
    cells = {
        tuple((n, t) for n, t in point.dimensions.items() if n not in apart)
        for point in found
        if point.runs
    }
    text = f"{counted(sum(map(len, runs.values())), 'run')} of "
    text += counted(len(cells), "cell")
    if len(runs) > 1:
        text += f" in {len(runs)} sessions"
    if last := max((p.window.last for p in found if p.window), default=0):
        text += f", {counted(last, 'round')}"
    missing = sum(not point.runs for point in found)
    return text + (f", {counted(missing, 'cell')} {NOT_MEASURED}" if missing else "")


def _figures_of(found: list[Point]) -> str:
    rounds = figures_of(found)
    return f"Figures are of {rounds}: rates are means, latencies of all I/Os" * bool(
        rounds
    )


def _bounds_of(runs: Iterable[RunRecord]) -> str:
    """The least latency of percentiles of which no more is known; empty without."""
    latencies = (one.latency for run in runs for one in run.directions.values())
    found = [p for one in latencies if one for p in one.percentiles if p.is_bound]
    return latency_text(min(p.latency_ns for p in found)) if found else ""


def _signs(frame: Frame, bound: str = "") -> Iterator[str]:
    """What the signs in a table of runs mean, where it has them."""
    rows = [row for row in frame.records() if row["iops"]]
    if any(row.get(STATUS.key, "ok") != "ok" for row in rows):
        yield f"{FAILED} failed or stopped: the figures are of what was done until then"
    if any(_is_doubted(row) for row in rows):
        yield f"{DOUBTED} not to be relied on: {', '.join(_doubts_in(rows))}"
    timed = [row for row in rows if row["mean"] is not None]
    if len(timed) < len(rows):
        yield "– of the latency: it was not measured"
    if any(row["p99"] is None or row["p99.9"] is None for row in timed):
        merged = "; of a target, it is known of single runs" * any(
            map(_is_merged, rows)
        )
        least = f", or it is only known to be at least {bound}" * bool(bound)
        yield f"– fewer than {BEYOND} I/Os lie beyond this percentile{least}{merged}"


def _is_merged(row: Mapping[str, Value]) -> bool:
    """Whether it is of a target in several runs, whose histograms are of all."""
    return str(row.get("scope", "")).startswith(ON) and row.get("runs", 1) != 1


def _is_doubted(row: Mapping[str, Value]) -> bool:
    return any(text not in OF_TITLES for text in _texts(row))


def _doubts_in(rows: Sequence[Mapping[str, Value]]) -> Iterator[str]:
    texts = (text for row in rows for text in _texts(row))
    found = Counter(text for text in texts if text not in OF_TITLES)
    for text, count in found.items():
        yield text if count == len(rows) else f"{text} ({counted(count, 'row')})"


def _texts(row: Mapping[str, Value]) -> list[str]:
    return [one for one in str(row.get(AGAINST.key) or "").split(", ") if one]
