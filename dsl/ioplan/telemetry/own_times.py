"""CPU time of ioplan and of all programs that it has started."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

from ioplan.telemetry.machine_times import TICKS_PER_S
from ioplan.telemetry.tree import Tree, raw

OWN_USER, OWN_SYSTEM, OWN_USER_OF_ENDED, OWN_SYSTEM_OF_ENDED = 11, 12, 13, 14
"""Places in /proc/PID/stat behind the name, from the state on."""


@dataclass(frozen=True)
class OwnTimes:
    """`all_s` is `user_s` and the time in the kernel."""

    user_s: float
    all_s: float


def own_times(tree: Tree, pid: int | None = None) -> OwnTimes | None:
    """Of a process and its descendants, also of those that have ended."""
    rows = [
        row for one in _family(tree, pid or os.getpid()) if (row := _row(tree, one))
    ]
    if not rows:
        return None
    user = sum(row[OWN_USER] + row[OWN_USER_OF_ENDED] for row in rows)
    system = sum(row[OWN_SYSTEM] + row[OWN_SYSTEM_OF_ENDED] for row in rows)
    return OwnTimes(user / TICKS_PER_S, (user + system) / TICKS_PER_S)


def _family(tree: Tree, pid: int) -> Iterator[int]:
    yield pid
    for thread in _threads(f"{tree.root}/proc/{pid}/task"):
        for child in raw(f"{thread}/children").split():
            yield from _family(tree, int(child))


def _threads(folder: str) -> list[str]:
    try:
        with os.scandir(folder) as found:
            return [one.path for one in found]
    except OSError:
        return []  # it has just ended


def _row(tree: Tree, pid: int) -> list[int]:
    """The numbers behind the name, which itself may hold anything."""
    words = tree.text(f"proc/{pid}/stat").rpartition(")")[2].split()
    return [0, *map(int, words[1:])] if words else []
