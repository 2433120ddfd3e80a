"""Clause by clause, what the specification asks for and what a session did."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial

from msgspec import Struct

from ioplan.records.record import RunRecord
from ioplan.records.session import Session
from ioplan.results.report.conformance import general, single
from ioplan.results.report.conformance import table_of_loads as loads
from ioplan.results.report.conformance.general import KIB, MIB, Check
from ioplan.results.report.conformance.tested import Finding, Outcome, Tested, claimed
from ioplan.results.store.store import Store

# SNIA's Performance Test Specification as a table: what each test asks for.
#
# From the public text of version 2.0 and implementations of it. Clauses are named by
# their test and requirement; numbers of sections are not given, as they differ
# between the enterprise, client and common texts.


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
TRACKED = "random 4 KiB writes"

PURGE = Clause("purge", "Purge the drive first", general.purged)
FILL = Clause(
    "preconditioning",
    "Write twice the capacity, sequentially in 128 KiB",
    general.filled,
)
NO_FILL = Clause(
    "preconditioning", "No workload-independent preconditioning", general.not_filled
)
CONDITIONS = (
    Clause(
        "write cache",
        "Volatile write cache off (enterprise) or on (client)",
        general.write_cache,
    ),
    Clause(
        "active range",
        "All of the drive; client drives also 75 %",
        general.active_range,
    ),
    Clause("data pattern", "Random data", general.data_pattern),
)
LOAD = Clause("load", "Threads and queue depth, disclosed", general.disclosed_load)
MINUTE = Clause("run time", "One minute a cell", general.run_time(60))
WHOLE = Clause("whole runs", "Figures of complete runs", general.no_failures)
TABLE = (
    Clause("table", "Threads by queue depth, 7 by 7, high to low", loads.all_loads),
    Clause("pre-writes", "5 min at threads 32, queue depth 32", loads.pressed),
    MINUTE,
    Clause(
        "steady state",
        "Threads 32 by queue depth 32, by IOPS",
        general.steady("iops", single.at_highest_load, "threads 32, queue depth 32"),
    ),
    Clause("settling", "An hour of writes before each histogram", loads.settled),
    Clause(
        "histograms",
        "10 min at highest (mean below 5 ms), middle and lowest IOPS",
        loads.at_points,
    ),
)

CLAUSES: dict[str, tuple[Clause, ...]] = {
    "D1": (
        *(PURGE, FILL, *CONDITIONS, LOAD),
        Clause(
            "matrix",
            "Random; 8 block sizes by 7 read shares",
            general.matrix(SIZES, READS, "random"),
        ),
        Clause(
            "order",
            "Mixes from reads to writes; in each, sizes from large to small",
            general.order(SIZES, READS),
        ),
        MINUTE,
        Clause(
            "steady state",
            "4 KiB writes, by IOPS",
            general.steady("iops", single.is_tracked_write, TRACKED),
        ),
        WHOLE,
    ),
    "D2": (
        *(PURGE, FILL, *CONDITIONS, LOAD),
        Clause("parts", "1024 KiB and 128 KiB, each by itself", single.separate_fills),
        Clause(
            "matrix",
            "Sequential; 1024 and 128 KiB, reads and writes",
            general.matrix((MIB, 128 * KIB), (100.0, 0.0), "sequential"),
        ),
        MINUTE,
        Clause(
            "steady state",
            "Writes, by throughput",
            general.steady("bandwidth", single.is_large_write, "sequential writes"),
        ),
        WHOLE,
    ),
    "D3": (
        *(PURGE, FILL, *CONDITIONS),
        Clause("load", "One thread, queue depth 1", general.one_load(1, 1)),
        Clause(
            "matrix",
            "Random; 8, 4 and 0.5 KiB by 100/0, 65/35, 0/100",
            general.matrix((8 * KIB, 4 * KIB, 512), (100.0, 65.0, 0.0), "random"),
        ),
        MINUTE,
        Clause(
            "steady state",
            "4 KiB writes, by mean latency",
            general.steady("mean", single.is_tracked_write, TRACKED),
        ),
        Clause("figures", "Mean and maximum", single.mean_and_max),
        Clause("histogram", "20 min of 4 KiB writes", single.latency_histogram),
        WHOLE,
    ),
    "D4": (
        *(PURGE, NO_FILL, *CONDITIONS, LOAD),
        Clause("access", "Random 4 KiB writes", single.saturating),
        Clause("samples", "Minutes; with maximum latency", single.samples),
        Clause("end", "4 drive writes, 24 h, or steady", single.saturated),
        WHOLE,
    ),
    "D5": (
        *(PURGE, NO_FILL, *CONDITIONS, LOAD),
        Clause("steady state", "Random 4 KiB writes until steady", single.idle_access),
        Clause("idle times", "360 × 5 s of writes each", single.idle_cycles),
        Clause("between", "1800 s of writes", single.idle_between),
        WHOLE,
    ),
    "D6": (
        *(PURGE, NO_FILL, *CONDITIONS),
        Clause("load", "One thread, queue depth 32", general.one_load(1, 32)),
        Clause("stimuli", "8 h, 6 h and 8 h of writes", single.stimuli),
        Clause("samples", "Minutes; with maximum latency", single.samples),
        WHOLE,
    ),
    "D7": (
        *(PURGE, FILL, *CONDITIONS),
        Clause("access", "JESD219: sizes, 40/60, hot spots", single.composite),
        Clause("alignment", "4 KiB; smaller I/O 512 B", single.composite_alignment),
        *(*TABLE, WHOLE),
    ),
    "D8": (
        *(PURGE, FILL, *CONDITIONS),
        Clause("access", "Random 8 KiB 65/35", single.demand),
        *(*TABLE, WHOLE),
    ),
}
"""The rows of each test."""


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
