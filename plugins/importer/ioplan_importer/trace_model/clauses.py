"""Fitted phases as the streams of a plan."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import floor, log10

from ioplan.language import make, size_text
from ioplan_importer.outline import (
    Length,
    PlanOutline,
    StreamOutline,
    TestOutline,
)
from ioplan_importer.trace_model.fit import (
    CELLS,
    FIXED,
    PARTS,
    PLACE_PARTS,
    POISSON,
    Fit,
    Sizes,
)

QD = 256
"""As of a replay: the most that is outstanding of an open loop."""
REGION_UNIT = 1 << 20
TIME_DIGITS = 5
DIRECTIONS = ("read", "write")


def outline(name: str, fits: Sequence[Fit], end_bytes: int) -> PlanOutline:
    """One test, of which each phase is a stream that starts behind the one before."""
    length_ns = _rounded(fits[-1].end_ns, fits[-1].end_ns)
    streams = tuple(
        StreamOutline(_name(at, fits), dict(_clauses(one, length_ns)))
        for at, one in enumerate(fits)
    )
    space = size_text(-(-end_bytes // REGION_UNIT) * REGION_UNIT)
    length = Length(f"for {make('time', length_ns).text}", length_ns)
    test = TestOutline("The recorded load", streams, length)
    return PlanOutline(f"Model of {name}", (test,), params={"space": space})


def _name(at: int, fits: Sequence[Fit]) -> str:
    return f"phase_{at + 1}" if len(fits) > 1 else "load"


def _clauses(one: Fit, length_ns: int) -> Iterator[tuple[str, str]]:
    yield from _pattern(one)
    yield from _sizes(one.sizes)
    yield "mix", f"{_percent(one.reads)}/{_percent(PARTS - one.reads)}"
    yield "qd", f"qd {QD}"
    yield "rate", f"rate {_number(one.iops)} iops{_arrivals(one.variation)}"
    yield "region", "region 0%..space"
    if one.discards:
        yield "trim", f"trim {_percent(one.discards)}%"
    if one.flush_every:
        yield "sync", f"flush every {one.flush_every}"
    if one.fua:
        yield "fua", "fua"
    start_ns, end_ns = (_rounded(at, length_ns) for at in (one.start_ns, one.end_ns))
    if start_ns:
        yield "starts", f"starts after {make('time', start_ns).text}"
    if end_ns < length_ns:
        yield "ends", f"ends after {make('time', end_ns).text}"


def _arrivals(variation: float) -> str:
    known = {FIXED: "", POISSON: " poisson"}
    return known.get(variation, f" gamma {_number(variation)}")


def _pattern(one: Fit) -> Iterator[tuple[str, str]]:
    """Random with its share by direction, unless hardly anything is."""
    if max(one.random) <= 1:
        yield "pattern", "sequential"
        return
    yield "pattern", "random"
    for direction, share in zip(DIRECTIONS, one.random, strict=True):
        if 0 < share < PARTS:
            text = f"{direction} random {_percent(share)}%"
            yield f"{direction} random", text
    if len(one.places) > 1:
        places = ", ".join(_place(*place) for place in one.places)
        yield "distribution", f"hotspots {{ {places} }}"


def _place(count: int, width: int) -> str:
    shares = (100 * count / PLACE_PARTS, 100 * width / CELLS)
    return " in ".join(f"{_number(share)}%" for share in shares)


def _sizes(sizes: tuple[Sizes, Sizes]) -> Iterator[tuple[str, str]]:
    """One clause, where both directions have the same or only one has any."""
    reads, writes = sizes
    if not reads or not writes or reads == writes:
        only = reads or writes
        first, *more = only
        yield "size", f"sizes {{ {_shares(only)} }}" if more else size_text(first)
        return
    for direction, found in zip(DIRECTIONS, sizes, strict=True):
        yield f"{direction} sizes", f"{direction} sizes {{ {_shares(found)} }}"


def _shares(sizes: Sizes) -> str:
    return ", ".join(f"{size_text(s)} {_percent(n)}%" for s, n in sizes.items())


def _percent(parts: int) -> str:
    return _number(100 * parts / PARTS)


def _number(value: float) -> str:
    """At most two places, and never 0."""
    return f"{max(0.01, value) if value else 0:.2f}".rstrip("0").rstrip(".")


def _rounded(time_ns: int, length_ns: int) -> int:
    """To so many digits of the length; never beyond it."""
    unit: int = 10 ** max(0, floor(log10(length_ns)) + 1 - TIME_DIGITS)
    return -(-time_ns // unit) * unit
