"""A stream in the making: what its clauses say, and what is added to it."""

from __future__ import annotations

from ioplan.language.clause_table import slot
from ioplan.language.fields import Attributes
from ioplan.language.plan import OpenAmount, StreamTemplate
from ioplan.language.replayed import with_trace
from ioplan.language.syntax.source import Span


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
