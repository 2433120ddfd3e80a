"""From the store to a report's document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ioplan.core.model import slimmed
from ioplan.language.plan import CheckedPlan
from ioplan.records.current import current_records
from ioplan.records.record import RunRecord
from ioplan.records.session import Session
from ioplan.results.report.charts.defaults import absent
from ioplan.results.report.conformance.conformance import JudgedSession, conformance
from ioplan.results.report.documents import Document, FirstScreen, Section
from ioplan.results.report.facts import session_facts
from ioplan.results.report.first_screen import first_screen
from ioplan.results.report.reader import Reader
from ioplan.results.report.reported import Reported, reported
from ioplan.results.report.section import Most, sections
from ioplan.results.share.recorded_plan import recorded_plans
from ioplan.results.store.store import Store

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
