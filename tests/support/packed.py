"""What is packed inside of a bundle's members."""

from __future__ import annotations

from ioplan.measure.interval_counts import IntervalCounts


def packed_in(name: str, data: bytes) -> list[bytes]:
    """What zlib unpacks of a member; none but of what is beside a record."""
    if "/details/" not in name:
        return []
    if name.endswith(".intervals"):
        return [bytes(body) for body in IntervalCounts(data).bodies()]
    return [data[1:]]
