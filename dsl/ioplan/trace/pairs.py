"""Events of the kernel that tell when I/Os were complete, brought to the I/Os."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

from ioplan.trace.prepared import NO_RESPONSE
from ioplan.trace.rows import Found, Row

MOST_WAITING = 1 << 16
"""So many I/Os wait for the completion of the first of them, and then no longer."""


class Done(NamedTuple):
    """A completion: of one I/O, of several that were merged, or of a part of one.

    Of I/Os at one place it is that of the first of its `kind`, if that is known.
    """

    time_ns: int
    offset: int
    size: int
    volume: str
    kind: int | None = None


class _Begun:
    """An I/O, how much of it is not complete, and how long it has taken."""

    def __init__(self, row: Row) -> None:
        self.row, self.rest, self.response_ns = row, row.size, NO_RESPONSE

    @property
    def is_over(self) -> bool:
        return self.rest <= 0


def paired(events: Iterator[Row | Done], found: Found) -> Iterator[Row]:
    """The I/Os in their order, with how long each took, where a completion tells.

    A flush has no place by which to find its completion.
    """
    begun: deque[_Begun] = deque()
    open_at: dict[tuple[str, int], deque[_Begun]] = {}
    for event in events:
        if isinstance(event, Done):
            _complete(event, open_at)
        elif not found.pairs:
            yield event
            continue
        else:
            begun.append(one := _Begun(event))
            if event.size:
                open_at.setdefault((event.volume, event.offset), deque()).append(one)
        while begun and (begun[0].is_over or len(begun) > MOST_WAITING):
            yield _told(begun.popleft(), open_at)
    yield from (_told(one, open_at) for one in begun)


def _told(one: _Begun, open_at: dict[tuple[str, int], deque[_Begun]]) -> Row:
    if not one.is_over:
        _forget(one, open_at)
    return one.row._replace(response_ns=one.response_ns)


def _complete(done: Done, open_at: dict[tuple[str, int], deque[_Begun]]) -> None:
    """Those that begin where it does, or where one of these ends; or what it is in."""
    at, end = done.offset, done.offset + done.size
    while at < end:
        near = open_at.get((done.volume, at))
        one = _first(near, done.kind) if near else _around(done, at, open_at)
        if one is None:
            return
        ends = min(end, one.row.offset + one.row.size)
        one.rest -= ends - at
        if one.is_over:
            one.response_ns = max(0, done.time_ns - one.row.time_ns)
            _forget(one, open_at)
        at = ends


def _first(ones: deque[_Begun], kind: int | None) -> _Begun:
    """The first of this kind; else what is known of kinds is wrong."""
    return next((one for one in ones if kind in (None, one.row.kind)), ones[0])


def _around(
    done: Done, at: int, open_at: dict[tuple[str, int], deque[_Begun]]
) -> _Begun | None:
    """One that has begun and of which this is a later part."""
    for (name, offset), ones in open_at.items():
        one = _first(ones, done.kind)
        if name == done.volume and offset < at < offset + one.row.size:
            return one
    return None


def _forget(one: _Begun, open_at: dict[tuple[str, int], deque[_Begun]]) -> None:
    place = one.row.volume, one.row.offset
    if place in open_at and one in open_at[place]:
        open_at[place].remove(one)
        if not open_at[place]:
            del open_at[place]
