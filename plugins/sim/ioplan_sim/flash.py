"""The state of the drive, and how writes, trims and rest change it."""

from __future__ import annotations

from ioplan_sim.load import Kind, Lane

SPARE = 0.15
"""Over-provisioning: flash beyond the capacity, as a share of the capacity."""
LOW = 0.25
"""The share of the spare below which garbage collection competes with writes."""
RECOVERY_BYTES_PER_NS = 0.2
RECOVERY_WHILE_READING = 0.5
SEQUENTIAL_SCATTER = 0.05
SLICE_NS = 100_000_000
"""The shortest step of a long interval, so that a small drive is not slow to run."""
ERASE_BLOCK_BYTES = 4 << 20


class Flash:
    """`free_bytes` are erased, `stored_bytes` hold data, the rest is stale.

    `scatter` says how the stored data was written: 0 in erase blocks, 1 at random.
    """

    def __init__(self, capacity_bytes: int) -> None:
        self.capacity_bytes = capacity_bytes
        self.raw_bytes = capacity_bytes * (1 + SPARE)
        self.low_bytes = capacity_bytes * SPARE * LOW
        self.clock_ns = 0
        self.purge()

    def purge(self) -> None:
        """As new: all erased, nothing stored."""
        self.free_bytes, self.stored_bytes, self.scatter = self.raw_bytes, 0.0, 0.0

    @property
    def pressure(self) -> float:
        """How much of what is written must be collected first: 0 none, 1 all."""
        return max(0.0, 1 - self.free_bytes / self.low_bytes)

    @property
    def amplification(self) -> float:
        """Bytes programmed per byte written.

        At random in the steady state (1 + s) / 2s, for spare s over the stored
        data: the closed form of Agarwal and Marrow (GLOBECOM workshops, 2010).
        """
        spare = self.raw_bytes / max(self.stored_bytes, 1.0) - 1
        random = max(1.0, (1 + spare) / (2 * spare))
        return 1 + (random - 1) * self.scatter * self.pressure

    def horizon_ns(self, write_bytes_per_ns: float) -> float:
        """How long the drive stays nearly as it is, at this rate of writing."""
        drain = max(write_bytes_per_ns * (1 - self.pressure), 1e-9)
        change_bytes = max(self.free_bytes - self.low_bytes, self.low_bytes / 8)
        renewal_ns = self.capacity_bytes / 16 / max(write_bytes_per_ns, 1e-9)
        return max(SLICE_NS, min(change_bytes / drain, renewal_ns))

    def rest(self, time_ns: float, share: float = 1.0) -> None:
        """Pass time; stale pages become erased blocks, at a share of full speed."""
        self.clock_ns += round(time_ns)
        self._free(RECOVERY_BYTES_PER_NS * time_ns * share)

    def take(self, lane: Lane, kind: Kind, ios: int) -> None:
        """Let `ios` I/Os of a kind change what is stored."""
        if kind.direction == "write":
            self._write(lane, kind, ios)
        elif kind.direction == "trim":
            share = self.stored_bytes / self.capacity_bytes if lane.random else 1.0
            gone_bytes = min(self.stored_bytes, ios * kind.size_bytes * share)
            self.stored_bytes -= gone_bytes
            self._free(gone_bytes)

    def _write(self, lane: Lane, kind: Kind, ios: int) -> None:
        """New data fills the region from below; old data becomes stale."""
        host_bytes = ios * kind.size_bytes
        room_bytes = max(0.0, lane.stream.region_end_bytes - self.stored_bytes)
        share = room_bytes / lane.stream.region_end_bytes if lane.random else 1.0
        self.stored_bytes += min(room_bytes, host_bytes * share)
        scatter = SEQUENTIAL_SCATTER
        if lane.random:  # large random writes fill erase blocks by themselves
            scatter = 1 / (1 + kind.size_bytes / ERASE_BLOCK_BYTES)
        weight = min(1.0, host_bytes / max(self.stored_bytes, 1.0))
        self.scatter += (scatter - self.scatter) * weight
        self._free(-ios * kind.programmed_bytes * (1 - self.pressure))

    def _free(self, more_bytes: float) -> None:
        most_bytes = self.raw_bytes - self.stored_bytes
        self.free_bytes = min(most_bytes, max(0.0, self.free_bytes + more_bytes))
