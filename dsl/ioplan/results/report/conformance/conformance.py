"""Clause by clause, what SNIA's Performance Test Specification asks and what was done.

From the public text of version 2.0 and implementations of it. Clauses are named by
their test and requirement; numbers of sections are not given, as they differ between
the enterprise, client and common texts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial

from msgspec import Struct

from ioplan.records.record import RunRecord
from ioplan.records.session import Session
from ioplan.results.report.conformance import checks
from ioplan.results.report.conformance.checks import KIB, MIB, Check
from ioplan.results.report.conformance.tested import ORDER, Finding, Tested, claimed
from ioplan.results.store.store import Store


class Clause(Struct, frozen=True):
    """A requirement of a test, and what tells whether it was met."""

    name: str
    asks: str
    check: Check


TITLES = {
    "D1": "IOPS",
    "D2": "throughput",
    "D3": "latency",
    "D4": "write saturation",
    "D5": "host idle recovery",
    "D6": "cross stimulus recovery",
    "D7": "enterprise composite workload",
    "D8": "demand intensity and response time histograms",
}
SIZES = (*(kib * KIB for kib in (1024, 128, 64, 32, 16, 8, 4)), 512)
READS = (100.0, 95.0, 65.0, 50.0, 35.0, 5.0, 0.0)
TRACKED = checks.is_tracked_write, "random 4 KiB writes"
LARGE = checks.is_sequential_write, "sequential writes"
HIGHEST = checks.at_highest_load, "threads 32, queue depth 32"

Rows = tuple[tuple[str, str, Check], ...]
PURGE = ("purge", "Purge the drive first", checks.purged)
FILL = (
    "preconditioning",
    "Write twice the capacity, sequentially in 128 KiB",
    checks.filled,
)
NO_FILL = (
    "preconditioning",
    "No workload-independent preconditioning",
    checks.not_filled,
)
CONDITIONS: Rows = (
    (
        "write cache",
        "Volatile write cache off (enterprise) or on (client)",
        checks.write_cache,
    ),
    (
        "active range",
        "All of the drive; client drives also 75 %",
        checks.active_range,
    ),
    ("data pattern", "Random data", checks.data_pattern),
)
LOAD = ("load", "Threads and queue depth, disclosed", checks.loads())
MINUTE = ("run time", "One minute a cell", checks.run_time(60))
SAMPLES = ("samples", "Minutes; with maximum latency", checks.samples)
WHOLE = ("whole runs", "Figures of complete runs", checks.no_failures)
TABLE: Rows = (
    ("table", "Threads by queue depth, 7 by 7, high to low", checks.all_loads),
    ("pre-writes", "5 min at threads 32, queue depth 32", checks.pressed),
    MINUTE,
    (
        "steady state",
        "Threads 32 by queue depth 32, by IOPS",
        checks.steady("iops", *HIGHEST),
    ),
    ("settling", "An hour of writes before each histogram", checks.settled),
    (
        "histograms",
        "10 min at highest (mean below 5 ms), middle and lowest IOPS",
        checks.at_points,
    ),
)

ROWS: dict[str, Rows] = {
    "D1": (
        *(PURGE, FILL, *CONDITIONS, LOAD),
        (
            "matrix",
            "Random; 8 block sizes by 7 read shares",
            checks.matrix(SIZES, READS, "random"),
        ),
        (
            "order",
            "Mixes from reads to writes; in each, sizes from large to small",
            checks.order(SIZES, READS),
        ),
        MINUTE,
        ("steady state", "4 KiB writes, by IOPS", checks.steady("iops", *TRACKED)),
        WHOLE,
    ),
    "D2": (
        *(PURGE, FILL, *CONDITIONS, LOAD),
        ("parts", "1024 KiB and 128 KiB, each by itself", checks.separate_fills),
        (
            "matrix",
            "Sequential; 1024 and 128 KiB, reads and writes",
            checks.matrix((MIB, 128 * KIB), (100.0, 0.0), "sequential"),
        ),
        MINUTE,
        (
            "steady state",
            "Writes, by throughput",
            checks.steady("bandwidth", *LARGE),
        ),
        WHOLE,
    ),
    "D3": (
        *(PURGE, FILL, *CONDITIONS),
        ("load", "One thread, queue depth 1", checks.loads((1, 1))),
        (
            "matrix",
            "Random; 8, 4 and 0.5 KiB by 100/0, 65/35, 0/100",
            checks.matrix((8 * KIB, 4 * KIB, 512), (100.0, 65.0, 0.0), "random"),
        ),
        MINUTE,
        (
            "steady state",
            "4 KiB writes, by mean latency",
            checks.steady("mean", *TRACKED),
        ),
        ("figures", "Mean and maximum", checks.mean_and_max),
        ("histogram", "20 min of 4 KiB writes", checks.latency_histogram),
        WHOLE,
    ),
    "D4": (
        *(PURGE, NO_FILL, *CONDITIONS, LOAD),
        ("access", "Random 4 KiB writes", checks.saturating),
        SAMPLES,
        ("end", "4 drive writes, 24 h, or steady", checks.saturated),
        WHOLE,
    ),
    "D5": (
        *(PURGE, NO_FILL, *CONDITIONS, LOAD),
        ("steady state", "Random 4 KiB writes until steady", checks.idle_access),
        ("idle times", "360 × 5 s of writes each", checks.idle_cycles),
        ("between", "1800 s of writes", checks.idle_between),
        WHOLE,
    ),
    "D6": (
        *(PURGE, NO_FILL, *CONDITIONS),
        ("load", "One thread, queue depth 32", checks.loads((1, 32))),
        ("stimuli", "8 h, 6 h and 8 h of writes", checks.stimuli),
        *(SAMPLES, WHOLE),
    ),
    "D7": (
        *(PURGE, FILL, *CONDITIONS),
        ("access", "JESD219: sizes, 40/60, hot spots", checks.composite),
        ("alignment", "4 KiB; smaller I/O 512 B", checks.composite_alignment),
        *(*TABLE, WHOLE),
    ),
    "D8": (
        *(PURGE, FILL, *CONDITIONS),
        ("access", "Random 8 KiB 65/35", checks.demand),
        *(*TABLE, WHOLE),
    ),
}
CLAUSES = {test: [Clause(*row) for row in rows] for test, rows in ROWS.items()}


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
        counts = Counter(row.finding.outcome for row in self.rows)
        return ", ".join(f"{counts[name]} {name}" for name in ORDER if counts[name])

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
    tests = [
        (session.label, name, tested)
        for session in judged
        for name, tested in _claimed(store, session).items()
    ]
    tables = {(name, t.target): t for _, name, t in tests if t.has_rounds}
    for _, name, tested in tests:
        table = tables.get((name, tested.target), tested)
        if table is not tested and not tested.has_rounds:
            table.continued.append(tested)
    for label, name, tested in tests:
        if tested.has_rounds or (name, tested.target) not in tables:
            rows = (Row(clause, clause.check(tested)) for clause in CLAUSES[name])
            yield Conformance(label, name, tuple(rows))


def _claimed(store: Store, judged: JudgedSession) -> dict[str, Tested]:
    id = judged.session.id
    events, detail = partial(store.events, id), partial(store.detail, id)
    return claimed(judged.session, judged.records, events, detail)
