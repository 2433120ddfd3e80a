"""Values that take more than one quantity: `0%..50%`, `compressible 50%`."""

from __future__ import annotations

from ioplan.language.check.scope import Scope
from ioplan.language.fields import Attributes, data_of, percent
from ioplan.language.quantity import make
from ioplan.language.syntax import tree
from ioplan.language.syntax.source import Span
from ioplan.workload import Data, Region


def region_of(
    first: tree.Atom, last: tree.Atom, span: Span, scope: Scope
) -> Attributes | None:
    """A part of the target from its two edges."""
    edges = [_edge(atom, scope) for atom in (first, last)]
    start, end = edges
    if start is None or end is None:
        return None
    if start >= end:
        scope.findings.error("the region is empty", span, "for example region 0%..50%")
        return None
    return {"region": Region.model_construct(start_percent=start, end_percent=end)}


def _edge(atom: tree.Atom, scope: Scope) -> float | None:
    edge = scope.quantity(atom, "a region's edge")
    if edge is None:
        return None
    return scope.parameters.guarded(atom.span, lambda: percent(edge, "a region's edge"))


def region_text(region: Region) -> str:
    """A region as a plan writes it, and conditions compare it: `0%..50%`."""
    edges = (region.start_percent, region.end_percent)
    return "..".join(make("share", edge).text for edge in edges)


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
