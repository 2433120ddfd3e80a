"""A stream in the making: what its clauses say, and what is added to it."""

from __future__ import annotations

from collections.abc import Iterator

from ioplan.language.clause_table import AXIS_FIELDS, slot
from ioplan.language.fields import Attributes
from ioplan.language.plan import (
    Axis,
    CellValue,
    OpenAmount,
    StreamTemplate,
    WorkloadTemplate,
)
from ioplan.language.replayed import with_trace
from ioplan.language.syntax.source import Span

# What the axes of a test decide of a stream.


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


class StreamBuilder:
    """A stream in the making: what has been said, and where."""

    def __init__(self) -> None:
        self.attributes: Attributes = {}
        self.refs: dict[str, OpenAmount] = {}
        self.spans: dict[str, Span] = {}

    def put(self, field: str, attributes: Attributes, span: Span) -> None:
        """Set what a clause decides; an open field of the same slot is closed."""
        self.refs = {f: n for f, n in self.refs.items() if slot(f) != slot(field)}
        self.attributes.update(attributes)
        self.spans[slot(field)] = span

    def refer(self, field: str, amount: OpenAmount, span: Span) -> None:
        """Leave a field to axes."""
        self.refs = {f: n for f, n in self.refs.items() if slot(f) != slot(field)}
        self.refs[field] = amount
        self.spans[slot(field)] = span

    def template(self) -> StreamTemplate:
        """The finished stream."""
        return StreamTemplate(
            attributes=self.attributes, refs=self.refs, spans=self.spans
        )


def overridden_by(base: StreamTemplate, added: StreamTemplate) -> StreamTemplate:
    """A stream with what is added to it; the addition wins."""
    said = {slot(field) for field in added.refs} | set(added.spans)
    refs = {f: n for f, n in base.refs.items() if slot(f) not in said}
    return StreamTemplate(
        name=base.name,
        attributes=with_trace({**base.attributes, **added.attributes}),
        refs={**refs, **added.refs},
        spans={**base.spans, **added.spans},
    )
