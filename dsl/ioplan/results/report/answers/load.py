"""What one cell of a session did: a load that an answer may be made of."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from ioplan.language.metric import Metric
from ioplan.results.report.headlines.headline import Burst

Sizes = tuple[tuple[int, float], ...]


class Load(Struct, frozen=True):
    """What one cell did.

    `depth` is the number of I/Os outstanding, `latencies_ns` has the metrics that were
    asked for and that it has, `error_percent` is how far the mean of `iops` may be off.
    `drive_writes` are those in a day at this rate.
    """

    read_percent: float
    sizes: Sizes
    depth: int
    rate: float
    iops: float
    latencies_ns: Mapping[str, float]
    error_percent: float | None = None
    burst: Burst | None = None
    watts: float | None = None
    drive_writes: float | None = None
    against: tuple[str, ...] = ()

    @property
    def size_bytes(self) -> int | None:
        """The size of its I/Os; None of several."""
        return self.sizes[0][0] if len(self.sizes) == 1 else None

    def latency_ns(self, metric: Metric | None) -> float | None:
        """The metric, where it has it."""
        return self.latencies_ns.get(str(metric))

    @property
    def where(self) -> str:
        """`QD 8`; of what does not wait for completions its rate."""
        return f"a rate of {self.rate:g}" if self.rate else f"QD {self.depth}"


class Measured(Struct, frozen=True):
    """A load of a session, by the words that a page chooses it with."""

    label: str
    pattern: str
    size: str
    load: Load
