"""What the axes of a test decide of a stream."""

from __future__ import annotations

from collections.abc import Iterator

from ioplan.language.clause_table import AXIS_FIELDS
from ioplan.language.plan import Axis, CellValue, WorkloadTemplate


def alternatives(
    base: WorkloadTemplate, axes: tuple[Axis, ...]
) -> Iterator[WorkloadTemplate]:
    """The workloads that a `workload` axis takes, or the step's own."""
    varied = [v.workload for v in values_of("workload", "", axes) if v.workload]
    yield from varied or [base]


def stream_names(base: WorkloadTemplate, axes: tuple[Axis, ...]) -> set[str]:
    """All stream names that may occur."""
    return {s.name for w in alternatives(base, axes) for s in w.streams}


def given_by(stream: str, axes: tuple[Axis, ...]) -> set[str]:
    """The fields that axes decide for a stream."""
    names = (name.rpartition(".") for axis in axes for name in axis.names)
    return {
        field
        for prefix, _, field in names
        if prefix in ("", stream) and field in AXIS_FIELDS
    }


def values_of(field: str, stream: str, axes: tuple[Axis, ...]) -> list[CellValue]:
    """The values that axes give to a field of a stream."""
    found: list[CellValue] = []
    for axis in axes:
        for position, name in enumerate(axis.names):
            if name in (field, f"{stream}.{field}"):
                found += [row[position] for row in axis.values]
    return found
