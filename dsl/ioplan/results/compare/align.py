"""Which cell of one side is which of the other: by what they do, not by names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from msgspec import Struct

from ioplan.core.units import digits
from ioplan.results.compare.side import CellRuns

MATCH_KEYS: tuple[Callable[[CellRuns], object], ...] = (
    lambda cell: (cell.run_id, cell.occurrence),
    lambda cell: (cell.workload, cell.state, cell.cell),
    lambda cell: (cell.workload, cell.state),
    lambda cell: (cell.workload, cell.cell),
    lambda cell: cell.workload,
)
"""The first that finds a partner counts. The digest of a run says all that it does;
an edited plan may have other lengths or preparations, and the same workloads."""


class Alignment(Struct, frozen=True):
    """The pairs, in the order of the first side, and what has no partner."""

    pairs: list[tuple[CellRuns, CellRuns]]
    only_base: list[CellRuns]
    only_new: list[CellRuns]


def align(base: Sequence[CellRuns], new: Sequence[CellRuns]) -> Alignment:
    """Pair cells by the first key that is unique on both sides."""
    partner: dict[int, CellRuns] = {}
    free = list(new)
    for key_of in MATCH_KEYS:
        waiting = [cell for cell in base if id(cell) not in partner]
        found = _unique(key_of, free)
        for key, cell in _unique(key_of, waiting).items():
            if key in found:
                partner[id(cell)] = found[key]
        paired = {id(cell) for cell in partner.values()}
        free = [cell for cell in free if id(cell) not in paired]
    pairs = [(cell, partner[id(cell)]) for cell in base if id(cell) in partner]
    return Alignment(pairs, [cell for cell in base if id(cell) not in partner], free)


def _unique(
    key_of: Callable[[CellRuns], object], cells: Sequence[CellRuns]
) -> dict[object, CellRuns]:
    keys = [key_of(cell) for cell in cells]
    times = Counter(keys)
    return {k: c for k, c in zip(keys, cells, strict=True) if times[k] == 1}


def remarks(base: CellRuns, new: CellRuns) -> tuple[str, ...]:
    """In what the two differ besides the time that they ran at."""
    found = []
    if base.state != new.state:
        found.append("prepared differently")
    if _length(base) != _length(new):
        found.append(f"{_ran(base)} in BASE, {_ran(new)} in NEW")
    elif base.run_id != new.run_id:
        found.append("the plan does something else around it")
    if base.any.backend.name != new.any.backend.name:
        found.append(f"by {base.any.backend.name} and by {new.any.backend.name}")
    return tuple(found)


def _length(cell: CellRuns) -> tuple[object, ...]:
    job = cell.any.asked.job
    return job.warmup_ns, job.run_ns, job.limit_bytes, job.passes


def _ran(cell: CellRuns) -> str:
    return f"{digits(cell.any.run_s)} s"
