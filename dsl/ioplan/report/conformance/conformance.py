"""Clause by clause, what the specification asks for and what a session did."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial

from ioplan.core.value import Value
from ioplan.records.record import RunRecord
from ioplan.records.session import Session
from ioplan.report.conformance.clauses import CLAUSES, TITLES, Clause
from ioplan.report.conformance.tested import Finding, Outcome, claimed
from ioplan.store.store import Store

ORDER: tuple[Outcome, ...] = ("deviates", "not recorded", "done")


class Row(Value):
    """A clause and what was done."""

    clause: Clause
    finding: Finding


class Conformance(Value):
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


def conformance(
    store: Store, session: Session, label: str, records: Sequence[RunRecord]
) -> Iterator[Conformance]:
    """Of each test that the session claims. Raises StoreError."""

    events = partial(store.events, session.id)
    tests = claimed(session, records, events, partial(store.detail, session.id))
    for name, tested in tests.items():
        rows = (Row(clause, clause.check(tested)) for clause in CLAUSES[name])
        yield Conformance(label, name, tuple(rows))
