"""What may be started now, and for what the rest waits: pure, of rows and a moment.

Order: priority, then what was moved to the front, then whoever of the people was
served longest ago, then age. An entry whose drives are busy holds them against those
behind it, so that a group of many drives gets its turn; one whose drives are reserved
or out of service, or whose person has used up a quota, does not, as that may take days.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from ioplan_lab.desk.clock import time_in_words
from ioplan_lab.desk.queue.drives import DriveStates
from ioplan_lab.desk.queue.entry import Entry
from ioplan_lab.desk.queue.quotas import Use

MOST_SHOWN = 3
NO_LIMITS = Use()


class Decision(Struct, frozen=True):
    """An entry that waits, and for what; it may be started if for nothing."""

    entry: Entry
    waits: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """For what it waits, in a line."""
        more = len(self.waits) - MOST_SHOWN
        tail = [f"and {more} more"] if more > 0 else []
        return "; ".join([*self.waits[:MOST_SHOWN], *tail])


class _Held(Struct, frozen=True):
    """Drives that are taken, by whom."""

    by: dict[str, str] = {}

    def take(self, entry: Entry, how: str) -> None:
        for drive in entry.drives:
            self.by.setdefault(drive, f"#{entry.number} {how}")


def decisions(
    entries: Sequence[Entry],
    drives: DriveStates,
    served: dict[str, str],
    now: str,
    use: Use = NO_LIMITS,
) -> list[Decision]:
    """Each entry that waits, in the order in which they are started.

    `served` has the last job of each person; ids of jobs sort by time.
    """
    held = _Held()
    for entry in entries:
        if entry.holds:
            how = "may run on it" if entry.state == "unknown" else "runs on it"
            held.take(entry, how)
    waiting = [one for one in entries if one.state == "waiting"]
    return [
        _decision(one, held, drives, now, use.over(one, entries))
        for one in in_order(waiting, served)
    ]


def in_order(waiting: Iterable[Entry], served: dict[str, str]) -> list[Entry]:
    """In turns: an entry that is before others of its person makes that one served."""
    left, last, found = list(waiting), dict(served), []
    while left:
        first = min(left, key=lambda one: _rank(one, last))
        left.remove(first)
        found.append(first)
        last[first.person] = f"~{len(found):09}"  # later than any id
    return found


def _rank(one: Entry, served: dict[str, str]) -> tuple[int, int, str, int]:
    return (-one.priority, one.position, served.get(one.person, ""), one.number)


def _decision(
    entry: Entry, held: _Held, drives: DriveStates, now: str, over: str
) -> Decision:
    if entry.not_before > now:
        return Decision(entry, (f"its time, {time_in_words(entry.not_before)}",))
    closed = tuple(
        f"{drive} is {why}"
        for drive in entry.drives
        if (why := drives.closed_to(drive, entry.person, now))
    )
    busy = tuple(f"{d}: {held.by[d]}" for d in entry.drives if d in held.by)
    if not closed and not over:
        held.take(entry, "is before it")
    return Decision(entry, (*filter(None, (over,)), *closed, *busy))
