"""Checks size distributions and hotspots, whose shares add up to 100 %."""

from __future__ import annotations

from collections.abc import Iterable

from ioplan.language.checker.scope import Scope
from ioplan.language.checker.streams.stream_builder import StreamBuilder
from ioplan.language.fields import Attributes, io_size, percent
from ioplan.language.quantity import Quantity, QuantityError
from ioplan.language.syntax import tree
from ioplan.language.syntax.source import Span
from ioplan.workload import Hotspot, Hotspots, SizeShare

MOST_SIZES = 1024
"""So many sizes a range may have."""


def sizes(clause: tree.Clause, scope: Scope, draft: StreamBuilder) -> None:
    if clause.atoms:
        sizes = _stepped_sizes(clause, scope)
    else:
        sizes = _shared_sizes(clause, scope)
    if not sizes:
        return
    distinct = {share.size_bytes for share in sizes}
    if len(distinct) < len(sizes):
        scope.findings.error("a size is listed twice", clause.span, "add its shares up")
    names = {
        "sizes": ("read_sizes", "write_sizes"),
        "read sizes": ("read_sizes",),
        "write sizes": ("write_sizes",),
    }
    draft.put(clause.kind, dict.fromkeys(names[clause.kind], sizes), clause.span)


def _shared_sizes(clause: tree.Clause, scope: Scope) -> tuple[SizeShare, ...]:
    """`{ 4KiB 60%, 64KiB 40% }`; nothing, with an error, if it is wrong."""
    with scope.findings.listing():
        shares = [_share(pair, scope) for pair in clause.pairs]
    sizes = tuple(share for share in shares if share)
    if len(sizes) < len(shares):
        return ()
    _adds_up((s.percent for s in sizes), "the shares", clause.span, scope)
    return sizes


def _stepped_sizes(clause: tree.Clause, scope: Scope) -> tuple[SizeShare, ...]:
    """`4KiB..64KiB step 4KiB`: equal shares; nothing, with an error, if it is wrong."""
    first, last, step = (_range_size(atom, scope) for atom in clause.atoms)
    if first is None or last is None or step is None:
        return ()
    if last <= first or (last - first) % step or (last - first) // step >= MOST_SIZES:
        scope.findings.error(
            f"the range must have a whole number of steps, from 1 to {MOST_SIZES - 1}",
            clause.span,
            "for example sizes 4KiB..64KiB step 4KiB",
        )
        return ()
    each = range(first, last + 1, step)
    share = 100 / len(each)
    return tuple(SizeShare.model_construct(size_bytes=s, percent=share) for s in each)


def _range_size(atom: tree.Atom, scope: Scope) -> int | None:
    size = scope.quantity(atom, "a size of a range")
    if size is None:
        return None
    return scope.parameters.guarded(atom.span, lambda: io_size(size))


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
    return SizeShare.model_construct(size_bytes=size_bytes, percent=shared)


def hotspots(clause: tree.Clause, scope: Scope, draft: StreamBuilder) -> None:
    if made := spots_of(clause.pairs, clause.span, scope):
        draft.put("hotspots", made, clause.span)


def spots_of(
    pairs: tuple[tuple[tree.Atom, tree.Atom], ...], span: Span, scope: Scope
) -> Attributes | None:
    """Hotspots from shares of I/O in shares of space."""
    with scope.findings.listing():
        spots = [_spot(pair, scope) for pair in pairs]
    if any(spot is None for spot in spots):
        return None
    made = tuple(spot for spot in spots if spot)
    _adds_up((s.io_percent for s in made), "the shares of I/O", span, scope)
    _adds_up((s.space_percent for s in made), "the shares of space", span, scope)
    return {"distribution": Hotspots.model_construct(spots=made)}


def _spot(pair: tuple[tree.Atom, tree.Atom], scope: Scope) -> Hotspot | None:
    shares = [scope.quantity(atom, "a share of a hotspot") for atom in pair]
    made = [
        scope.judged(share, atom, _positive) if share else None
        for share, atom in zip(shares, pair, strict=True)
    ]
    io_share, space_share = made
    if io_share is None or space_share is None:
        return None
    return Hotspot.model_construct(io_percent=io_share, space_percent=space_share)


def _positive(share: Quantity) -> float:
    value = percent(share, "a share")
    if value <= 0:
        raise QuantityError("a share must be more than 0 %", "leave the entry out")
    return value


def _adds_up(shares: Iterable[float], what: str, span: Span, scope: Scope) -> None:
    total = round(sum(shares), 6)
    if total != 100:
        scope.findings.error(f"{what} add up to {total:g} %, not 100 %", span)
