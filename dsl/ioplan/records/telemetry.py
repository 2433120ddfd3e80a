"""What the machine and the drive did while a run was measured.

A figure that nothing measured is absent. CPU time is in percent of one CPU, so that
the figures can be subtracted from each other: 100 % is one CPU busy all the time.
"""

from __future__ import annotations

from typing import TypeAlias

from pydantic import Field

from ioplan.core.model import Model, about

Log: TypeAlias = dict[str, int | float]
"""The numbers of a drive's log by their names in nvme-cli."""


class Readings(Model):
    """Means over an interval, or over a run."""

    system_cpu_percent: float | None = about(
        "all that ran, of one CPU: the time without idle, iowait and steal", None
    )
    generator_cpu_percent: float | None = about(
        "of one CPU: ioplan and the programs that it has started", None
    )
    generator_user_percent: float | None = about(
        "the part of generator_cpu_percent outside the kernel", None
    )
    stack_cpu_percent: float | None = about(
        "of one CPU: system_cpu_percent - generator_user_percent - "
        "others_cpu_percent, 0 at least",
        None,
    )
    others_cpu_percent: float | None = about(
        "of one CPU: all other programs, whatever they are", None
    )
    others_user_percent: float | None = about(
        "the part of others_cpu_percent outside the kernel", None
    )
    steal_percent: float | None = about(
        "of one CPU: taken away by the hypervisor", None
    )
    frequency_mhz: float | None = about("mean over the CPUs", None)
    frequency_min_mhz: float | None = about("of the slowest CPU", None)
    interrupts_per_s: float | None = None
    context_switches_per_s: float | None = None
    device_read_iops: float | None = about("as the kernel counts", None)
    device_write_iops: float | None = None
    device_read_bytes_per_s: float | None = None
    device_write_bytes_per_s: float | None = None
    device_queue_depth: float | None = about(
        "mean, from the time that requests were in the queue", None
    )
    device_busy_percent: float | None = about(
        "of the time with a request in flight", None
    )
    device_inflight: float | None = about("requests in flight when looked at", None)
    watts: float | None = about("of what `watts_source` measures", None)
    temperature_celsius: float | None = about("of the drive", None)


class TelemetryPoint(Readings):
    """One interval of the series."""

    t_s: float = Field(description="that of the point of the series")
    length_s: float = Field(description="between the two readings")
    trace_read_ios: float | None = about(
        "of the replayed traces, those of the interval at its speed", None
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
    cpus: int | None = about("that are on line", None)
    core_busy_percent: tuple[float, ...] = about("by CPU, of each", ())
    core_frequency_mhz: tuple[float, ...] = about("by CPU, mean", ())
    cpu_throttles: int | None = about(
        "times that CPUs were slowed down for their heat", None
    )
    watts_source: str = ""
    watts_by_source: dict[str, float] = about("all that was measured", {})
    temperature_max_celsius: float | None = about("of the drive", None)
    nvme_power_state: int | None = about("after the run", None)
    nvme_power_state_max_watts: float | None = about(
        "what the drive says of that state; it was not measured", None
    )
    smart_before: Log = {}
    smart_after: Log = {}
    ocp_before: Log = {}
    ocp_after: Log = {}
