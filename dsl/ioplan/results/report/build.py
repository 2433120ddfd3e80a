"""From the store to a report's document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from operator import attrgetter

from msgspec import Struct

from ioplan.core.model import slimmed
from ioplan.language.plan import FULL, CheckedPlan
from ioplan.records.current import current_records
from ioplan.records.record import RunRecord
from ioplan.records.session import Session
from ioplan.results.report.blocks import MARK, Facts, FirstScreen, Judged, Line, Table
from ioplan.results.report.charts.charts import absent
from ioplan.results.report.conformance.conformance import Conformance, conformance
from ioplan.results.report.documents import ChartSpec
from ioplan.results.report.facts import Reported, Source, reported, session_facts
from ioplan.results.report.first_screen import first_screen
from ioplan.results.report.headlines.headlines import best_of
from ioplan.results.report.reader import Reader
from ioplan.results.report.section import Section
from ioplan.results.share.recorded_plan import recorded_plans
from ioplan.results.store.store import Store

OF_STORE = attrgetter("headlines", "runs", "remarks", "pictures")
"""What of a section reads the store."""
Plans = Mapping[str, CheckedPlan | None]
"""The plan of each session by its id, where it is still one."""


class Document(Struct, frozen=True):
    """A whole report. `sessions` has a row for each session, under its label.

    `sources` has what its pictures name of each. `conformance` is what each has done
    of the tests of SNIA's specification that it claims, `compared` the judgement of
    two sides. `blocks` are what is no test.
    """

    screen: FirstScreen
    made: str
    sessions: tuple[Facts, ...] = ()
    sections: tuple[Section, ...] = ()
    absent: tuple[str, ...] = ()
    sources: tuple[Source, ...] = ()
    conformance: tuple[Conformance, ...] = ()
    compared: tuple[Judged, ...] = ()
    blocks: tuple[Line | Table | ChartSpec, ...] = ()


def document(
    store: Store, sessions: Sequence[Session], plans: Plans, made: str
) -> Document:
    """The report of sessions; `made` says when and by what. Raises StoreError."""
    parts = _parts(store, sessions, plans)
    tests = _sections(parts, store)
    for test in tests:
        OF_STORE(test)
    return Document(
        screen=first_screen(parts, tests),
        made=made,
        sessions=tuple(map(session_facts, parts)),
        sections=tests,
        absent=absent([record for part in parts for record in part.records]),
        sources=tuple(part.source for part in parts),
        conformance=tuple(conformance(store, parts)),
    )


def session_sections(
    store: Store,
    session: Session,
    records: Sequence[RunRecord],
    plan: CheckedPlan | None,
) -> tuple[tuple[Section, ...], FirstScreen]:
    """The sections of some records of one session, and its first screen.

    Both may raise StoreError when they are looked at.
    """
    parts = reported([session], [current_records(records)], {session.id: plan})
    tests = _sections(parts, store)
    return tests, first_screen(parts, tests)


def sessions_screen(store: Store, sessions: Sequence[Session]) -> FirstScreen:
    """The first screen of several sessions. Raises StoreError."""
    parts = _parts(store, sessions, recorded_plans(sessions))
    return first_screen(parts, _sections(parts, store))


def summary_text(store: Store, session: Session) -> str:
    """`451k IOPS, 11.3 us ▲, profile smoke`, with a mark beside what must not be relied
    on; empty without figures. Raises StoreError."""
    (part,) = parts = _parts(store, [session], {})
    by_label = chain.from_iterable(
        s.headlines.values() for s in _sections(parts, store)
    )
    best = best_of(chain.from_iterable(by_label))
    texts = [h.figure + f" {MARK}" * bool(h.doubts) for h in best]
    profiles = dict.fromkeys(record.asked.profile for record in part.records)
    named = (f"profile {name}" for name in profiles if texts and name != FULL)
    return ", ".join((*texts, *named))


def _sections(parts: list[Reported], store: Store) -> tuple[Section, ...]:
    """A section for each test, in the order of the plan, or else of the runs."""
    planned = (run.test.title for part in parts for run in part.places.values())
    measured = (record.asked.test for part in parts for record in part.records)
    titles, reader = dict.fromkeys(chain(planned, measured)), Reader(store)
    return tuple(
        Section(f"test-{number}", title, parts, reader)
        for number, title in enumerate(titles, start=1)
    )


def _parts(store: Store, sessions: Sequence[Session], plans: Plans) -> list[Reported]:
    stored = ([*map(slimmed, store.records(session.id))] for session in sessions)
    return reported(sessions, [*map(current_records, stored)], plans)
