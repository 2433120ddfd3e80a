"""From samples to the telemetry of a run and of its intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from ioplan.core.statistics.mean import fmean
from ioplan.records.telemetry import Telemetry, TelemetryPoint
from ioplan.runner.telemetry.power import Domain, Power, power
from ioplan.runner.telemetry.sample import Figures, Sample, levels, rates

LATE, LATE_S = 1.25, 0.02
"""The time from one sample to the next may be so much longer than their interval."""
SHORT = 0.2
"""Samples that are closer than this share of it were reported late, all at once."""

Domains = Mapping[str, Domain]


def covering(samples: Sequence[Sample]) -> list[Sample]:
    """The samples of the measured part, the first of which is its start.

    A program may have been loading for a while before its first event: a first
    interval that took longer than it says is left out, if there are others.
    """
    found = _apart(samples)
    if len(found) > 2:
        length_s = found[1].at_s - found[0].at_s
        stated_s = found[1].t_s - found[0].t_s
        if length_s > LATE * stated_s + LATE_S:
            return found[1:]
    return found


def _apart(samples: Sequence[Sample]) -> list[Sample]:
    found: list[Sample] = []
    for sample in samples:
        if not found or _gap_s(found[-1], sample) > 0:
            found.append(sample)
    return found


def _gap_s(before: Sample, after: Sample) -> float:
    return after.at_s - before.at_s - SHORT * (after.t_s - before.t_s)


def points(samples: Sequence[Sample], domains: Domains) -> tuple[TelemetryPoint, ...]:
    """One for each sample but the first."""
    return tuple(_point(one, other, domains) for one, other in pairwise(samples))


def _point(before: Sample, after: Sample, domains: Domains) -> TelemetryPoint:
    return TelemetryPoint(
        t_s=after.t_s,
        length_s=after.at_s - before.at_s,
        **_figures([before, after], power([before, after], domains)),
    )


def summary(
    samples: Sequence[Sample], domains: Domains, **more: Any
) -> Telemetry | None:
    """The telemetry of a whole run; None if there are fewer than two samples."""
    if len(samples) < 2:
        return None
    found = power(samples, domains)
    first, last, heats = samples[0], samples[-1], _heats(samples)
    figures: dict[str, Any] = {**_figures(samples, found), **more}
    return Telemetry(
        covered_s=last.at_s - first.at_s,
        intervals=len(samples) - 1,
        cpus=len(last.machine.unused_s) if last.machine else None,
        core_busy_percent=_core_busy(first, last),
        core_frequency_mhz=_core_frequencies(samples),
        watts_source=found.source,
        watts_by_source=found.by_source,
        temperature_max_celsius=max(heats, default=None),
        **figures,
    )


def _figures(samples: Sequence[Sample], found: Power) -> Figures:
    between = rates(samples)
    return between | levels(samples[1:]) | {"watts": found.watts}


def _heats(samples: Sequence[Sample]) -> list[float]:
    heats = (one.temperature_celsius for one in samples)
    return [heat for heat in heats if heat is not None]


def _core_busy(first: Sample, last: Sample) -> tuple[float, ...]:
    """Rounded, as a machine may have hundreds."""
    if not (first.machine and last.machine):
        return ()
    length_s = last.at_s - first.at_s
    busy = last.machine.busy_s(first.machine, length_s)
    return tuple(round(100 * busy_s / length_s, 1) for busy_s in busy.values())


def _core_frequencies(samples: Sequence[Sample]) -> tuple[float, ...]:
    """Means, as long as no CPU comes or goes."""
    rows = [one.frequencies_mhz for one in samples[1:]]
    if len({len(row) for row in rows}) != 1:
        return ()
    return tuple(round(fmean(column), 1) for column in zip(*rows, strict=True))
