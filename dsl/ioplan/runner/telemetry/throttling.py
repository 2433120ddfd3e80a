"""Warnings of a run that heat, or a hypervisor, has slowed down."""

from __future__ import annotations

from collections.abc import Iterator

from ioplan.records.assessed import MAX_STEAL_PERCENT
from ioplan.records.telemetry import Log, Telemetry
from ioplan.runner.telemetry.hwmon import Sensor, throttles_at_celsius

THROTTLED = (
    "thm_temp1_trans_count",
    "thm_temp2_trans_count",
    "warning_temp_time",
    "critical_comp_time",
)


def heat_warnings(run: Telemetry, sensor: Sensor | None) -> Iterator[str]:
    """What must be known before the figures are believed."""
    limit, hottest = (
        sensor and throttles_at_celsius(sensor),
        run.temperature_max_celsius,
    )
    if limit and hottest is not None and hottest >= limit:
        yield (
            f"the drive reached {hottest:.0f} °C, and slows down from {limit:.0f} °C: "
            "improve its cooling"
        )
    if grown := [name for name in THROTTLED if _grown(run, name)]:
        yield (
            f"the drive throttled because of its temperature ({', '.join(grown)} of "
            "SMART rose)"
        )
    if run.smart_after.get("critical_warning"):
        yield "the drive has a critical warning in SMART: see `nvme smart-log`"
    if run.cpu_throttles:
        yield f"CPUs throttled because of their temperature {run.cpu_throttles} times"
    if (run.steal_percent or 0.0) > MAX_STEAL_PERCENT:
        yield (
            f"the hypervisor stole {run.steal_percent:.0f} % of a CPU: latencies "
            "include this"
        )


def _grown(run: Telemetry, name: str) -> bool:
    before: Log = run.smart_before
    return run.smart_after.get(name, 0) > before.get(name, run.smart_after.get(name, 0))
