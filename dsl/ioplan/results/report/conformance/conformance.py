"""Clause by clause, what the specification asks for and what a session did."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial

from msgspec import Struct

from ioplan.records.record import RunRecord
from ioplan.records.session import Session
from ioplan.results.report.conformance.clauses import CLAUSES, TITLES, Clause
from ioplan.results.report.conformance.tested import Finding, Outcome, Tested, claimed
from ioplan.results.store.store import Store

ORDER: tuple[Outcome, ...] = ("deviates", "not recorded", "done")


class Row(Struct, frozen=True):
    """A clause and what was done."""

    clause: Clause
    finding: Finding


class Conformance(Struct, frozen=True):
    """A test of the specification in one session."""

    label: str
    test: str
    rows: tuple[Row, ...]

    @property
    def title(self) -> str:
        """`SNIA PTS, IOPS (D1)`."""
        return f"SNIA PTS, {TITLES[self.test]} ({self.test})"

    @property
    def summary(self) -> str:
        """`1 deviates, 1 not recorded, 10 done`."""
        found = Counter(row.finding.outcome for row in self.rows)
        return ", ".join(f"{found[one]} {one}" for one in ORDER if found[one])

    @property
    def deviates(self) -> bool:
        """Whether any clause was not met."""
        return any(row.finding.outcome == "deviates" for row in self.rows)


class JudgedSession(Struct, frozen=True):
    """A session that is to be judged."""

    session: Session
    label: str
    records: Sequence[RunRecord]


def conformance(store: Store, judged: Sequence[JudgedSession]) -> Iterator[Conformance]:
    """The conformance of each test that a session claims. Raises StoreError.

    What another one has measured of a test on the same target, without rounds, counts
    as its continuation.
    """
    found = [
        (one.label, name, tested)
        for one in judged
        for name, tested in _claimed(store, one).items()
    ]
    tables = {(name, t.target): t for _, name, t in found if t.has_rounds}
    for _, name, tested in found:
        table = tables.get((name, tested.target), tested)
        if not tested.has_rounds and table is not tested:
            table.continue_with(tested)
    for label, name, tested in found:
        if tested.has_rounds or (name, tested.target) not in tables:
            rows = (Row(clause, clause.check(tested)) for clause in CLAUSES[name])
            yield Conformance(label, name, tuple(rows))


def _claimed(store: Store, one: JudgedSession) -> dict[str, Tested]:
    id = one.session.id
    events, detail = partial(store.events, id), partial(store.detail, id)
    return claimed(one.session, one.records, events, detail)
