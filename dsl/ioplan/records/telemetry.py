"""What the machine and the drive did while a run was measured.

A figure that nothing measured is absent. CPU time is in percent of one CPU, so that
the figures can be subtracted from each other: 100 % is one CPU busy all the time.
"""

from __future__ import annotations

from typing import TypeAlias

from ioplan.core.model import Figures, described

Log: TypeAlias = dict[str, int | float]
"""The numbers of a drive's log by their names in nvme-cli."""


class Readings(Figures):
    """Means over an interval, or over a run."""

    system_cpu_percent: float | None = described(
        "all that ran, of one CPU: the time without idle, iowait and steal",
        default=None,
    )
    generator_cpu_percent: float | None = described(
        "of one CPU: ioplan and the programs that it has started", default=None
    )
    generator_user_percent: float | None = described(
        "the part of generator_cpu_percent outside the kernel", default=None
    )
    stack_cpu_percent: float | None = described(
        "of one CPU: system_cpu_percent - generator_user_percent - "
        "others_cpu_percent, 0 at least",
        default=None,
    )
    others_cpu_percent: float | None = described(
        "of one CPU: all other programs, whatever they are", default=None
    )
    others_user_percent: float | None = described(
        "the part of others_cpu_percent outside the kernel", default=None
    )
    steal_percent: float | None = described(
        "of one CPU: taken away by the hypervisor", default=None
    )
    frequency_mhz: float | None = described("mean over the CPUs", default=None)
    frequency_min_mhz: float | None = described("of the slowest CPU", default=None)
    interrupts_per_s: float | None = None
    context_switches_per_s: float | None = None
    device_read_iops: float | None = described("as the kernel counts", default=None)
    device_write_iops: float | None = None
    device_read_bytes_per_s: float | None = None
    device_write_bytes_per_s: float | None = None
    device_queue_depth: float | None = described(
        "mean, from the time that requests were in the queue", default=None
    )
    device_busy_percent: float | None = described(
        "of the time with a request in flight", default=None
    )
    device_inflight: float | None = described(
        "requests in flight when looked at", default=None
    )
    watts: float | None = described("of what `watts_source` measures", default=None)
    temperature_celsius: float | None = described("of the drive", default=None)


class TelemetryPoint(Readings):
    """One interval of the series."""

    t_s: float = described("that of the point of the series")
    length_s: float = described("between the two readings")


class Telemetry(Readings):
    """One run: means over what is covered of its measured part."""

    covered_s: float = described("between the first reading and the last")
    intervals: int
    cpus: int | None = described("that are on line", default=None)
    core_busy_percent: tuple[float, ...] = described("by CPU, of each", default=())
    core_frequency_mhz: tuple[float, ...] = described("by CPU, mean", default=())
    cpu_throttles: int | None = described(
        "times that CPUs were slowed down for their heat", default=None
    )
    watts_source: str = ""
    watts_by_source: dict[str, float] = described("all that was measured", default={})
    temperature_max_celsius: float | None = described("of the drive", default=None)
    nvme_power_state: int | None = described("after the run", default=None)
    nvme_power_state_max_watts: float | None = described(
        "what the drive says of that state; nothing measured it", default=None
    )
    smart_before: Log = {}
    smart_after: Log = {}
    ocp_before: Log = {}
    ocp_after: Log = {}
