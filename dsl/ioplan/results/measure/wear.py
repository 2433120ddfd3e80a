"""A drive's wear, from what its logs counted, and the spare that its wear tells.

Write amplification is what was written to the flash over what the host wrote (Hu et
al., Write Amplification Analysis in Flash-Based Solid State Drives, SYSTOR 2009). Drive
writes per day is what the host wrote over capacity and time (JESD218B.02): that of a
run is what a drive would take if the run went on all day.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, log

from msgspec import Struct

from ioplan.core.units import digits, percent_text
from ioplan.job import Wear

DAY_S = 86_400
STEPS = 100
"""So many steps of the log must have been written: it is then right to 1 %."""
NO_LOG = "not measured: the drive has no log of its writes"
NO_MEDIA = "not measured: the drive's log does not count writes to its flash"
NO_CAPACITY = "not measured: the drive does not report its capacity"

WEAR_METRICS = ("waf", "media_written", "dwpd")


def wear_value(name: str, runs: Sequence[Wear | None]) -> float | str:
    """A metric of WEAR_METRICS over all runs, or why there is none."""
    logs = [log for log in runs if log]
    if not logs or len(logs) < len(runs):
        return NO_LOG
    if name == "dwpd":
        return _drive_writes_per_day(logs)
    counts = [log.media_written_bytes for log in logs]
    media = float(sum(count or 0 for count in counts))
    if None in counts:
        return NO_MEDIA
    if name == "media_written":
        return media
    host = _host_bytes(logs)
    return host if isinstance(host, str) else media / host


def _host_bytes(logs: Sequence[Wear]) -> float | str:
    written = sum(log.host_written_bytes for log in logs)
    least = STEPS * max(log.step_bytes for log in logs)
    if written and STEPS < least > written:
        return f"too little was written: the log needs {least / 1e6:g} MB"
    return float(written) if written else "nothing was written"


def _drive_writes_per_day(logs: Sequence[Wear]) -> float | str:
    capacity_bytes, span_s = logs[-1].capacity_bytes, sum(log.span_s for log in logs)
    if not capacity_bytes or span_s <= 0:
        return NO_CAPACITY
    host = _host_bytes(logs)
    return host if isinstance(host, str) else host / capacity_bytes / span_s * DAY_S


def wear_since(before: Wear | None, now: Wear | None) -> Wear | None:
    """What was written between two counts of a run so far."""
    if before is None or now is None:
        return now
    counts = before.media_written_bytes, now.media_written_bytes
    media = None if None in counts else (counts[1] or 0) - (counts[0] or 0)
    change = {
        "span_s": now.span_s - before.span_s,
        "host_written_bytes": now.host_written_bytes - before.host_written_bytes,
        "media_written_bytes": media,
    }
    return now.model_copy(update=change)


# Write amplification in steady state by the spare flash, and the spare by that.
#
# Greedy collection under uniform random writes: a block is collected when it has kept
# `k` of its pages, with (1 - k) / ln(1 / k) = 1 / (1 + spare), and each block then
# frees 1 - k, so that the amplification is 1 / (1 - k) (P. Desnoyers, SYSTOR 2012).
# Solved, that is a / (a + W(-a e^-a)) for a = 1 + spare (L. Xiang and B. Kurkoski, An
# Improved Analytic Expression for Write Amplification in NAND Flash, 2012, arXiv
# 1110.4245).

FITS_PERCENT = 20.0
"""By so much may a drive amplify more or less than greedy collection does."""


def spare_percent_of(waf: float) -> float:
    """The flash beyond the capacity, in percent of it, by an amplification above 1."""
    return 100 * (-waf * log(1 - 1 / waf) - 1)


def steady_waf(spare_percent: float) -> float:
    """The amplification of a spare above 0; it falls as the spare grows."""
    a = 1 + spare_percent / 100
    return a / (a + lambert_w(-a * exp(-a)))


def lambert_w(x: float) -> float:
    """The upper branch of w e^w = x for -1/e < x < 0, by Newton's method."""
    w = 0.0
    for _ in range(100):
        w -= (w * exp(w) - x) / (exp(w) * (w + 1))
    return w


class StatedSpare(Struct):
    """The spare that a shaped write was told, and what its size is of later writes'.

    A drive whose map has units of the larger size writes so many times more. If it
    `is_least`, what is written before anything is collected adds to it.
    """

    percent: float
    sizes: float = 1.0
    is_least: bool = False
    has_grown: bool = False

    def uncollected(self, percent: float) -> None:
        """So much of the capacity went to erased blocks."""
        if self.is_least:
            self.percent, self.has_grown = self.percent + percent, True

    def misfit(self, waf: float) -> str:
        """Why the spare cannot be right; empty where it may be."""
        factors = dict.fromkeys((1.0, self.sizes))
        expected = [steady_waf(self.percent) * factor for factor in factors]
        if any(abs(waf / fit - 1) <= FITS_PERCENT / 100 for fit in expected):
            return ""
        read = [percent_text(spare_percent_of(waf / f)) for f in factors if waf > f]
        return (
            f"the {'spare found' if self.is_least else 'stated spare'} does not fit "
            f"this drive: at {percent_text(self.percent)} its WAF would be "
            f"{' or '.join(map(digits, expected))}, and is {digits(waf)}"
            f"{'; it reads as ' if read else ''}{' or '.join(read)}"
        )
