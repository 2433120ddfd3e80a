"""How many I/Os of a trace were outstanding, from how long each took."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from ioplan.trace.prepared import NO_RESPONSE, Ios

COLUMNS = 48
"""So many equal parts of a trace are told apart where it is drawn."""


class Outstanding(Struct, frozen=True):
    """Of I/Os whose completion is known, all others are `unknown`.

    `mean` is over the time to the last arrival, `most` and `along` (the most in each
    of COLUMNS parts of that time) are what arrivals find, with themselves.
    """

    mean: float
    most: int
    along: tuple[int, ...]
    unknown: int


class Waiting:
    """Goes through a trace in the order of its times."""

    def __init__(self, span_ns: int) -> None:
        self.span_ns, self.unknown, self.busy_ns = span_ns, 0, 0.0
        self.along = np.zeros(COLUMNS, np.int64)
        self.ends = np.empty(0, "u8")

    def add(self, ios: Ios) -> None:
        """The next part of it."""
        known = ios[ios["response_ns"] != NO_RESPONSE]
        self.unknown += len(ios) - len(known)
        if not len(known):
            return
        times, before = known["time_ns"], len(self.ends)
        ends = times + known["response_ns"]
        inside = np.minimum(ends, np.uint64(self.span_ns)) - times
        self.busy_ns += float(inside.sum(dtype=np.float64))
        self.ends = np.sort(np.concatenate((self.ends, ends)))
        over = np.searchsorted(self.ends, times, "right")
        begun = before + np.arange(1, len(times) + 1)
        found = np.maximum(begun - over, 1)  # what took no time was there
        np.maximum.at(self.along, columns_of(times, self.span_ns), found)
        self.ends = self.ends[over[-1] :]

    def found(self) -> Outstanding:
        """Of all of it."""
        mean = self.busy_ns / self.span_ns if self.span_ns else 0.0
        along = tuple(self.along.tolist())
        return Outstanding(mean, max(along), along, self.unknown)


def columns_of(times: npt.NDArray[np.uint64], span_ns: int) -> npt.NDArray[np.int64]:
    """In which part of the trace each time is."""
    columns = (times * (COLUMNS / max(1, span_ns))).astype(np.int64)
    return np.minimum(columns, COLUMNS - 1)
