"""Clause by clause, what SNIA's Performance Test Specification asks and what was done.

From the public text of version 2.0 and implementations of it. `clauses.json` names its
clauses by their test and requirement; numbers of sections are not given, as they differ
between the enterprise, client and common texts. A clause there is its name, what it
asks, its check, why that fails where the check does not say it, and its arguments.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from importlib.resources import files
from typing import Any

from msgspec import Struct

from ioplan.core.grouping import grouped
from ioplan.results.report.blocks import Judged, Line, Table, Text, Tone
from ioplan.results.report.conformance import checks
from ioplan.results.report.conformance.tested import ORDER, Finding, Outcome, Tested
from ioplan.results.report.facts import Reported
from ioplan.results.store.store import Store


class Clause(Struct, frozen=True):
    """A requirement of a test, what checks it, and why that would fail."""

    name: str
    asks: str
    check: str
    why: str
    arguments: tuple[Any, ...]

    def judge(self, tested: Tested) -> Finding:
        check: checks.Check = getattr(checks, self.check)
        is_met, what, *why = check(tested, *self.arguments)
        if is_met:
            return Finding("done", what)
        outcome: Outcome = "not recorded" if is_met is None else "deviates"
        return Finding(outcome, what, checks.reasons(*why) or self.why)


TESTS = json.loads(
    (files("ioplan.results.report.conformance") / "clauses.json").read_text("utf-8")
)
SHARED = TESTS.pop("shared")
CLAUSES = {
    test: [
        Clause(name, asks, check, why, tuple(arguments))
        for name, asks, check, why, *arguments in (
            SHARED[row] if isinstance(row, str) else row for row in of["clauses"]
        )
    ]
    for test, of in TESTS.items()
}
CLAIM = re.compile(r"\b(PTS|SNIA)\b", re.IGNORECASE)
"""A plan claims the specification by its title, or by that of a test."""


TONES: dict[Outcome, Tone] = {
    "deviates": "bad",
    "not recorded": "warning",
    "done": "good",
}


class Row(Struct, frozen=True):
    clause: Clause
    finding: Finding

    @property
    def cells(self) -> tuple[Text, ...]:
        outcome = self.finding.outcome
        done = "; ".join(filter(None, (self.finding.what, self.finding.why)))
        texts = Text(self.clause.name, "strong"), Text(self.clause.asks), Text(done)
        return Text(outcome, TONES[outcome]), *texts


class Conformance(Struct, frozen=True):
    """A test of the specification in one session."""

    label: str
    test: str
    rows: tuple[Row, ...]

    @property
    def title(self) -> str:
        """`SNIA PTS, IOPS (D1)`."""
        return f"SNIA PTS, {TESTS[self.test]['title']} ({self.test})"

    @property
    def summary(self) -> str:
        """`1 deviates, 1 not recorded, 10 done`."""
        counts = Counter(row.finding.outcome for row in self.rows)
        return ", ".join(f"{counts[name]} {name}" for name in ORDER if counts[name])

    @property
    def deviates(self) -> bool:
        return any(row.finding.outcome == "deviates" for row in self.rows)

    @property
    def blocks(self) -> tuple[Line | Table, ...]:
        """A row a clause, with the reason of what was not done: deviations first."""
        rows = sorted(self.rows, key=lambda row: ORDER.index(row.finding.outcome))
        summary = Judged("failed" if self.deviates else "held", self.summary)
        headings = "outcome", "clause", "is asked", "was done"
        table = Table("", headings, tuple(row.cells for row in rows))
        return Text(f"{self.title}: {self.label}", "strong"), summary, table


def conformance(store: Store, parts: Sequence[Reported]) -> Iterator[Conformance]:
    """The conformance of each test that a session claims. Raises StoreError.

    What another one has measured of a test on the same target, without rounds, counts
    as its continuation.
    """
    tests = [
        (part.label, name, tested)
        for part in parts
        for name, tested in _claimed(store, part)
    ]
    tables = {(name, t.target): t for _, name, t in tests if t.has_rounds}
    for _, name, tested in tests:
        table = tables.get((name, tested.target))
        if table and not tested.has_rounds:
            table.continued.append(tested)
    for label, name, tested in tests:
        if tested.has_rounds or (name, tested.target) not in tables:
            rows = (Row(clause, clause.judge(tested)) for clause in CLAUSES[name])
            yield Conformance(label, name, tuple(rows))


def _claimed(store: Store, part: Reported) -> Iterator[tuple[str, Tested]]:
    """What a session claims to have done, by the test's name; most claim nothing."""
    plan = part.session.plan
    by_test = grouped(part.records, lambda r: _claim(plan, r.asked.test))
    for name in sorted(by_test.keys() - {""}):
        tested = Tested(store, part, by_test[name])
        if tested.runs:
            yield name, tested


def _claim(plan: str, test: str) -> str:
    """The test that titles name: the last one whose words are in one of them."""
    if not (CLAIM.search(plan) or CLAIM.search(test)):
        return ""
    names = (
        name
        for title in (test, plan)
        for name, of in reversed(TESTS.items())
        if of["words"] in title.lower()
    )
    return next(names, "")
