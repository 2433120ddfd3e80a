"""The CPU time of a run and its children by the kernel's clocks of processes.

These are no part of /proc, and count in ns. Each time that telemetry reads ticks, they
are read before and after it. The run has a process of its own, as what a child of this
one has waited for (a browser, a database) has no clock any more and is not yet ours.
"""

import json
import resource
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import pytest
from command import Done, ioplan
from started import is_running

from ioplan.runner import TICKS_PER_S
from ioplan.runner.execute.processes import descendants
from ioplan.runner.telemetry import sensors

CPUCLOCK_SCHED = 2
ROUNDED_DOWN = 8
"""User and system time of this process, its ended children, the engine, and a meter."""


class Moment(NamedTuple):
    """Between two readings of the clocks."""

    at_s: float
    before_s: float
    after_s: float


class Clocks:
    """Of this process and its children. One that has ended and was not waited for has
    no clock any more: it has used as much as was seen last, or more."""

    def __init__(self):
        self.seen_s = {}

    def read(self):
        """Own time, the children's so far as is known, and whether one has ended."""
        known_s = ended_s()
        for child in descendants():
            with suppress(OSError):
                now_s = time.clock_gettime(~child.pid << 3 | CPUCLOCK_SCHED)
                self.seen_s[child.pid] = now_s
        unreaped = {pid for pid in self.seen_s if Path(f"/proc/{pid}").exists()}
        # asked last: what ends meanwhile is known to have ended, whatever was summed
        has_ended = any(not is_running(pid) for pid in self.seen_s)
        self.seen_s = {pid: self.seen_s[pid] for pid in unreaped}
        known_s += sum(self.seen_s.values())
        return time.process_time(), known_s, has_ended


def ended_s():
    """Of all children that were waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class Witnessed(NamedTuple):
    """A run, and the CPU time of its process and all that it started meanwhile."""

    done: Done
    moments: list[Moment]
    children_s: float


def witnessed(*arguments):
    """Call ioplan in a process of its own."""
    own = [sys.executable, __file__, *map(str, arguments)]
    answer = subprocess.run(own, check=True, stdout=subprocess.PIPE).stdout
    done, moments, children_s = json.loads(answer)
    return Witnessed(Done(*done), [Moment(*one) for one in moments], children_s)


@contextmanager
def watching():
    """At the end, a moment for each sample that was taken meanwhile."""
    moments = []
    rows = []
    read, clocks = sensors.own_times, Clocks()

    def own_times(*of):
        at_s, (own_s, children_s, _) = time.monotonic(), clocks.read()
        found = read(*of)
        later_s, children_later_s, has_ended = clocks.read()
        least_s = own_s + children_s
        rows.append((at_s, least_s, later_s, children_later_s, has_ended))
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sensors, "own_times", own_times)
        yield moments
    all_s = ended_s()
    for at_s, least_s, own_s, children_s, has_ended in rows:
        most_s = own_s + (all_s if has_ended else children_s)
        moments.append(Moment(at_s, least_s, most_s))


def check_cpu(percent, covered_s, moments):
    """What was used in that time up to the last moment, but for rounding to ticks."""
    last = moments[-1]
    first = min(moments, key=lambda one: abs(last.at_s - one.at_s - covered_s))
    slack_s = ROUNDED_DOWN / TICKS_PER_S
    least_s = last.before_s - first.after_s - slack_s
    most_s = last.after_s - first.before_s + slack_s
    used_s = percent / 100 * covered_s
    assert least_s <= used_s <= most_s, (
        f"{least_s:.2f} <= {used_s:.2f} <= {most_s:.2f} s"
    )


if __name__ == "__main__":
    with watching() as seen:
        called = ioplan(*sys.argv[1:])
    done = (called.code, called.out, called.err)
    print(json.dumps([done, seen, ended_s()]))
