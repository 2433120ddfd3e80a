"""Power from whatever measures it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from msgspec import Struct

from ioplan.core.statistics.mean import fmean
from ioplan.runner.telemetry.energy import Domain, non_overlapping
from ioplan.runner.telemetry.hwmon import WHOLE_MACHINE
from ioplan.runner.telemetry.sample import Sample

METER = "meter"


class Power(Struct, frozen=True):
    """Watts by what has measured them. RAPL's domains are called `rapl NAME`."""

    by_source: dict[str, float]

    @property
    def source(self) -> str:
        """The source that counts: the nearest to the power of the whole machine.

        The lab's meter, else ACPI's, else RAPL. Other sensors of hwmon are not added
        up: which ones hold others cannot be known.
        """
        if METER in self.by_source:
            return METER
        for name in self.by_source:
            if name.startswith(WHOLE_MACHINE):
                return name
        return " + ".join(self._rapl())

    @property
    def watts(self) -> float | None:
        """The figure that counts."""
        if self.source in self.by_source:
            return self.by_source[self.source]
        found = [self.by_source[name] for name in self._rapl()]
        return sum(found) if found else None

    def _rapl(self) -> list[str]:
        names = [
            n.removeprefix("rapl ") for n in self.by_source if n.startswith("rapl")
        ]
        return [f"rapl {name}" for name in non_overlapping(names)]


def power(samples: Sequence[Sample], domains: Mapping[str, Domain]) -> Power:
    """Over the time from the first sample to the last; the first one is its start."""
    found: dict[str, list[float]] = {}
    for sample in samples[1:]:
        for name, watts in sample.watts.items():
            found.setdefault(name, []).append(watts)
    means = {name: fmean(values) for name, values in found.items()}
    return Power(means | dict(_rapl_watts(samples, domains)))


def _rapl_watts(
    samples: Sequence[Sample], domains: Mapping[str, Domain]
) -> Iterator[tuple[str, float]]:
    """Added up from sample to sample, so that a counter may turn over in each."""
    length_s = samples[-1].at_s - samples[0].at_s
    for name, domain in domains.items():
        readings = [one.energy_uj[name] for one in samples if name in one.energy_uj]
        if len(readings) == len(samples):
            energy_j = sum(domain.between_j(*pair) for pair in pairwise(readings))
            yield f"rapl {name}", energy_j / length_s
