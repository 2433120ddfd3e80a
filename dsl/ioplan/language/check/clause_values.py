"""Values that take more than one quantity: `0%..50%`, `compressible 50%`."""

from __future__ import annotations

from ioplan.language.check.scope import Scope
from ioplan.language.fields import (
    WHOLE_PERCENT,
    Attributes,
    data_of,
    percent,
    region_edge,
)
from ioplan.language.quantity import make
from ioplan.language.syntax import tree
from ioplan.language.syntax.source import Span
from ioplan.workload import Data, Region

Edge = tuple[float, int]
"""A share of the target in percent, and bytes beyond it."""


def region_of(
    first: tree.Atom,
    last: tree.Atom,
    span: Span,
    scope: Scope,
    is_length: bool = False,
) -> Attributes | None:
    """A part of the target from its two edges, or from its first and its length."""
    start, end = (_edge(atom, scope) for atom in (first, last))
    if start is None or end is None:
        return None
    if is_length:
        end = start[0] + end[0], start[1] + end[1]
    if end[0] > WHOLE_PERCENT:
        help = f"it starts at {make('share', start[0]).text}"
        scope.findings.error("the region ends beyond the target", span, help)
        return None
    if start[0] >= end[0] and start[1] >= end[1]:
        scope.findings.error("the region is empty", span, "for example region 0%..50%")
        return None
    return {
        "region": Region.model_construct(
            start_percent=start[0],
            end_percent=end[0],
            start_bytes=start[1],
            end_bytes=end[1],
        )
    }


def _edge(atom: tree.Atom, scope: Scope) -> Edge | None:
    edge = scope.quantity(atom, "a region's edge")
    if edge is None:
        return None
    return scope.parameters.guarded(atom.span, lambda: region_edge(edge))


def region_text(region: Region) -> str:
    """A region as a plan writes it, and conditions compare it: `0%..50%`."""
    start = region.start_percent, region.start_bytes
    end = region.end_percent, region.end_bytes
    if all(end):  # a start and a length
        length = end[0] - start[0], end[1] - start[1]
        return f"{_edge_text(start)}..+{_edge_text(length)}"
    return f"{_edge_text(start)}..{_edge_text(end)}"


def _edge_text(edge: Edge) -> str:
    return make("size", edge[1]).text if edge[1] else make("share", edge[0]).text


def data_from(
    kind: str, atoms: tuple[tree.Atom, ...], scope: Scope
) -> Attributes | None:
    """What is written, from its word and perhaps its share."""
    if not atoms:
        return data_of(kind)
    share = scope.quantity(atoms[0], "the share that compresses")
    if share is None:
        return None
    made = scope.parameters.guarded(
        atoms[0].span, lambda: percent(share, "the share that compresses")
    )
    return None if made is None else data_of(kind, made)


def compressible_text(data: Data) -> str:
    """What is written, in the plan's words: `compressible 50%`."""
    return f"compressible {make('share', data.percent).text}"
