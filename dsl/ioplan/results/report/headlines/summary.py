"""A whole session in a few words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from ioplan.language.plan import CheckedPlan
from ioplan.records.outline import current_records
from ioplan.records.record import RunRecord
from ioplan.results.report.headlines.doubts import doubts
from ioplan.results.report.headlines.headline import Headline
from ioplan.results.report.headlines.headlines import headlines
from ioplan.results.report.points import points
from ioplan.results.report.reader import Reader
from ioplan.results.store.store import Store

BEST: dict[str, Callable[..., Headline]] = {"iops": max, "bandwidth": max, "mean": min}
"""What is looked for in all tests, and which of them is the best."""
WORST = "worst"


def summary(found: Iterable[Headline]) -> list[Headline]:
    """The highest IOPS, the highest throughput, the lowest mean latency."""
    told = (one for one in found if one.value is not None)
    best = [one for one in told if not one.name.startswith(WORST)]
    return list(_best(best))


def _best(found: list[Headline]) -> Iterator[Headline]:
    for metric, choose in BEST.items():
        if some := [one for one in found if one.metric == metric]:
            yield choose(some, key=lambda one: one.value or 0.0)


def summary_text(store: Store, session: str) -> str:
    """`451k IOPS, 3198 MB/s, 11.3 us`; empty without a figure. Raises StoreError."""
    each = by_test(store, current_records(list(store.records(session)))).values()
    found = summary(one for some in each for one in some)
    return ", ".join(f"{one.figure}{' IOPS' * (one.unit == '1/s')}" for one in found)


def by_test(
    store: Store, records: Sequence[RunRecord], plan: CheckedPlan | None = None
) -> dict[str, tuple[Headline, ...]]:
    """The headlines of a session's records by test. Raises StoreError."""
    runs: dict[str, list[RunRecord]] = {}
    for record in records:
        if record.asked.kind == "run":
            runs.setdefault(record.asked.test, []).append(record)
    reader = Reader(store)
    tests = {test.title: test for test in plan.tests} if plan else {}
    known = doubts(records)
    return {
        test: headlines(points({"": some}), reader, tests.get(test), known)
        for test, some in runs.items()
    }
