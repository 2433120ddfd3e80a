"""One side of a comparison: the runs of its sessions, cell by cell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct

from ioplan.core.grouping import grouped
from ioplan.core.units import time_text
from ioplan.job import SECOND_NS
from ioplan.language.metric import HOST, Metric
from ioplan.planner.places import place_of
from ioplan.planner.run_id import canonical
from ioplan.records.current import current_records
from ioplan.records.record import RunRecord
from ioplan.records.session import Session
from ioplan.records.window import Window, window_of
from ioplan.results.report.headlines.doubts import (
    CIRCUMSTANTIAL,
    SIMULATED,
    doubts,
    gravity,
)
from ioplan.results.report.point import Point
from ioplan.results.report.sentences import place_text
from ioplan.results.store.runs import Fields
from ioplan.results.store.store import Store

Key = Hashable
"""A cell: what its runs do, the same in every session."""


def needs_parts(metric: Metric) -> bool:
    """Whether a metric needs the streams, phases, telemetry or wear of a run."""
    is_of_part = bool(metric.stream or metric.phase)
    return is_of_part or metric.name in (*HOST, "verified")


class CellRuns(Struct):
    """The runs of one cell; with rounds, those of the last window.

    `occurrence` numbers the places of a session that do the very same, `against` is
    what speaks against its figures.
    """

    run_id: str
    occurrence: int
    runs: list[RunRecord] = []
    failed: list[RunRecord] = []
    against: list[str] = []

    @property
    def key(self) -> Key:
        """The same for this cell in every session."""
        return self.run_id, self.occurrence

    @property
    def any(self) -> RunRecord:
        """One of the runs, for what all have in common."""
        return (self.runs or self.failed)[-1]

    def by_session(self) -> dict[str, list[RunRecord]]:
        return grouped(self.runs, key=lambda run: run.session)

    @property
    def doubts(self) -> tuple[str, ...]:
        """Why its figures are no verdict on the drive, the gravest first."""
        return tuple(text for text in self.against if text not in CIRCUMSTANTIAL)

    @property
    def workload(self) -> str:
        return canonical(self.any.asked.workload)

    @property
    def state(self) -> str:
        after = self.any.asked.after
        return after.digest if after else ""

    @property
    def place(self) -> tuple[tuple[str, str], ...]:
        return tuple(sorted(self.any.asked.cell.items()))


class Side(Struct, frozen=True):
    """The sessions of a side and their cells, in the order of the plan."""

    sessions: tuple[Session, ...]
    cells: tuple[CellRuns, ...]

    @property
    def runs(self) -> list[RunRecord]:
        return [run for cell in self.cells for run in (*cell.runs, *cell.failed)]

    def cells_by_session(self) -> list[tuple[CellRuns, ...]]:
        """The cells of single sessions, without those that have no finished run."""
        cells: dict[str, list[CellRuns]] = {session.id: [] for session in self.sessions}
        for cell in self.cells:
            for session, runs in cell.by_session().items():
                cells[session].append(CellRuns(cell.run_id, cell.occurrence, runs))
        return [tuple(own) for own in cells.values() if own]


def side_of(store: Store, sessions: Sequence[Session], parts: bool = False) -> Side:
    """Read a side, and what speaks against its figures; with `parts` also what
    `needs_parts`. Raises StoreError."""
    fields = Fields.ALL if parts else ~Fields.EXTRAS
    cells: dict[Key, CellRuns] = {}
    for session in sessions:
        records = current_records(list(store.records(session.id, fields=fields)))
        _add(cells, records, "run")
        _add_doubts(cells.values(), session.id, records)
    return Side(tuple(sessions), tuple(cells.values()))


def cells_of(records: Iterable[RunRecord], kind: str = "run") -> list[CellRuns]:
    cells: dict[Key, CellRuns] = {}
    _add(cells, current_records(list(records)), kind)
    return list(cells.values())


def _add(cells: dict[Key, CellRuns], current: Iterable[RunRecord], kind: str) -> None:
    occurrences: dict[object, int] = {}
    count = Counter[str]()
    for record in _in_windows([run for run in current if run.asked.kind == kind]):
        if record.status == "interrupted":
            continue
        id, where = record.run_id, (record.run_id, *place_of(record))
        if where not in occurrences:
            occurrences[where] = count[id]
            count[id] += 1
        key = id, occurrences[where]
        cell = cells.setdefault(key, CellRuns(*key))
        (cell.runs if record.status == "ok" else cell.failed).append(record)


def _add_doubts(
    cells: Iterable[CellRuns], session: str, current: Sequence[RunRecord]
) -> None:
    """Those of a session's figures, as they stand beside its headlines.

    Two simulated sides are compared as drives are; one beside a drive never is.
    """
    of_session = doubts(current)
    windows = _windows([run for run in current if run.asked.kind == "run"])
    for cell in cells:
        if own := cell.by_session().get(session):
            point = Point({}, own, windows[own[-1].asked.test])
            texts = {*cell.against, *of_session.of(point)} - {SIMULATED}
            cell.against = sorted(texts, key=gravity)


def _windows(records: Iterable[RunRecord]) -> dict[str, Window | None]:
    """The last window of each test."""
    by_test = grouped(records, key=lambda record: record.asked.test)
    return {test: window_of(runs) for test, runs in by_test.items()}


def _in_windows(records: Sequence[RunRecord]) -> Iterator[RunRecord]:
    """Without the rounds before the last window of their test."""
    windows = _windows(records)
    for record in records:
        window = windows[record.asked.test]
        if window is None or not record.asked.round or window.holds(record):
            yield record


# Which cell of one side is which of the other: cells are paired by what they do.

MATCHES: tuple[tuple[str, ...], ...] = (
    ("key",),
    ("workload", "state", "place"),
    ("workload", "state"),
    ("workload", "place"),
    ("workload",),
)
"""The first that finds a partner counts. The digest of a run covers all that it does;
an edited plan may have other lengths or preparations, and the same workloads."""


class CellPair(NamedTuple):
    base: CellRuns
    new: CellRuns


def align(
    base: Sequence[CellRuns], new: Sequence[CellRuns]
) -> tuple[list[CellPair], list[CellRuns], list[CellRuns]]:
    """Pair cells by the first key that is unique on both sides, in the order of the
    first; then cells of the first and of the second side without a partner."""
    partners: dict[int, CellRuns] = {}
    free = list(new)
    for names in MATCHES:
        unique = _unique(names, free)
        unpaired = [cell for cell in base if id(cell) not in partners]
        for key, cell in _unique(names, unpaired).items():
            if key in unique:
                partners[id(cell)] = unique[key]
        paired = {id(cell) for cell in partners.values()}
        free = [cell for cell in free if id(cell) not in paired]
    pairs = [CellPair(c, partners[id(c)]) for c in base if id(c) in partners]
    return pairs, [c for c in base if id(c) not in partners], free


def _unique(names: Sequence[str], cells: Sequence[CellRuns]) -> dict[object, CellRuns]:
    keys = [tuple(getattr(cell, name) for name in names) for cell in cells]
    count = Counter(keys)
    return {k: c for k, c in zip(keys, cells, strict=True) if count[k] == 1}


CIRCUMSTANCES: dict[str, Callable[[RunRecord], str]] = {
    "backend": lambda run: run.backend.name,
    "mode": lambda run: run.backend.mode,
    "kernel": lambda run: str(run.host.get("kernel") or ""),
    "profile": lambda run: run.asked.profile,
}
"""How a run was measured, in the order in which differences are listed."""
METHOD = ("backend", "mode")
"""With another of these, a run is a measurement of something else."""


def method_differences(
    base: Sequence[RunRecord], new: Sequence[RunRecord]
) -> tuple[str, ...]:
    """`mode: io_uring in BASE, sync in NEW`, for all that differs."""
    return tuple(
        f"{name}: {before} in BASE, {after} in NEW"
        for name, read in CIRCUMSTANCES.items()
        if (before := _values(base, read)) != (after := _values(new, read))
    )


def _values(runs: Iterable[RunRecord], read: Callable[[RunRecord], str]) -> str:
    return " and ".join(sorted({read(run) or "unknown" for run in runs}))


def has_one_method(pair: CellPair) -> bool:
    """Whether both cells were measured by one backend in one mode."""
    base, new = ((*cell.runs, *cell.failed) for cell in pair)
    reads = [CIRCUMSTANCES[name] for name in METHOD]
    return all(_values(base, read) == _values(new, read) for read in reads)


def doubt_text(pair: CellPair) -> str:
    """The gravest doubt of a pair, `NEW: not steady` where one side has it."""
    base, new = ("".join(cell.doubts[:1]) for cell in pair)
    if base == new:
        return base
    sides = {"BASE": base, "NEW": new}
    return "; ".join(f"{side}: {text}" for side, text in sides.items() if text)


def remarks(pair: CellPair) -> tuple[str, ...]:
    """In what the cells of a pair differ besides the time that they ran at, and under
    what circumstances they did."""
    base, new = pair
    texts = ["prepared differently"] if base.state != new.state else []
    if _length(base) != _length(new):
        before, after = map(_length_text, pair)
        texts.append(f"runs of {before} in BASE, of {after} in NEW")
    elif base.run_id != new.run_id:
        texts.append("the plan does something else around it")
    for text in CIRCUMSTANTIAL:
        is_base, is_new = (text in cell.against for cell in pair)
        if is_base != is_new:
            texts.append(f"{text} in {'BASE' if is_base else 'NEW'}")
    return tuple(texts)


def _length(cell: CellRuns) -> tuple[object, ...]:
    job = cell.any.asked.job
    return job.warmup_ns, job.run_ns, job.limit_bytes, job.passes


def _length_text(cell: CellRuns) -> str:
    """As planned, as measured times differ a little from run to run."""
    planned_ns = cell.any.asked.job.run_ns
    return time_text(planned_ns / SECOND_NS if planned_ns else cell.any.run_s)


def cell_name(cell: CellRuns) -> str:
    asked = cell.any.asked
    return cell_title(asked.test, asked.cell, asked.name)


def cell_title(test: str, cell: Mapping[str, str], step: str = "") -> str:
    return ": ".join(filter(None, (test, place_text(cell, step))))
