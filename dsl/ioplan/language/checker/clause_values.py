"""Values that take more than one quantity: `0%..50%`, `compressible 50%`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from ioplan.language.checker.scope import Scope
from ioplan.language.fields import (
    WHOLE_PERCENT,
    Attributes,
    data_of,
    gap_variation,
    percent,
    phase_length,
    phase_rate,
    region_edge,
)
from ioplan.language.quantity import Kind, Quantity, make
from ioplan.language.syntax import tree
from ioplan.language.syntax.source import Span
from ioplan.workload import Arrivals, Data, Region

Made = TypeVar("Made")
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


Arriving = tuple[Arrivals, float]
"""How I/Os arrive, and for gamma arrivals how much their gaps vary."""
RateShape = tuple[str, tuple[Any, ...]]
"""How a rate changes: in phases of ns and per second, or from the first to the last."""


def phases_from(clause: tree.Clause, scope: Scope) -> Attributes | None:
    """`burst 5s of 50_000 iops, then 5s of 5_000 iops`: the mean, and the phases."""
    lengths = [_judged(a, "a phase", phase_length, scope) for a, *_ in clause.pairs]
    rates = [_judged(a, "a rate", phase_rate, scope) for _, a, _ in clause.pairs]
    found = [(ns, rate) for ns, rate in zip(lengths, rates, strict=True) if ns and rate]
    if len(found) < len(clause.pairs):
        return None
    names = [str(name or "") for *_, name in clause.pairs]
    if not _named_once(names, clause.span, scope):
        return None
    phases = tuple(
        (length_ns, per_s, name)
        for (length_ns, (_, per_s)), name in zip(found, names, strict=True)
    )
    if len(phases) < 2:
        scope.findings.error(
            "a burst needs at least two phases",
            clause.span,
            "for example burst 5s of 50_000 iops, then 5s of 5_000 iops",
        )
        return None
    whole_ns = sum(length_ns for length_ns, *_ in phases)
    mean = sum(length_ns * per_s for length_ns, per_s, _ in phases) / whole_ns
    kinds = {kind for _, (kind, _) in found}
    return _changing(kinds, mean, ("phases", phases), clause.span, scope)


def _named_once(names: list[str], span: Span, scope: Scope) -> bool:
    for name in filter(None, names):
        if names.count(name) > 1:
            scope.findings.error(
                f"two phases are called {name!r}", span, "give each a name of its own"
            )
            return False
    return True


def ramp_from(clause: tree.Clause, scope: Scope) -> Attributes | None:
    """`ramp 1_000 iops..100_000 iops`: the mean, and both ends."""
    ends = [_judged(atom, "a rate", phase_rate, scope) for atom in clause.atoms[:2]]
    known = [end for end in ends if end]
    if len(known) < len(ends):
        return None
    (kind, first), (other, last) = known
    if kind == other and first == last:
        scope.findings.error(
            "a ramp goes from one rate to another",
            clause.span,
            f"or: rate {clause.atoms[0].span.one_line}",
        )
        return None
    shape = ("ramp", (first, last))
    return _changing({kind, other}, (first + last) / 2, shape, clause.span, scope)


def gamma_from(atom: tree.Atom, scope: Scope) -> Arriving | None:
    """`gamma 1.33`: gaps with that coefficient of variation."""
    variation = _judged(atom, "the variation of gaps", gap_variation, scope)
    return None if variation is None else ("gamma", variation)


def _judged(
    atom: tree.Atom, what: str, judge: Callable[[Quantity], Made], scope: Scope
) -> Made | None:
    found = scope.quantity(atom, what)
    return None if found is None else scope.judged(found, atom, judge)


def _changing(
    kinds: set[Kind], mean: float, shape: RateShape, span: Span, scope: Scope
) -> Attributes | None:
    """A rate with its mean, in I/Os or in bytes all the time."""
    if len(kinds) > 1:
        scope.findings.error(
            "its rates mix iops and bytes per second",
            span,
            "write all of them in one unit",
        )
        return None
    if not mean:
        scope.findings.error("its rates are all 0", span, "or write: idle 5s")
        return None
    return {"rate": (kinds.pop(), mean, shape)}
