"""What can be read on this machine of a run on one target."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

from ioplan.runner.telemetry.cpu_facts import frequencies_mhz, frequency_files
from ioplan.runner.telemetry.cpu_times import machine_times, own_times
from ioplan.runner.telemetry.disk import Disk
from ioplan.runner.telemetry.energy import domains
from ioplan.runner.telemetry.hwmon import drive_temperature, power_sensors
from ioplan.runner.telemetry.other_programs import OtherPrograms
from ioplan.runner.telemetry.power import METER
from ioplan.runner.telemetry.power_meter import Meter
from ioplan.runner.telemetry.procfs import Tree
from ioplan.runner.telemetry.sample import Sample


class Sensors:
    """Found once; read as often as wanted."""

    def __init__(self, tree: Tree, disk: Disk | None, metered: bool = False) -> None:
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
