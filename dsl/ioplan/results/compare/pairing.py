"""Which cell of one side is which of the other, and how they were measured.

Cells are paired by what they do, not by names.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from ioplan.core.units import digits
from ioplan.records.record import RunRecord
from ioplan.results.compare.side import CellRuns

MATCH_KEYS: tuple[Callable[[CellRuns], object], ...] = (
    lambda cell: cell.key,
    lambda cell: (cell.workload, cell.state, cell.cell),
    lambda cell: (cell.workload, cell.state),
    lambda cell: (cell.workload, cell.cell),
    lambda cell: cell.workload,
)
"""The first that finds a partner counts. The digest of a run covers all that it does;
an edited plan may have other lengths or preparations, and the same workloads."""


class CellPair(NamedTuple):
    """A cell on both sides."""

    base: CellRuns
    new: CellRuns


class Alignment(NamedTuple):
    """The pairs, in the order of the first side, and cells without a partner."""

    pairs: list[CellPair]
    only_base: list[CellRuns]
    only_new: list[CellRuns]


def align(base: Sequence[CellRuns], new: Sequence[CellRuns]) -> Alignment:
    """Pair cells by the first key that is unique on both sides."""
    partners: dict[int, CellRuns] = {}
    free = list(new)
    for key_of in MATCH_KEYS:
        unique = _unique(key_of, free)
        unpaired = [cell for cell in base if id(cell) not in partners]
        for key, cell in _unique(key_of, unpaired).items():
            if key in unique:
                partners[id(cell)] = unique[key]
        paired = {id(cell) for cell in partners.values()}
        free = [cell for cell in free if id(cell) not in paired]
    pairs = [CellPair(c, partners[id(c)]) for c in base if id(c) in partners]
    return Alignment(pairs, [c for c in base if id(c) not in partners], free)


def _unique(
    key_of: Callable[[CellRuns], object], cells: Sequence[CellRuns]
) -> dict[object, CellRuns]:
    keys = [key_of(cell) for cell in cells]
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
    base, new = (
        [_values((*c.runs, *c.failed), CIRCUMSTANCES[name]) for name in METHOD]
        for c in pair
    )
    return base == new


def remarks(pair: CellPair) -> tuple[str, ...]:
    """In what the cells of a pair differ besides the time that they ran at."""
    base, new = pair
    texts = ["prepared differently"] if base.state != new.state else []
    if _length(base) != _length(new):
        texts.append(f"{_time(base)} in BASE, {_time(new)} in NEW")
    elif base.run_id != new.run_id:
        texts.append("the plan does something else around it")
    return tuple(texts)


def _length(cell: CellRuns) -> tuple[object, ...]:
    job = cell.any.asked.job
    return job.warmup_ns, job.run_ns, job.limit_bytes, job.passes


def _time(cell: CellRuns) -> str:
    return f"{digits(cell.any.run_s)} s"


def cell_name(cell: CellRuns) -> str:
    """The test and the cell, for a list."""
    asked = cell.any.asked
    place = place_text(asked.name, asked.cell)
    return f"{asked.test}: {place}" if place else asked.test


def place_text(step: str, cell: Mapping[str, str]) -> str:
    """A named step and a cell as the plan writes them: `later gap=1s`."""
    axes = (f"{name}={value}" for name, value in cell.items())
    return " ".join(filter(None, (step, *axes)))
