"""What each phase counts of each stream and direction, against the device's log.

An I/O is in a phase if it was to start in it. The device sees it a little later, so that
those which arrive near an edge may be on either side of it; all others have one place.
How long the device takes changes as time goes on: latencies tell as well as numbers do that
the I/Os are those of the phase.
"""

from typing import TypeAlias

import numpy as np
import pytest
from calm import needs_idle_cpu
from command import plan_file, succeed
from device_parts import Case, histogram_longer, parts_of, plan_of, short_first
from msgspec import Struct
from without_io_uring import engine_without_io_uring

from ioplan.results.measure import Histogram
from ioplan.results.store import Store
from ioplan_witness import seen

MS = 10**6
LAG_NS = 25 * MS
"""From the intended start of an I/O until the device sees it, or from its answer until the
engine does, at most; and from the run's begin to its first I/O."""
ODD_IOS = 2
"""Of a phase, may take longer than that, where the host let the engine wait for a CPU."""
LENGTH_NS = 2_000 * MS
STEP_MS, LONGEST_S = 50, 20
TOOK_MS = np.random.default_rng(5).choice((2, 40, 80), LONGEST_S * 1000 // STEP_MS)
"""Of each 50 ms since the device began, so that no two phases are alike; the run must
have ended before the last of them."""
LATENCIES = [
    {"time": [f"{at * STEP_MS}ms", f"{(at + 1) * STEP_MS}ms"], "value": f"{took}ms"}
    for at, took in enumerate(TOOK_MS)
]
Counted: TypeAlias = "dict[tuple[str, str], tuple[int, Histogram]]"
"""I/Os and latencies by stream and direction."""


class PhaseCase(Struct, frozen=True):
    """Streams, and phases that an `expect` names."""

    streams: dict[str, str]
    during: tuple[str, ...]
    depth: int
    blocking: bool = False

    @property
    def plan(self):
        judged = [f"  expect iops > 0 during {name}\n" for name in self.during]
        return plan_of(self.load, f"\n{''.join(judged)}")

    @property
    def load(self):
        return Case(self.streams, self.depth, blocking=self.blocking)


READS = "random 4KiB 100/0, qd 8"
BURSTS = "burst 350ms of 400 iops as busy, then 450ms of 60 iops as calm"
LOG = "sequential 4KiB 0/100, sync every"
RATED = "random 4KiB 0/100, qd 64, rate 150 iops"
POISSON = "random 4KiB 100/0, qd 128, rate 300 iops poisson"
PULSE = f"{READS}, rate 40 iops"
CASES = {
    "a stream that begins late": PhaseCase(
        {"reader": READS, "late": "sequential 4KiB 0/100, qd 8, starts after 700ms"}, ("late",), 16
    ),
    "a stream that ends early": PhaseCase(
        {"writer": RATED, "early": f"{READS}, ends after 1200ms"}, ("early",), 72
    ),
    "a stretch of reads": PhaseCase({"a": READS}, ("300ms..1100ms",), 8),
    "stretches of a mix": PhaseCase({"a": "random 4KiB 70/30, qd 8"}, ("200ms..900ms", "800ms..1500ms"), 8),
    "poisson": PhaseCase({"a": POISSON, "pulse": PULSE}, ("250ms..850ms",), 136),
    "bursts beside a reader": PhaseCase(
        {"reader": READS, "writer": f"random 4KiB 0/100, qd 128, {BURSTS}"}, ("busy", "calm"), 136
    ),
    "a log": PhaseCase({"log": f"{LOG} 1"}, ("300ms..1300ms",), 1),
    "a log beside bursts": PhaseCase(
        {"reader": f"random 4KiB 100/0, qd 128, {BURSTS}", "log": f"{LOG} 2"},
        *(("busy", "calm", "600ms..1200ms"), 129),
    ),
    "blocking calls": PhaseCase(
        {"reader": f"{READS}, ends after 1300ms", "log": f"{LOG} 2, starts after 500ms"},
        *(("reader", "log"), 9, True),
    ),
}  # fmt: skip
SHORT = ("a log beside bursts",)


def in_windows(part, begin_ns, phase, lag_ns):
    """What arrived in the phase, by so much more than its edges, or with them."""
    at_ns = part.started_ns - begin_ns
    inside = np.zeros(len(at_ns), bool)
    for from_ns, to_ns in phase.windows(LENGTH_NS):
        first_ns = -LENGTH_NS if lag_ns < 0 and not from_ns else from_ns - lag_ns
        inside |= (at_ns >= first_ns) & (at_ns < to_ns + lag_ns)
    if lag_ns < 0:  # what was under way at the end is not counted
        inside &= part.done_ns - begin_ns < LENGTH_NS - LAG_NS
    return part.where(inside)


def check_phase(phase, parts, found):
    """What must be counted, and what may be, of every stream and direction."""
    begin_ns = min(int(part.started_ns.min()) for part in parts.values())
    assert found.keys() <= parts.keys()
    for key, part in parts.items():
        surely = in_windows(part, begin_ns, phase, -LAG_NS)
        perhaps = in_windows(part, begin_ns, phase, LAG_NS)
        ios, histogram = found.get(key, (0, Histogram.of(())))
        assert len(surely.done_ns) <= ios <= len(perhaps.done_ns), (phase.name, key)
        assert histogram.total == ios
        for limit_ns in range(0, 200 * MS, MS):
            longer = histogram_longer(histogram, limit_ns)
            longer_by_lag = histogram_longer(histogram, limit_ns + LAG_NS) - ODD_IOS
            why = (phase.name, key, limit_ns)
            assert surely.longer(limit_ns) <= longer, why
            assert longer_by_lag <= perhaps.longer(limit_ns), why
            assert surely.shorter(limit_ns) <= ios - longer_by_lag, why
            assert ios - longer <= perhaps.shorter(limit_ns), why


def check_whole(found, parts, phases, depth):
    """No I/O is missing; where phases are all of the time, each is in one of them."""
    for key, part in parts.items():
        assert 0 <= len(part.done_ns) - found[key][0] <= depth, key
    if {"busy", "calm"} <= phases.keys():
        for key, (ios, _) in found.items():
            both = [phases[name].get(key, (0, None))[0] for name in ("busy", "calm")]
            assert sum(both) == ios, key


@pytest.mark.slow
@pytest.mark.machine
@pytest.mark.parametrize("name", short_first(CASES, SHORT))
@pytest.mark.promise("figures.phases")
@needs_idle_cpu(50)
def test_a_phase_has_what_was_to_start_in_it(
    name, device, tmp_path, store_path, monkeypatch
):
    case, one = CASES[name], device(size="64MiB", latency=LATENCIES)
    if case.blocking:
        monkeypatch.setenv("IOPLAN_ENGINE", engine_without_io_uring(tmp_path))
    target = ("--target", one.disk, "--overwrite-data", one.disk)
    succeed(*("run", plan_file(tmp_path, case.plan), *target, "--backend", "io_uring"))
    with Store.open(store_path) as store:
        session = store.session("last").id
        (record,) = store.records(session)
        detail = store.detail(session, 1)
    assert record.backend.mode == "sync" or not case.blocking
    counted: dict[str, Counted] = {}
    for stored in detail.histograms:
        histogram = Histogram.of(stored.bins, stored.bits)
        by_key = counted.setdefault(stored.phase, {})
        by_key[stored.stream, stored.direction] = (histogram.total, histogram)
    parts = parts_of(case.load, seen(one))
    assert len(record.phases) == len(case.during)
    for phase, result in record.phases.items():
        assert result.when
        check_phase(result.when, parts, counted[phase])
    check_whole(counted.pop(""), parts, counted, case.depth)
