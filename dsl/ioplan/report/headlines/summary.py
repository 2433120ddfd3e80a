"""A whole session in a few words: the best of what its tests are told by."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from ioplan.records.record import RunRecord
from ioplan.records.superseded import current_records
from ioplan.report.headlines.headline import Headline
from ioplan.report.headlines.headlines import headlines
from ioplan.report.points import points
from ioplan.report.reader import Reader
from ioplan.store.store import Store

BEST: dict[str, Callable[..., Headline]] = {"iops": max, "bandwidth": max, "mean": min}
"""What is looked for in all tests, and which of them is the best."""
WORST = ("worst", "lowest IOPS", "lowest throughput", "highest mean")


def summary(found: Iterable[Headline]) -> list[Headline]:
    """The highest IOPS, the highest throughput, the lowest mean latency."""
    best = [one for one in found if not one.name.startswith(WORST)]
    return list(_best(best))


def _best(found: list[Headline]) -> Iterator[Headline]:
    for metric, choose in BEST.items():
        if some := [one for one in found if one.metric == metric]:
            yield choose(some, key=lambda one: one.value)


def summary_text(store: Store, session: str) -> str:
    """`451k IOPS, 3198 MB/s, 11.3 us`; empty without a figure. Raises StoreError."""
    by_test: dict[str, list[RunRecord]] = {}
    for record in current_records(list(store.records(session))):
        if record.asked.kind == "run":
            by_test.setdefault(record.asked.test, []).append(record)
    reader = Reader(store)
    each = (headlines(points({session: runs}), reader) for runs in by_test.values())
    found = summary(one for some in each for one in some)
    return ", ".join(f"{one.figure}{' IOPS' * (one.unit == '1/s')}" for one in found)
