"""CPU time of all programs but ioplan and those that it has started.

The sums over all processes count those that have ended too, by what their parents have
waited for. Kernel threads are no programs: what they do for storage is its cost.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from itertools import pairwise

from msgspec.structs import replace

from ioplan.runner.telemetry.cpu_times import TICKS_PER_S, ProgramTimes, family
from ioplan.runner.telemetry.procfs import Tree, raw
from ioplan.runner.telemetry.sample import Sample

KERNEL_THREAD = 0x00200000
"""PF_KTHREAD of the kernel's sched.h."""
FLAGS, TIMES = 6, slice(11, 15)
"""Places behind the name: user, kernel, and both of children that were waited for."""
MOST_OF_TIME = 1 / 200
"""Readings, of some 20 us for each process, take at most so much of a CPU."""


class OtherPrograms:
    """Read beside a run; not at every call where there are many processes."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.kernel_threads: set[str] = set()
        self.next_s = 0.0

    def times(self, is_start: bool = False) -> ProgramTimes | None:
        """Since the machine was started; None where unknown, or read just now."""
        if time.monotonic() < self.next_s and not is_start:
            return None
        began_s = time.thread_time()
        own = {str(pid) for pid in family(self.tree, os.getpid())}
        rows = list(self._rows(own))
        took_s = time.thread_time() - began_s
        self.next_s = time.monotonic() + took_s / MOST_OF_TIME
        if not self.kernel_threads:  # in a container, or by hidepid: others are hidden
            return None
        user = sum(row[0] + row[2] for row in rows)
        return ProgramTimes(user / TICKS_PER_S, sum(map(sum, rows)) / TICKS_PER_S)

    def _rows(self, own: set[str]) -> Iterator[list[int]]:
        for pid in _processes(f"{self.tree.root}/proc"):
            if pid in own or pid in self.kernel_threads:
                continue
            words = raw(f"{self.tree.root}/proc/{pid}/stat").rpartition(b")")[2].split()
            if not words:
                continue  # it has just ended
            if int(words[FLAGS]) & KERNEL_THREAD:
                self.kernel_threads.add(pid)
            else:
                yield [int(word) for word in words[TIMES]]


def _processes(folder: str) -> list[str]:
    try:
        with os.scandir(folder) as found:
            return [one.name for one in found if one.name.isdecimal()]
    except OSError:
        return []


def filled_in(samples: Sequence[Sample]) -> list[Sample]:
    """With times of other programs in each, from the two readings nearest to it.

    As they are where there are fewer than two readings.
    """
    known = [one for one in samples if one.others]
    if len(known) < 2:
        return list(samples)
    return [one if one.others else _between(one, known) for one in samples]


def _between(sample: Sample, known: Sequence[Sample]) -> Sample:
    """On the line through the readings around it, or through the last two."""
    pairs = list(pairwise(known))
    before, after = next((p for p in pairs if sample.at_s <= p[1].at_s), pairs[-1])
    assert before.others and after.others
    share = (sample.at_s - before.at_s) / (after.at_s - before.at_s)
    user_s = _at(share, before.others.user_s, after.others.user_s)
    all_s = _at(share, before.others.all_s, after.others.all_s)
    return replace(sample, others=ProgramTimes(user_s, all_s))


def _at(share: float, before: float, after: float) -> float:
    return before + share * (after - before)
