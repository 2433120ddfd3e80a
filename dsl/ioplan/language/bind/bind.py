"""Closes what a template leaves open: template + cell -> workload."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from ioplan.core.memo import ByIdentity
from ioplan.language.clause_table import CONVERTED, slot
from ioplan.language.fields import Attributes
from ioplan.language.plan import (
    Amount,
    CellValue,
    OpenAmount,
    Seek,
    StreamTemplate,
    WorkloadTemplate,
)
from ioplan.language.quantity import SECTOR_BYTES, Kind, Quantity, make
from ioplan.language.replayed import PART, TRACE, with_trace
from ioplan.workload import STREAM_DEFAULTS, Rate, RatePhase, Stream, Workload

# The value of a sought axis in a cell, from the number that a search names.

CONFIRM_RUNS = 4
"""How many times as long as the run the confirmation is, where the plan is silent."""
WHOLE: tuple[Kind, ...] = ("size", "time", "number", "passes")
"""Kinds of which a search tries whole numbers only."""


def sought_value(seek: Seek, number: float) -> CellValue:
    """The number as a value of the axis."""
    known = (seek.lowest, seek.highest, *seek.values)
    for value in known:
        if value.key == number:
            return value
    whole = seek.kind in WHOLE or number == int(number)
    quantity = make(seek.kind, round(number) if whole else number)
    if seek.lowest.attributes is None:
        return CellValue(text=quantity.text, key=quantity.value, quantity=quantity)
    made = CONVERTED[seek.axis.rpartition(".")[2]](quantity)
    return CellValue(
        text=quantity.text, key=quantity.value, attributes=made, quantity=quantity
    )


def step_of(kind: Kind) -> float:
    """What the values of a kind are multiples of; 0 where any will do."""
    if kind == "size":
        return float(SECTOR_BYTES)
    return 1.0 if kind in WHOLE else 0.0


Cell = Mapping[str, CellValue]
IN_ORDER = {**dict.fromkeys(Stream.model_fields), **STREAM_DEFAULTS}
"""In the order of the fields, as JSON has it, of which ids of runs are digests."""


def workload_of(
    base: WorkloadTemplate, override: StreamTemplate, cell: Cell
) -> Workload:
    """The workload of one cell: base, then the step's own clauses, then the axes."""
    varied = cell.get("workload")
    if varied and varied.workload:
        base = varied.workload
    streams = tuple([_stream(stream, override, cell) for stream in base.streams])
    return Workload.complete({"streams": streams})


class ResolvedAttributes(NamedTuple):
    """What a stream's template and a step's clauses say together, axes apart."""

    attributes: Attributes
    refs: tuple[tuple[str, OpenAmount], ...]
    arrivals: tuple[str, float]
    rate_each: bool
    total: bool


def _merged(base: StreamTemplate, override: StreamTemplate) -> ResolvedAttributes:
    """All attributes with their defaults; what the step says again closes a ref."""
    attributes = {**with_trace({**base.attributes, **override.attributes})}
    for name in (TRACE, PART):
        attributes.pop(name, None)
    said = {*override.spans, *map(slot, override.refs)}
    kept = [(f, n) for f, n in base.refs.items() if slot(f) not in said]
    arrivals = attributes.pop("arrivals", ("fixed", 1.0))
    rate_each = attributes.pop("rate_scope", None) == "each"
    total = attributes.pop("qd_scope", "each") == "total"
    shared = [attributes.pop(name, False) for name in ("qd_over_all", "rate_over_all")]
    attributes["over_all"] = any(shared)
    whole = {**IN_ORDER, **_both_sizes(attributes), "name": base.name}
    refs = (*kept, *override.refs.items())
    return ResolvedAttributes(whole, refs, arrivals, rate_each, total)


def _both_sizes(attributes: Attributes) -> Attributes:
    """Sizes of one direction serve the other where that does nothing."""
    sizes = attributes.get("read_sizes") or attributes.get("write_sizes")
    return {"read_sizes": sizes, "write_sizes": sizes, **attributes}


resolved_attributes = ByIdentity(_merged)


def _stream(base: StreamTemplate, override: StreamTemplate, cell: Cell) -> Stream:
    """A stream from attributes that the checker has seen; no second validation."""
    attributes, refs, arrivals, rate_each, total = resolved_attributes.of(
        base, override
    )
    made = attributes.copy()
    for field, amount in refs:
        made.update(_converted(field, amount_of(amount, cell)))
    for axis, value in cell.items():
        if value.attributes is not None and (
            "." not in axis or axis.rpartition(".")[0] == base.name
        ):  # `qd` concerns every stream, `reader.qd` one
            made.update(value.attributes)
    if total:
        made["qd"] = made["qd"] // made["threads"]
    arrivals = made.pop("arrivals", arrivals)  # an axis says it as well
    if "read_random" in made or "write_random" in made:
        _share_random(made)
    if made["rate"]:
        times = made["threads"] if rate_each else 1
        made["rate"] = _rate(made["rate"], times, arrivals)
    return Stream.complete(made)


def _share_random(made: Attributes) -> None:
    """How much is random, by direction where both are used and differ."""
    reads, writes = made.pop("read_random", 100.0), made.pop("write_random", 100.0)
    if made["trim_percent"] == 0 and made["read_percent"] in (0.0, 100.0):
        reads = writes = reads if made["read_percent"] else writes
    made["random_percent"] = reads
    made["write_random_percent"] = writes if writes != reads else None


@lru_cache(maxsize=4096)
def _converted(field: str, quantity: Quantity) -> Attributes:
    return CONVERTED[field](quantity)


@lru_cache(maxsize=1024)
def _rate(template: tuple[Any, ...], times: int, arrivals: tuple[Any, float]) -> Rate:
    """The rate of a template, `times` as high, in phases or as a ramp if it says so."""
    kind, per_s, *shape = template
    process, variation = arrivals
    values: Attributes = {"iops" if kind == "iops" else "bytes_per_s": per_s * times}
    for form, parts in shape:
        values |= _ramp(parts, times) if form == "ramp" else _phases(parts, times)
    return Rate.model_construct(**values, arrivals=process, gap_variation=variation)


def _ramp(ends: tuple[float, float], times: int) -> Attributes:
    first, last = ends
    return {"first_per_s": first * times, "last_per_s": last * times}


def _phases(parts: tuple[tuple[int, float, str], ...], times: int) -> Attributes:
    phases = (
        RatePhase.model_construct(length_ns=length_ns, per_s=per_s * times, name=name)
        for length_ns, per_s, name in parts
    )
    return {"phases": tuple(phases)}


def amount_of(amount: Amount, cell: Cell) -> Quantity:
    """A quantity, closed by the cell where it is open."""
    return amount if isinstance(amount, Quantity) else amount.value_in(cell)


def scaled_ns(duration: Quantity, scale: float) -> int:
    """A duration in ns, multiplied by the plan's time scale."""
    return max(1, round(duration.value * scale))
