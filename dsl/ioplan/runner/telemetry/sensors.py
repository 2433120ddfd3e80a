"""What can be read on this machine of a run on one target."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from math import isfinite
from typing import IO

from msgspec.structs import replace

from ioplan.runner.telemetry.cpu_facts import frequencies_mhz, frequency_files
from ioplan.runner.telemetry.disk import Disk
from ioplan.runner.telemetry.power import (
    METER,
    domains,
    drive_temperature,
    power_sensors,
)
from ioplan.runner.telemetry.procfs import Tree, raw
from ioplan.runner.telemetry.sample import (
    TICKS_PER_S,
    ProgramTimes,
    Sample,
    family,
    machine_times,
    own_times,
)

# A meter outside the machine, read by a command that the lab names.

TIMEOUT_S, END_S = 10.0, 1.0
MAX_SHOWN, MAX_BYTES = 100, 4096


class Meter:
    """Polled again and again, never waited for.

    The answer of a command that is started in one interval is read in a later one.
    `problem` says what went wrong first, if anything did.
    """

    def __init__(self, command: Sequence[str]) -> None:
        self.command = list(command)
        self.process: subprocess.Popen[bytes] | None = None
        self.started_s = 0.0
        self.problem = ""

    def now(self) -> float | None:
        """Watts, if an answer has come since; starts the next command."""
        answer = self._poll()
        if self.process is None:
            self._start()
        return answer

    def close(self) -> None:
        """End the command that still runs, and its children."""
        if self.process:
            with suppress(OSError):
                os.killpg(self.process.pid, signal.SIGKILL)
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(END_S)
            for pipe in (self.process.stdout, self.process.stderr):
                _read_available(pipe)
            self.process = None

    def _start(self) -> None:
        try:
            self.process = subprocess.Popen(
                self.command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,  # Ctrl-C is the runner's
            )
        except (OSError, ValueError) as error:
            self._failed(f"cannot be started: {error}")
        self.started_s = time.monotonic()

    def _poll(self) -> float | None:
        if self.process is None:
            return None
        if self.process.poll() is None:
            if time.monotonic() - self.started_s > TIMEOUT_S:
                self._failed(f"did not answer within {TIMEOUT_S:.0f} s")
                self.close()
            return None
        stdout, stderr = (
            _read_available(self.process.stdout),
            _read_available(self.process.stderr),
        )
        code, self.process = self.process.returncode, None
        return self._watts(code, stdout, stderr)

    def _watts(self, code: int, stdout: str, stderr: str) -> float | None:
        if code:
            self._failed(
                f"ended with {code}: {(stderr or stdout).strip()[:MAX_SHOWN]!r}"
            )
            return None
        try:
            watts = float(stdout)
        except ValueError:
            watts = -1.0
        if not isfinite(watts) or watts < 0:
            self._failed(
                f"printed {stdout.strip()[:MAX_SHOWN]!r}, which is not a number of "
                "watts"
            )
            return None
        return watts

    def _failed(self, why: str) -> None:
        words = " ".join(self.command)
        self.problem = self.problem or f"the power meter `{words}` {why}"


def _read_available(pipe: IO[bytes] | None) -> str:
    """What is in a pipe now; its other writers are not waited for."""
    assert pipe
    with pipe:
        os.set_blocking(pipe.fileno(), False)
        try:
            return os.read(pipe.fileno(), MAX_BYTES).decode(errors="replace")
        except BlockingIOError:
            return ""


# CPU time of all programs but ioplan and those that it has started.
#
# The sums over all processes count those that have ended too, by what their parents
# have waited for. Kernel threads are no programs: what they do for storage is its
# cost.

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


class Sensors:
    """Found once; read as often as wanted."""

    def __init__(self, tree: Tree, disk: Disk | None, metered: bool) -> None:
        self.tree, self.disk, self.metered = tree, disk, metered
        self.others = OtherPrograms(tree)
        self.frequency_files = frequency_files(tree)
        self.domains = {one.name: one for one in domains(tree)}
        self.readable = {
            n: d for n, d in self.domains.items() if d.now_uj() is not None
        }
        self.power = power_sensors(tree)
        self.temperature = drive_temperature(disk.whole) if disk else None

    def sample(
        self, t_s: float, meter: Meter | None = None, is_start: bool = False
    ) -> Sample:
        """Read everything. `t_s` is the time in the run that it belongs to."""
        return Sample(
            t_s=t_s,
            at_s=time.monotonic(),
            machine=machine_times(self.tree),
            own=own_times(self.tree, os.getpid()),
            others=self.others.times(is_start),
            frequencies_mhz=frequencies_mhz(self.frequency_files),
            disk=self.disk.counts() if self.disk else None,
            energy_uj=dict(self._energy_uj()),
            watts=dict(self._watts(meter)),
            temperature_celsius=self.temperature.now() if self.temperature else None,
        )

    def _energy_uj(self) -> Iterator[tuple[str, int]]:
        for name, domain in self.readable.items():
            if (energy_uj := domain.now_uj()) is not None:
                yield name, energy_uj

    def _watts(self, meter: Meter | None) -> Iterator[tuple[str, float]]:
        for sensor in self.power:
            if (watts := sensor.now()) is not None:
                yield sensor.name, watts
        if meter and (watts := meter.now()) is not None:
            yield METER, watts

    def unavailable(self) -> tuple[str, ...]:
        """What cannot be measured here, each with a reason."""
        return tuple(self._unavailable())

    def _unavailable(self) -> Iterator[str]:
        if not (self.metered or self.power or self.readable):
            yield f"power ({self._no_power()})"
        if not self.temperature:
            yield "temperature (the drive has no sensor in hwmon)"
        if not self.others.times(is_start=True):
            yield "stack_cpu (other programs are hidden: a container, or hidepid)"
        if not self.frequency_files:
            yield "CPU frequency (the kernel has no cpufreq here)"
        if not self.disk:
            yield "the device's queue (the target is on no block device)"

    def _no_power(self) -> str:
        if self.domains:
            return "only root may read RAPL; or name a meter in the lab"
        return "neither RAPL nor a sensor; name a meter in the lab"
