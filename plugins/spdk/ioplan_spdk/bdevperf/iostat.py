"""What `bdev_get_iostat` says of one device, by direction."""

from __future__ import annotations

from typing import Any

from ioplan.job import SECOND_NS
from ioplan.measure.tally import CountsBuilder
from ioplan.workload import Direction
from ioplan_spdk.rpc.reply import BadReply, number

KEYS: dict[Direction, tuple[str, str, str]] = {
    "read": ("num_read_ops", "bytes_read", "read"),
    "write": ("num_write_ops", "bytes_written", "write"),
    "trim": ("num_unmap_ops", "bytes_unmapped", "unmap"),
}


def counters(reply: Any, name: str, direction: Direction) -> CountsBuilder:
    """One direction of one device since the statistics were last reset, without a
    histogram. The extremes are rounded outwards, so that the mean lies between them.
    Raises BadReply."""
    stats = _of(reply, name)
    per_s = number(reply, "tick_rate")
    if per_s <= 0:
        raise BadReply(f"bdev_get_iostat has a tick rate of {per_s}")
    ios, moved, word = KEYS[direction]

    def ticks(key: str) -> int:
        return int(number(stats, key)) * SECOND_NS

    return CountsBuilder(
        ios=int(number(stats, ios)),
        bytes=int(number(stats, moved)),
        sum_ns=round(ticks(f"{word}_latency_ticks") / per_s),
        min_ns=int(ticks(f"min_{word}_latency_ticks") // per_s),
        max_ns=int(-(-ticks(f"max_{word}_latency_ticks") // per_s)),
    )


def _of(reply: Any, name: str) -> dict[str, Any]:
    bdevs = reply.get("bdevs") if isinstance(reply, dict) else None
    for stats in bdevs if isinstance(bdevs, list) else ():
        if isinstance(stats, dict) and stats.get("name") == name:
            return stats
    raise BadReply(f"bdev_get_iostat does not speak of {name}")
