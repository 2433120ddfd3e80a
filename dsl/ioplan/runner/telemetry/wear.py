"""What a drive wrote between two readings of its logs.

The counters are of the whole drive, all namespaces and whoever wrote:

- NVMe Base Specification, SMART / Health Information (02h): Data Units Written, in
  thousands of 512 bytes, without what the drive writes for itself;
- OCP Datacenter NVMe SSD Specification, SMART-1 of the extended log (C0h): Physical
  Media Units Written, in bytes, with what garbage collection and metadata take;
- NVMe Base Specification, Endurance Group Information (09h): Data Units Written and
  Media Units Written, both in thousands of 512 bytes; 0 where it is not reported.
"""

from __future__ import annotations

from ioplan.job import Wear
from ioplan.records.telemetry import Log
from ioplan.runner.telemetry.smart import Logs

DATA_UNIT_BYTES = 512_000
HOST, MEDIA = "data_units_written", "media_units_written"
OCP_MEDIA = "physical_media_units_written"
OCP, ENDURANCE, NVME = "OCP", "NVMe endurance group", "NVMe SMART"


def wear_between(before: Logs, after: Logs, capacity_bytes: int | None) -> Wear | None:
    """From the best log that both have; None without one.

    A counter that goes back (a firmware was activated, a log was reset) is none.
    """
    smart = _grown(before.smart, after.smart, HOST)
    ocp = _ocp_grown_bytes(before.ocp, after.ocp)
    group = _grown(before.endurance, after.endurance, HOST)
    media = _grown(before.endurance, after.endurance, MEDIA)
    found: tuple[str, int, int | None]
    if smart is not None and ocp is not None:
        found = (OCP, smart, ocp)
    elif group is not None and media is not None:
        found = (ENDURANCE, group, media * DATA_UNIT_BYTES)
    elif smart is not None:
        found = (NVME, smart, None)
    else:
        return None
    source, host_units, media_bytes = found
    return Wear(
        source=source,
        span_s=after.at_s - before.at_s,
        host_written_bytes=host_units * DATA_UNIT_BYTES,
        media_written_bytes=media_bytes,
        capacity_bytes=capacity_bytes,
        step_bytes=DATA_UNIT_BYTES,
    )


def _grown(before: Log, after: Log, name: str) -> int | None:
    """By how much a counter went up; one that is 0 at the end is not kept."""
    one, other = before.get(name), after.get(name)
    if one is None or not other or other < one:
        return None
    return int(other - one)


def _ocp_grown_bytes(before: Log, after: Log) -> int | None:
    one, other = _ocp_bytes(before), _ocp_bytes(after)
    return other - one if one is not None and other and other >= one else None


def _ocp_bytes(log: Log) -> int | None:
    """One number, or two halves of 64 bits, in the words of any nvme-cli."""
    named = {name.lower().replace(" ", "_"): number for name, number in log.items()}
    high, low = (named.get(f"{OCP_MEDIA}:_{half}") for half in ("hi", "lo"))
    if low is not None:
        return (int(high or 0) << 64) + int(low)
    whole = named.get(OCP_MEDIA)
    return None if whole is None else int(whole)
