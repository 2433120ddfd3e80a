"""/proc/stat: CPU time, interrupts and context switches of the whole machine.

How long a CPU was busy is what is left of the time when it was idle: the kernel
measures idle time, but guesses at busy time by what it finds at each tick, which
misses most of what interrupts do.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from msgspec import Struct

from ioplan.core.system import configured
from ioplan.runner.telemetry.procfs import Tree, raw

TICKS_PER_S = configured("SC_CLK_TCK", 100)
STEAL, UNUSED = (7,), (3, 4, 7)
"""steal; idle, iowait and steal."""


class MachineTimes(Struct, frozen=True):
    """Counters since the machine was started. `unused_s` is by number of the CPU."""

    steal_s: float
    interrupts: int
    switches: int
    unused_s: dict[int, float]

    def busy_s(self, before: MachineTimes, length_s: float) -> dict[int, float]:
        """How long each CPU was busy in the time since; 0 at least."""
        return {
            number: max(0.0, length_s - (unused_s - before.unused_s[number]))
            for number, unused_s in sorted(self.unused_s.items())
            if number in before.unused_s
        }


def machine_times(tree: Tree) -> MachineTimes | None:
    """The counters now; None where there is no /proc/stat."""
    lines = tree.text("proc/stat").splitlines()
    rows = {name: words for name, *words in map(str.split, lines) if words}
    if "cpu" not in rows:
        return None
    return MachineTimes(
        steal_s=_sum_s(rows["cpu"], STEAL),
        interrupts=int(rows.get("intr", ["0"])[0]),
        switches=int(rows.get("ctxt", ["0"])[0]),
        unused_s={
            int(name[3:]): _sum_s(words, UNUSED)
            for name, words in rows.items()
            if name.startswith("cpu") and name != "cpu"
        },
    )


def _sum_s(words: list[str], places: tuple[int, ...]) -> float:
    return sum(int(words[place]) for place in places) / TICKS_PER_S


OWN_USER, OWN_SYSTEM, OWN_USER_OF_ENDED, OWN_SYSTEM_OF_ENDED = 11, 12, 13, 14
"""Places in /proc/PID/stat behind the name, from the state on."""
OF_ENDED = slice(OWN_USER_OF_ENDED, OWN_SYSTEM_OF_ENDED + 1)


class ProgramTimes(Struct, frozen=True):
    """`all_s` is `user_s` and the time in the kernel."""

    user_s: float
    all_s: float


def own_times(tree: Tree, pid: int | None = None) -> ProgramTimes | None:
    """The times of a process and its descendants, also of those that have ended."""
    pid = pid or os.getpid()
    rows = _family_rows(tree, pid)
    # One that was waited for between its parent's row and its own is in neither.
    while rows and (now := _row(tree, pid)) and now[OF_ENDED] != rows[0][OF_ENDED]:
        rows = _family_rows(tree, pid)
    if not rows:
        return None
    user = sum(row[OWN_USER] + row[OWN_USER_OF_ENDED] for row in rows)
    system = sum(row[OWN_SYSTEM] + row[OWN_SYSTEM_OF_ENDED] for row in rows)
    return ProgramTimes(user / TICKS_PER_S, (user + system) / TICKS_PER_S)


def _family_rows(tree: Tree, pid: int) -> list[list[int]]:
    return [row for one in family(tree, pid) if (row := _row(tree, one))]


def family(tree: Tree, pid: int) -> Iterator[int]:
    """A process and its descendants."""
    yield pid
    for thread in _threads(f"{tree.root}/proc/{pid}/task"):
        for child in raw(f"{thread}/children").split():
            yield from family(tree, int(child))


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
