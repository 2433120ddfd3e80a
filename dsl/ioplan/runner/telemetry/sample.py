"""All that is read at one moment, and the rates between two of them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import pairwise

from msgspec import Struct

from ioplan.core.statistics.mean import fmean
from ioplan.core.system import configured
from ioplan.runner.telemetry.disk import DiskCounts
from ioplan.runner.telemetry.procfs import Tree, raw

# /proc/stat: CPU time, interrupts and context switches of the whole machine.
#
# How long a CPU was busy is what is left of the time when it was idle: the kernel
# measures idle time, but guesses at busy time by what it finds at each tick, which
# misses most of what interrupts do.

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


Figures = dict[str, float | None]


class Sample(Struct, frozen=True):
    """`t_s` is that of the run, `at_s` a clock's. What was not read is absent."""

    t_s: float
    at_s: float
    machine: MachineTimes | None = None
    own: ProgramTimes | None = None
    others: ProgramTimes | None = None
    frequencies_mhz: tuple[float, ...] = ()
    disk: DiskCounts | None = None
    energy_uj: dict[str, int] = {}
    watts: dict[str, float] = {}
    temperature_celsius: float | None = None


def rates(samples: Sequence[Sample]) -> Figures:
    """What counters say of the time from the first sample to the last."""
    before, after = samples[0], samples[-1]
    return {
        **_cpu(before, after),
        **_events(before, after),
        **_disk(samples, after.at_s - before.at_s),
    }


def levels(samples: Sequence[Sample]) -> Figures:
    """Means of what has no counter."""
    frequencies = [one.frequencies_mhz for one in samples if one.frequencies_mhz]
    slowest = [min(each) for each in frequencies]
    inflight = [one.disk.inflight for one in samples if one.disk]
    heat = [t for one in samples if (t := one.temperature_celsius) is not None]
    return {
        "frequency_mhz": mean([fmean(each) for each in frequencies]),
        "frequency_min_mhz": min(slowest, default=None),
        "device_inflight": mean(inflight),
        "temperature_celsius": mean(heat),
    }


def mean(numbers: Sequence[float]) -> float | None:
    """None without any."""
    return fmean(numbers) if numbers else None


def _cpu(before: Sample, after: Sample) -> Figures:
    """In percent of one CPU."""
    percent = 100 / (after.at_s - before.at_s)
    found: Figures = {}
    if before.machine and after.machine:
        busy = after.machine.busy_s(before.machine, after.at_s - before.at_s)
        steal_s = after.machine.steal_s - before.machine.steal_s
        found["system_cpu_percent"] = percent * sum(busy.values())
        found["steal_percent"] = percent * steal_s
    if before.own and after.own:
        all_s, user_s = after.own.all_s, after.own.user_s
        found["generator_cpu_percent"] = percent * (all_s - before.own.all_s)
        found["generator_user_percent"] = percent * (user_s - before.own.user_s)
    if before.others and after.others:
        all_s = max(0.0, after.others.all_s - before.others.all_s)
        user_s = max(0.0, after.others.user_s - before.others.user_s)
        found["others_cpu_percent"] = percent * all_s
        found["others_user_percent"] = percent * user_s
    return found | _stack(found)


STACK = ("system_cpu_percent", "generator_user_percent", "others_cpu_percent")


def _stack(found: Figures) -> Figures:
    """What is left for the storage stack. Ticks may make it less than 0."""
    parts = [part for name in STACK if (part := found.get(name)) is not None]
    if len(parts) < len(STACK):
        return {}
    system, own, others = parts
    return {"stack_cpu_percent": max(0.0, system - own - others)}


def _events(before: Sample, after: Sample) -> Figures:
    one, other = before.machine, after.machine
    if not (one and other):
        return {}
    length_s = after.at_s - before.at_s
    return {
        "interrupts_per_s": (other.interrupts - one.interrupts) / length_s,
        "context_switches_per_s": (other.switches - one.switches) / length_s,
    }


def _disk(samples: Sequence[Sample], length_s: float) -> Figures:
    """Times are added up from sample to sample, as their counters turn over."""
    counts = [sample.disk for sample in samples if sample.disk]
    if len(counts) < len(samples):
        return {}
    one, other = counts[0], counts[-1]
    times = [after.since(before) for before, after in pairwise(counts)]
    busy_s, queued_s = (sum(each) for each in zip(*times, strict=True))
    return {
        "device_read_iops": (other.read_ios - one.read_ios) / length_s,
        "device_write_iops": (other.write_ios - one.write_ios) / length_s,
        "device_read_bytes_per_s": (other.read_bytes - one.read_bytes) / length_s,
        "device_write_bytes_per_s": (other.write_bytes - one.write_bytes) / length_s,
        "device_queue_depth": queued_s / length_s,
        "device_busy_percent": 100 * busy_s / length_s,
    }
