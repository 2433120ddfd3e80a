"""What was called, as the rows of a comparison."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import exp, log1p
from statistics import median
from typing import Any

from msgspec import Struct

from ioplan.core.statistics.shared_variance import Variance
from ioplan.core.units import digits
from ioplan.language.metric import Metric
from ioplan.records.record import RunRecord
from ioplan.results.compare.call import (
    FOR_ALL,
    FOR_CELLS,
    LEVEL,
    NOTHING_TO_LEARN_FROM,
    Call,
)
from ioplan.results.compare.comparison import (
    OTHERWISE,
    AllCells,
    NoiseSummary,
    Row,
    RowVerdict,
)
from ioplan.results.compare.estimate import (
    ASSUMED,
    FEW_UNITS,
    Aim,
    MetricPair,
    MetricTable,
    pooled,
    sessions_needed,
)
from ioplan.results.compare.noise import percent
from ioplan.results.compare.side import CellRuns
from ioplan.results.measure.metrics import MORE_IS_BETTER

# Which cell of one side is which of the other: by what they do, not by names.

MATCH_KEYS: tuple[Callable[[CellRuns], object], ...] = (
    lambda cell: (cell.run_id, cell.occurrence),
    lambda cell: (cell.workload, cell.state, cell.cell),
    lambda cell: (cell.workload, cell.state),
    lambda cell: (cell.workload, cell.cell),
    lambda cell: cell.workload,
)
"""The first that finds a partner counts. The digest of a run says all that it does;
an edited plan may have other lengths or preparations, and the same workloads."""


Pair = tuple[CellRuns, CellRuns]


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


MEASURED: dict[str, Callable[[RunRecord], str]] = {
    "backend": lambda run: run.backend.name,
    "mode": lambda run: run.backend.mode,
    "kernel": lambda run: str(run.host.get("kernel") or ""),
    "profile": lambda run: run.asked.profile,
}
"""How a run was measured, in the order in which differences are listed."""
METHOD = ("backend", "mode")
"""With another of these, a run is a measurement of something else."""


def differences(base: Sequence[CellRuns], new: Sequence[CellRuns]) -> tuple[str, ...]:
    """`mode: io_uring in BASE, sync in NEW`, for all that is not the same."""
    return tuple(
        f"{name}: {before} in BASE, {after} in NEW"
        for name, read in MEASURED.items()
        if (before := _values(base, read)) != (after := _values(new, read))
    )


def _values(cells: Iterable[CellRuns], read: Callable[[RunRecord], str]) -> str:
    runs = (run for cell in cells for run in (*cell.runs, *cell.failed))
    return " and ".join(sorted({read(run) or "unknown" for run in runs}))


def is_alike(pair: Pair) -> bool:
    """Whether both cells were measured by one backend in one mode."""
    each = [[_values([cell], MEASURED[name]) for name in METHOD] for cell in pair]
    return each[0] == each[1]


def remarks(base: CellRuns, new: CellRuns) -> tuple[str, ...]:
    """In what the two differ besides the time that they ran at."""
    found = []
    if base.state != new.state:
        found.append("prepared differently")
    if _length(base) != _length(new):
        found.append(f"{_ran(base)} in BASE, {_ran(new)} in NEW")
    elif base.run_id != new.run_id:
        found.append("the plan does something else around it")
    return tuple(found)


def _length(cell: CellRuns) -> tuple[object, ...]:
    job = cell.any.asked.job
    return job.warmup_ns, job.run_ns, job.limit_bytes, job.passes


def _ran(cell: CellRuns) -> str:
    return f"{digits(cell.any.run_s)} s"


class Subject(Struct, frozen=True):
    """What is compared: two drives, or a change on one; in so many rows."""

    drives: bool
    threshold: float
    rows: int


class Called(Struct, frozen=True):
    """One metric of one pair, and what is said of it."""

    pair: Pair
    table: MetricTable
    both: MetricPair
    call: Call
    subject: Subject


def of_one_cell(one: Called) -> Row:
    """The row of a cell."""
    base, new = one.pair
    both, asked = one.both, new.any.asked
    more = _more_is_better(one.pair, one.table.metric)
    said = _said(one.table.metric, one.call, more, one.subject)
    if both.known:
        said |= {"ratio": exp(both.difference), **_needed(one)}
    else:
        said |= _without_figure(one)
    return Row(
        test=asked.test,
        step=asked.name,
        cell=asked.cell,
        unit=one.table.metric.unit,
        base=both.base.value,
        new=both.new.value,
        base_runs=len(base.runs),
        new_runs=len(new.runs),
        base_sessions=both.base.units if both.base.sessions else 0,
        new_sessions=both.new.units if both.new.sessions else 0,
        remarks=remarks(base, new),
        **said,
    )


def of_all_cells(table: MetricTable, call: Call, subject: Subject) -> AllCells:
    """The row of what all cells have in common."""
    estimate = call.estimate
    assert estimate
    off = [pair.difference for pair in pooled(table.pairs, table.noise)]
    more = table.metric.name in MORE_IS_BETTER
    said = _said(table.metric, call, more, subject)
    if call.word == "undecided" and table.noise.shared:
        aim = Aim(abs(estimate.difference), log1p(subject.threshold), LEVEL * FOR_ALL)
        said["sessions_needed"] = sessions_needed(table.noise.shared, aim)
    return AllCells(
        cells=len(off),
        same_way=sum(one * estimate.difference > 0 for one in off),
        smallest=exp(min(off)),
        largest=exp(max(off)),
        **said,
    )


def _said(metric: Metric, call: Call, more: bool, subject: Subject) -> dict[str, Any]:
    """What rows have in common."""
    verdict, why = _verdict(call, more, subject), call.why
    if call.word == "suspected":
        verdict, why = "suspected", f"{verdict}, by {why}"
    said: dict[str, Any] = {
        "metric": str(metric),
        "verdict": verdict,
        "why": why,
        "chance": call.chance,
    }
    if estimate := call.estimate:
        low, high = estimate.interval
        noise = percent(Variance(estimate.noise**2, 0))
        said |= {"ratio": estimate.ratio, "low": low, "high": high}
        said |= {"noise_percent": noise}
    return said


def _verdict(call: Call, more: bool, subject: Subject) -> RowVerdict:
    if call.word in ("different", "suspected"):
        assert call.estimate
        return "better" if (call.estimate.difference > 0) == more else "worse"
    if call.word == "undecided" and subject.drives and not call.estimate:
        return "ratio"
    return "equal" if call.word == "equal" else "undecided"


def _more_is_better(pair: Pair, metric: Metric) -> bool:
    found = pair[1].any.found
    if metric.sought and found:
        return found.goal == "highest"
    more = metric.name in MORE_IS_BETTER
    return more == metric.beyond.is_above if metric.beyond else more


def _without_figure(one: Called) -> dict[str, Any]:
    both = one.both
    if one.pair[1].failed and not one.pair[0].failed:
        return {"verdict": "worse", "why": f"NEW failed: {both.new.why}"}
    side = "BASE" if both.base.why else "NEW"
    why = f"{side}: {both.base.why or both.new.why}"
    return {"verdict": "undecided", "why": why}


def _needed(one: Called) -> dict[str, Any]:
    """How many sessions a side decide an undecided row, by what is known of noise.

    Where nothing is, and the change is small, the fewest that tell it.
    """
    if one.call.word != "undecided" or one.call.why == OTHERWISE:
        return {}
    size, limit = abs(one.both.difference), log1p(one.subject.threshold)
    noise = one.table.noise.guess(one.both.new.key)
    if noise is None and size <= limit:
        return {"sessions_needed": FEW_UNITS}
    level = LEVEL * FOR_CELLS / one.subject.rows
    return {
        "sessions_needed": sessions_needed(noise or ASSUMED, Aim(size, limit, level))
    }


def noise_summary(table: MetricTable) -> NoiseSummary:
    """The median cell's noise, and where it is from."""
    noise = table.noise
    sessions = [noise.session(pair.new.key) for pair in table.pairs]
    learned = noise.source and noise.source != "given"
    return NoiseSummary(
        metric=str(table.metric),
        run_percent=_median(noise.run.values()),
        session_percent=_median(one for one in sessions if one),
        shared_percent=percent(noise.shared) if noise.shared and learned else None,
        drive_percent=percent(noise.drive) if noise.drive else None,
        source=noise.source or NOTHING_TO_LEARN_FROM,
    )


def _median(found: Iterable[Variance]) -> float | None:
    sizes = [percent(one) for one in found]
    return median(sizes) if sizes else None


def cell_name(cell: CellRuns) -> str:
    """The test and the cell, for a list."""
    asked = cell.any.asked
    place = place_text(asked.name, asked.cell)
    return f"{asked.test}: {place}" if place else asked.test


def place_text(step: str, cell: Mapping[str, str]) -> str:
    """A named step and a cell as the plan writes them: `later gap=1s`."""
    return " ".join(filter(None, (step, *(f"{n}={v}" for n, v in cell.items()))))
