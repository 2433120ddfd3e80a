"""Sensors of /sys/class/hwmon: power of the machine, temperature of a drive."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from ioplan.runner.telemetry.procfs import Tree, raw

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
