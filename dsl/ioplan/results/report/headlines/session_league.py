"""Several sessions as a league: which is the best of them at what."""

from __future__ import annotations

from collections.abc import Sequence

from ioplan.records.current import current_records
from ioplan.records.session import Session
from ioplan.results.report.headlines.headline import Headline
from ioplan.results.report.headlines.headlines import by_test
from ioplan.results.report.headlines.league import League, overall
from ioplan.results.report.source import labels
from ioplan.results.share.recorded_plan import recorded_plans
from ioplan.results.store.store import Store


def league_of(store: Store, sessions: Sequence[Session]) -> League | None:
    """The league of sessions; None of one. Raises StoreError."""
    records = [current_records(list(store.records(one.id))) for one in sessions]
    targets = [found[0].target if found else {} for found in records]
    names = labels(sessions, targets)
    plans = recorded_plans(sessions)
    tests: dict[str, dict[str, tuple[Headline, ...]]] = {}
    for session, name, found in zip(sessions, names, records, strict=True):
        plan = plans[session.id]
        for test, told in by_test(store, found, plan).items():
            tests.setdefault(test, {})[name] = told
    return overall(tests, names)
