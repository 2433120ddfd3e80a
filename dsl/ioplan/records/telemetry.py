"""What the machine and the drive did while a run was measured.

A figure that nothing measured is absent. CPU time is in percent of one CPU, so that
the figures can be subtracted from each other: 100 % is one CPU busy all the time.
"""

from __future__ import annotations

from typing import TypeAlias

from pydantic import Field

from ioplan.core.model import Model

Log: TypeAlias = dict[str, int | float]
"""The numbers of a drive's log by their names in nvme-cli."""


class Readings(Model):
    """Means over an interval, or over a run."""

    system_cpu_percent: float | None = Field(
        description="all that ran, of one CPU: the time without idle, iowait and steal",
        default=None,
    )
    generator_cpu_percent: float | None = Field(
        description="of one CPU: ioplan and the programs that it has started",
        default=None,
    )
    generator_user_percent: float | None = Field(
        description="the part of generator_cpu_percent outside the kernel", default=None
    )
    stack_cpu_percent: float | None = Field(
        description="of one CPU: system_cpu_percent - generator_user_percent - "
        "others_cpu_percent, 0 at least",
        default=None,
    )
    others_cpu_percent: float | None = Field(
        description="of one CPU: all other programs, whatever they are", default=None
    )
    others_user_percent: float | None = Field(
        description="the part of others_cpu_percent outside the kernel", default=None
    )
    steal_percent: float | None = Field(
        description="of one CPU: taken away by the hypervisor", default=None
    )
    frequency_mhz: float | None = Field(description="mean over the CPUs", default=None)
    frequency_min_mhz: float | None = Field(
        description="of the slowest CPU", default=None
    )
    interrupts_per_s: float | None = None
    context_switches_per_s: float | None = None
    device_read_iops: float | None = Field(
        description="as the kernel counts", default=None
    )
    device_write_iops: float | None = None
    device_read_bytes_per_s: float | None = None
    device_write_bytes_per_s: float | None = None
    device_queue_depth: float | None = Field(
        description="mean, from the time that requests were in the queue", default=None
    )
    device_busy_percent: float | None = Field(
        description="of the time with a request in flight", default=None
    )
    device_inflight: float | None = Field(
        description="requests in flight when looked at", default=None
    )
    watts: float | None = Field(
        description="of what `watts_source` measures", default=None
    )
    temperature_celsius: float | None = Field(description="of the drive", default=None)


class TelemetryPoint(Readings):
    """One interval of the series."""

    t_s: float = Field(description="that of the point of the series")
    length_s: float = Field(description="between the two readings")
    trace_read_ios: float | None = Field(
        description="of the replayed traces, those of the interval at its speed",
        default=None,
    )
    trace_write_ios: float | None = None
    trace_trim_ios: float | None = None
    trace_read_bytes: float | None = None
    trace_write_bytes: float | None = None
    trace_trim_bytes: float | None = None


class Telemetry(Readings):
    """One run: means over what is covered of its measured part."""

    covered_s: float = Field(description="between the first reading and the last")
    intervals: int
    cpus: int | None = Field(description="that are on line", default=None)
    core_busy_percent: tuple[float, ...] = Field(
        description="by CPU, of each", default=()
    )
    core_frequency_mhz: tuple[float, ...] = Field(
        description="by CPU, mean", default=()
    )
    cpu_throttles: int | None = Field(
        description="times that CPUs were slowed down for their heat", default=None
    )
    watts_source: str = ""
    watts_by_source: dict[str, float] = Field(
        description="all that was measured", default={}
    )
    temperature_max_celsius: float | None = Field(
        description="of the drive", default=None
    )
    nvme_power_state: int | None = Field(description="after the run", default=None)
    nvme_power_state_max_watts: float | None = Field(
        description="what the drive says of that state; it was not measured",
        default=None,
    )
    smart_before: Log = {}
    smart_after: Log = {}
    ocp_before: Log = {}
    ocp_after: Log = {}
