"""Closes what a template leaves open: template + cell -> workload."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from ioplan.language.fields import FIELDS, Attributes, slot
from ioplan.language.plan import (
    Amount,
    CellValue,
    Ref,
    StreamTemplate,
    WorkloadTemplate,
)
from ioplan.language.quantity import Quantity
from ioplan.workload import STREAM_DEFAULTS, Rate, Stream, Workload

Cell = Mapping[str, CellValue]


def workload_of(
    base: WorkloadTemplate, override: StreamTemplate, cell: Cell
) -> Workload:
    """The workload of one cell: base, then the step's own clauses, then the axes."""
    varied = cell.get("workload")
    if varied and varied.workload:
        base = varied.workload
    streams = tuple(_stream(stream, override, cell) for stream in base.streams)
    return Workload.complete({"streams": streams})


def _stream(base: StreamTemplate, override: StreamTemplate, cell: Cell) -> Stream:
    attributes = {**base.attributes, **override.attributes}
    said = {*override.spans, *map(slot, override.refs)}
    kept = {f: n for f, n in base.refs.items() if slot(f) not in said}
    for field, name in (*kept.items(), *override.refs.items()):
        attributes.update(_converted(field, cell[name].quantity))
    for axis, value in cell.items():
        if value.attributes is not None and _concerns(axis, base.name):
            attributes.update(value.attributes)
    return finished(base.name, attributes)


def _concerns(axis: str, stream: str) -> bool:
    """`qd` concerns every stream, `reader.qd` one."""
    prefix, dot, _ = axis.rpartition(".")
    return not dot or prefix == stream


@lru_cache(maxsize=4096)
def _converted(field: str, quantity: Quantity) -> Attributes:
    return FIELDS[field](quantity)


def finished(name: str, attributes: Mapping[str, Any]) -> Stream:
    """A stream from attributes that the checker has seen; no second validation."""
    made = dict(attributes)
    arrivals = made.pop("arrivals", "fixed")
    if made.pop("qd_scope", "each") == "total":
        made["qd"] = made["qd"] // made.get("threads", 1)
    if made.get("rate"):
        made["rate"] = _rate(*made["rate"], arrivals)
    made.setdefault("read_sizes", made.get("write_sizes"))
    made.setdefault("write_sizes", made["read_sizes"])
    return Stream.complete({**STREAM_DEFAULTS, **made, "name": name})


@lru_cache(maxsize=1024)
def _rate(kind: str, value: float, arrivals: Any) -> Rate:
    if kind == "iops":
        return Rate(iops=value, arrivals=arrivals)
    return Rate(bytes_per_s=value, arrivals=arrivals)


def amount_of(amount: Amount, cell: Cell) -> Quantity:
    """A quantity, closed by the cell where it is open."""
    if not isinstance(amount, Ref):
        return amount
    found = cell[amount.name].quantity
    assert found is not None, "the checker gives every name its quantity"
    return found


def scaled_ns(duration: Quantity, scale: float) -> int:
    """A duration in ns, multiplied by the plan's time scale."""
    return max(1, round(duration.value * scale))
