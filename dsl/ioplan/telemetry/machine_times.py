"""/proc/stat: CPU time, interrupts and context switches of the whole machine.

How long a CPU was busy is what is left of the time when it was idle: the kernel
measures idle time, but guesses at busy time by what it finds at each tick, which
misses most of what interrupts do.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from ioplan.telemetry.tree import Tree

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
USER, STEAL, UNUSED = (0, 1), (7,), (3, 4, 7)
"""user and nice, of which guests are a part; steal; idle, iowait and steal."""


@dataclass(frozen=True)
class MachineTimes:
    """Counters since the machine was started. `unused_s` is by number of the CPU."""

    user_s: float
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
        user_s=_sum_s(rows["cpu"], USER),
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
