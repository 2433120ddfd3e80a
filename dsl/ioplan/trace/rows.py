"""I/Os as readers give them, gathered into the records of a trace file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from msgspec import Struct, field

from ioplan.trace.facts import TraceError
from ioplan.trace.prepared import (
    ANSWERED,
    DTYPE,
    FLUSH,
    NO_RESPONSE,
    READ,
    WRITE,
)

SECTOR = 512
FUA = 1
"""A flag of a record."""
MOST_BYTES = 2**63 - 1
MOST_SIZE = 2**32 - 1
MOST_NS = 2**63 - 1
"""292 years."""
MOST_DIGITS = 39
"""More has no number of 128 bits."""
CHUNK = 1 << 16
DIRECTIONS = {"R": READ, "W": WRITE, "READ": READ, "WRITE": WRITE}


class Row(NamedTuple):
    """One I/O; its time counts from anywhere, `volume` is the device that it is for.

    `response_ns` is how long it took, in a trace that `answers`.
    """

    time_ns: int
    kind: int
    offset: int
    size: int
    volume: str = ""
    flags: int = 0
    response_ns: int = NO_RESPONSE


class Found(Struct):
    """What a reader found besides the I/Os: nothing is left out without a count.

    `left_out` counts by reason, `volumes` the I/Os of each device, `backwards` those
    with an earlier time than one before. `event` is that of the kernel's that is taken,
    `completion` that which ends it, `waited_ns` the time that waits of fio's have
    reached. A trace `answers` if it says how long I/Os took, which is known before the
    first of them; it `pairs` if completions are events of their own (`pairs.py`).
    """

    left_out: Counter[str] = field(default_factory=Counter)
    volumes: Counter[str] = field(default_factory=Counter)
    backwards: int = 0
    event: str = "Q"
    completion: str = "C"
    waited_ns: int = 0
    answers: bool = False
    pairs: bool = False
    first_ns: int | None = None
    last_ns: int = 0


def direction(word: str) -> int:
    """Raises TraceError."""
    found = DIRECTIONS.get(word.upper())
    if found is None:
        raise TraceError(f"{word!r} is neither read nor write")
    return found


def number(text: str) -> int:
    """A count, 0 or more. Raises TraceError: `nan` and `-1` are none."""
    if not (text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS):
        raise TraceError(f"{text[:MOST_DIGITS]!r} is no number")
    return int(text)


def time_ns(text: str, unit_ns: int) -> int:
    """A decimal number of units, to the nanosecond. Raises TraceError."""
    whole, _, part = text.partition(".")
    return number(whole) * unit_ns + number(part.ljust(9, "0")[:9]) * unit_ns // 10**9


def chunks(
    rows: Iterator[Row], found: Found, volume: str | None
) -> Iterator[npt.NDArray[np.void]]:
    """Records of the I/Os of one device, in the order in which they come.

    Their times count from the first of them, whatever its clock said. Raises
    TraceError for what no device could have.
    """
    kept: list[tuple[int, ...]] = []
    for row in rows:
        found.volumes[row.volume] += 1
        if volume is not None and row.volume != volume:
            found.left_out["of other devices"] += 1
        elif row.size == 0 and row.kind != FLUSH:
            found.left_out["of 0 bytes"] += 1
        else:
            kept.append(_record(row, found))
        if len(kept) == CHUNK:
            yield np.array(kept, ANSWERED if found.answers else DTYPE)
            kept = []
    if kept:
        yield np.array(kept, ANSWERED if found.answers else DTYPE)


def checked(row: Row) -> Row:
    """Raises TraceError for what no device could do."""
    if row.offset + row.size > MOST_BYTES:
        raise TraceError(f"the offset {row.offset} is beyond any device")
    if row.size > MOST_SIZE:
        raise TraceError(f"an I/O of {row.size} bytes")
    if MOST_NS < row.response_ns != NO_RESPONSE:
        raise TraceError(f"an I/O that took {row.response_ns} ns")
    return row


def _record(row: Row, found: Found) -> tuple[int, ...]:
    checked(row)
    if found.first_ns is None:
        found.first_ns = found.last_ns = row.time_ns
    found.backwards += row.time_ns < found.last_ns
    found.last_ns = max(found.last_ns, row.time_ns)
    since_ns = row.time_ns - found.first_ns
    if abs(since_ns) > MOST_NS:
        raise TraceError(f"an I/O is {since_ns} ns from the first one")
    offset = 0 if row.kind == FLUSH else row.offset
    size = 0 if row.kind == FLUSH else row.size
    # an earlier one than the first is kept as negative until all are sorted
    told = since_ns % 2**64, offset, size, row.kind, row.flags, 0
    return (*told, row.response_ns) if found.answers else told
