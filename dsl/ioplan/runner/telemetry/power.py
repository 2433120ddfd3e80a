"""Power from whatever measures it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from msgspec import Struct

from ioplan.core.statistics.mean import fmean
from ioplan.runner.telemetry.procfs import Tree, raw
from ioplan.runner.telemetry.sample import Sample

# Sensors of /sys/class/hwmon: power of the machine, temperature of a drive.

POWER = ("power*_input", "power*_average")
WHOLE_MACHINE = "power_meter"
"""What ACPI calls the sensor behind which the whole machine is."""
NEAR_DRIVE = ("device/hwmon[0-9]*", "device/hwmon/hwmon*", "device/device/hwmon/hwmon*")
"""Sensors of NVMe in new kernels, of SATA, and of NVMe in older kernels."""


class Sensor(Struct, frozen=True):
    """A file whose whole number, by `scale`, is the figure."""

    name: str
    file: Path
    scale: float

    def now(self) -> float | None:
        """The figure, if the sensor gives one."""
        try:
            return int(raw(self.file)) * self.scale
        except ValueError:
            return None


def power_sensors(tree: Tree) -> list[Sensor]:
    """All that measure power, in watts."""
    found: dict[str, Sensor] = {}
    for folder in tree.all("sys/class/hwmon/hwmon*"):
        for file in sorted(one for form in POWER for one in folder.glob(form)):
            channel = file.name.partition("_")[0]
            label = tree.text(folder / f"{channel}_label") or channel
            name = f"{tree.text(folder / 'name')} {label}"
            found.setdefault(f"{folder} {channel}", Sensor(name, file, 1e-6))
    return list(found.values())


def drive_temperature(disk: Path) -> Sensor | None:
    """The drive's own sensor, in degrees Celsius; `disk` is its folder in /sys."""
    for form in NEAR_DRIVE:
        for folder in sorted(disk.glob(form)):
            if (file := folder / "temp1_input").exists():
                return Sensor("temperature", file, 1e-3)
    return None


def throttles_at_celsius(sensor: Sensor) -> float | None:
    """From where on the drive warns that it slows down."""
    return Sensor("limit", sensor.file.with_name("temp1_max"), 1e-3).now()


# RAPL: the energy that processors and memory have used.

FOLDERS = "sys/class/powercap/intel-rapl:*"
"""AMD's processors are here, too."""
WHOLE, PACKAGE, MEMORY = "psys", "package", "dram"


class Domain(Struct, frozen=True):
    """A counter in microjoules; it begins again at 0 behind `largest_uj`."""

    name: str
    file: Path
    largest_uj: int

    def now_uj(self) -> int | None:
        """The counter; root only may read it."""
        text = raw(self.file).strip()
        return int(text) if text.isdigit() else None

    def between_j(self, before_uj: int, after_uj: int) -> float:
        """The energy between two readings less than one turn apart."""
        turn_uj = self.largest_uj if after_uj < before_uj else 0
        return (after_uj - before_uj + turn_uj) / 1e6


def domains(tree: Tree) -> list[Domain]:
    """All that count; those within another one are named behind it."""
    found = []
    for folder in tree.all(FOLDERS):
        outer = folder.name.rpartition(":")[0]
        names = (tree.text(folder.parent / outer / "name"), tree.text(folder / "name"))
        domain = Domain(
            " ".join(filter(None, names)),
            folder / "energy_uj",
            tree.number(folder / "max_energy_range_uj") or 0,
        )
        found.append(domain)
    return found


def non_overlapping(names: list[str]) -> list[str]:
    """Domains that cover the most without counting anything twice; `psys` is all."""
    if WHOLE in names:
        return [WHOLE]
    return [
        name
        for name in names
        if (name.startswith(PACKAGE) and " " not in name) or name.endswith(MEMORY)
    ]


METER = "meter"


class Power(Struct, frozen=True):
    """Watts by what has measured them. RAPL's domains are called `rapl NAME`."""

    by_source: dict[str, float]

    @property
    def source(self) -> str:
        """The source that counts: the nearest to the power of the whole machine.

        The lab's meter, else ACPI's, else RAPL. Other sensors of hwmon are not added
        up: which ones hold others cannot be known.
        """
        if METER in self.by_source:
            return METER
        for name in self.by_source:
            if name.startswith(WHOLE_MACHINE):
                return name
        return " + ".join(self._rapl())

    @property
    def watts(self) -> float | None:
        """The figure that counts."""
        if self.source in self.by_source:
            return self.by_source[self.source]
        found = [self.by_source[name] for name in self._rapl()]
        return sum(found) if found else None

    def _rapl(self) -> list[str]:
        names = [
            n.removeprefix("rapl ") for n in self.by_source if n.startswith("rapl")
        ]
        return [f"rapl {name}" for name in non_overlapping(names)]


def power(samples: Sequence[Sample], domains: Mapping[str, Domain]) -> Power:
    """Over the time from the first sample to the last; the first one is its start."""
    found: dict[str, list[float]] = {}
    for sample in samples[1:]:
        for name, watts in sample.watts.items():
            found.setdefault(name, []).append(watts)
    means = {name: fmean(values) for name, values in found.items()}
    return Power(means | dict(_rapl_watts(samples, domains)))


def _rapl_watts(
    samples: Sequence[Sample], domains: Mapping[str, Domain]
) -> Iterator[tuple[str, float]]:
    """Added up from sample to sample, so that a counter may turn over in each."""
    length_s = samples[-1].at_s - samples[0].at_s
    for name, domain in domains.items():
        readings = [one.energy_uj[name] for one in samples if name in one.energy_uj]
        if len(readings) == len(samples):
            energy_j = sum(domain.between_j(*pair) for pair in pairwise(readings))
            yield f"rapl {name}", energy_j / length_s
