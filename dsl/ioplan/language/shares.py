"""Checks `sizes { … }` and `hotspots { … }`, whose shares add up to 100 %."""

from __future__ import annotations

from collections.abc import Iterable

from ioplan.language import tree
from ioplan.language.draft import Draft
from ioplan.language.fields import io_size, percent
from ioplan.language.quantity import Quantity, QuantityError
from ioplan.language.scope import Scope
from ioplan.language.source import Span
from ioplan.workload import Hotspot, Hotspots, SizeShare


def sizes(clause: tree.Clause, scope: Scope, draft: Draft) -> None:
    shares = [_share(pair, scope) for pair in clause.pairs]
    if any(share is None for share in shares):
        return
    sizes = tuple(share for share in shares if share)
    _adds_up((s.percent for s in sizes), "the shares", clause.span, scope)
    distinct = {share.size_bytes for share in sizes}
    if len(distinct) < len(sizes):
        scope.findings.error("a size stands twice", clause.span, "add its shares up")
    names = {
        "sizes": ("read_sizes", "write_sizes"),
        "read sizes": ("read_sizes",),
        "write sizes": ("write_sizes",),
    }
    draft.put(clause.kind, dict.fromkeys(names[clause.kind], sizes), clause.span)


def _share(pair: tuple[tree.Atom, tree.Atom], scope: Scope) -> SizeShare | None:
    size_atom, share_atom = pair
    size = scope.quantity(size_atom, "a size of a distribution")
    share = scope.quantity(share_atom, "a share of a distribution")
    if size is None or share is None:
        return None
    guarded = scope.parameters.guarded
    size_bytes = guarded(size_atom.span, lambda: io_size(size))
    shared = guarded(share_atom.span, lambda: _positive(share))
    if size_bytes is None or shared is None:
        return None
    return SizeShare(size_bytes=size_bytes, percent=shared)


def hotspots(clause: tree.Clause, scope: Scope, draft: Draft) -> None:
    spots = [_spot(pair, scope) for pair in clause.pairs]
    if any(spot is None for spot in spots):
        return
    made = tuple(spot for spot in spots if spot)
    _adds_up((s.io_percent for s in made), "the shares of I/O", clause.span, scope)
    _adds_up((s.space_percent for s in made), "the shares of space", clause.span, scope)
    draft.put("hotspots", {"distribution": Hotspots(spots=made)}, clause.span)


def _spot(pair: tuple[tree.Atom, tree.Atom], scope: Scope) -> Hotspot | None:
    shares = [scope.quantity(atom, "a share of a hotspot") for atom in pair]
    made = [
        scope.judged(share, atom, _positive) if share else None
        for share, atom in zip(shares, pair, strict=True)
    ]
    io_share, space_share = made
    if io_share is None or space_share is None:
        return None
    return Hotspot(io_percent=io_share, space_percent=space_share)


def _positive(share: Quantity) -> float:
    value = percent(share, "a share")
    if value <= 0:
        raise QuantityError("a share is more than 0 %", "leave the entry out")
    return value


def _adds_up(shares: Iterable[float], what: str, span: Span, scope: Scope) -> None:
    total = round(sum(shares), 6)
    if total != 100:
        scope.findings.error(f"{what} add up to {total:g} %, not 100 %", span)
