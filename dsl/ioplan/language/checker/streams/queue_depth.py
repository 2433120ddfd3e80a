"""Checks queue depth and rate of a stream with several threads."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from itertools import product
from typing import Any

from ioplan.language.bind.bind import amount_of
from ioplan.language.checker.scope import Scope
from ioplan.language.checker.streams.stream_builder import values_of
from ioplan.language.plan import Axis, CellValue, StreamTemplate, axes_of
from ioplan.language.quantity import QuantityError
from ioplan.language.syntax.source import Span

ARRIVALS = re.compile(r"\s+(poisson|gamma\b.*)$", re.DOTALL)
WHOSE = (("qd", "queue depth"), ("rate", "rate"))


def check_depth(
    stream: StreamTemplate, axes: tuple[Axis, ...], where: Span, scope: Scope
) -> None:
    """With several threads the plan says whose queue depth and rate it means."""
    if not any(threads > 1 for threads, _ in _depths(stream, axes)):
        return
    for what, name in WHOSE:
        span, varied = stream.spans.get(what), values_of(what, stream.name, axes)
        given = what in stream.spans or varied
        if given and stream.attributes.get(f"{what}_scope") is None:
            first = varied[0].text if varied else ""
            said = ARRIVALS.sub("", span.text) if span else f"{what} {first}"
            said, over, _ = said.partition(" over all")
            scope.findings.error(
                f"with more than one thread, {name} needs each or total",
                span or where,
                f"{said} each{over} (per thread), or: {said} total{over}; an axis "
                "changes only "
                "the number",
            )
    whose = stream.attributes.get("qd_scope")
    if whose != "total":
        return
    for threads, qd in _depths(stream, axes):
        if qd % threads:
            scope.findings.error(
                f"a total queue depth of {qd} does not divide by {threads} threads",
                stream.spans.get("qd", where),
            )
            return


def _depths(
    stream: StreamTemplate, axes: tuple[Axis, ...]
) -> Iterator[tuple[int, int]]:
    """All pairs of threads and queue depth that may meet."""
    concerned = [a for a in axes if _concerns(a, stream)]
    for rows in product(*(axis.values for axis in concerned)):
        cell = {
            name: value
            for axis, row in zip(concerned, rows, strict=True)
            for name, value in zip(axis.names, row, strict=True)
        }
        fields: dict[str, Any] = dict(stream.attributes)
        for name, value in cell.items():
            fields.update(_decided(name, value, stream))
        fields.update(_reckoned(stream, cell))
        yield fields.get("threads", 1), fields.get("qd", 1)


def _decided(name: str, value: CellValue, stream: StreamTemplate) -> dict[str, Any]:
    if value.attributes is None or name.rpartition(".")[0] not in ("", stream.name):
        return {}
    return value.attributes


def _reckoned(stream: StreamTemplate, cell: dict[str, CellValue]) -> dict[str, Any]:
    """Threads and depth that names decide; other rules judge them."""
    found: dict[str, Any] = {}
    for field in (field for field in DEPTH if field in stream.refs):
        amount = stream.refs[field]
        with suppress(QuantityError):
            known = all(name in cell for name in axes_of(amount))
            found[field] = (amount_of(amount, cell).whole if known else None) or 1
    return found


DEPTH = ("qd", "threads")


def _concerns(axis: Axis, stream: StreamTemplate) -> bool:
    refs = {name for field in DEPTH for name in axes_of(stream.refs.get(field))}
    return any(n in refs or n.rpartition(".")[2] in DEPTH for n in axis.names)
