"""No figure of the simulated drive is above what its own parts can do, and the deviation
of its intervals contains what a far longer batch comes to."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sim_drive import FILL, SECOND_NS, Bench, iops, size, stream

from ioplan.job import Progress, Result
from ioplan.workload import Rate, Region, Stream
from ioplan_sim import DriveSpec, FlashSpec, HostSpec, batch, execution

GIB = 1 << 30
REGION = Region(end_percent=15)
DRIVES = st.builds(
    lambda flash, host, over, cache: DriveSpec(
        flash=flash, host=host, over_provisioning=over, cache={"size": cache}
    ),
    st.builds(
        FlashSpec,
        channels=st.sampled_from((2, 7, 16)),
        dies=st.sampled_from((8, 56, 128)),
        page=st.sampled_from(("4KiB", "16KiB", "64KiB")),
        read=st.sampled_from(("2us", "60us")),
        program=st.sampled_from(("4us", "800us")),
        channel_bandwidth=st.sampled_from(("200MB/s", "2GB/s")),
        in_place=st.booleans(),
    ),
    st.builds(
        HostSpec,
        bandwidth=st.sampled_from(("300MB/s", "2.4GB/s", "7GB/s")),
        overhead=st.sampled_from(("0s", "4us", "50us")),
        commands=st.sampled_from(("20_000 iops", "420_000 iops")),
    ),
    st.sampled_from(("7%", "28%")),
    st.sampled_from(("0B", "1GiB")),
)
SIZES = st.sampled_from((512, 4096, 131072, 1 << 20))
STREAMS = st.builds(
    lambda reads, writes, rate, **fields: stream(
        **fields, read_sizes=reads, write_sizes=writes, rate=rate
    ),
    reads=st.builds(size, SIZES) | st.just((*size(4096), *size(131072))),
    writes=st.builds(size, SIZES),
    rate=st.sampled_from((None, None, Rate(iops=30_000, arrivals="poisson"))),
    pattern=st.sampled_from(("random", "sequential")),
    read_percent=st.sampled_from((0, 30, 70, 100)),
    qd=st.sampled_from((1, 3, 32, 512)),
    threads=st.sampled_from((1, 4)),
)


def check_within_limits(event: Result | Progress, spec: DriveSpec, slack: int) -> None:
    """`slack` I/Os may have begun before. The result of a run has none."""
    time_ns = event.run_ns if isinstance(event, Result) else event.interval_ns
    directions = [one.directions for one in event.streams]
    ios = sum(counts.ios for found in directions for counts in found.values())
    time_s = time_ns * (1 + 1e-9) / SECOND_NS
    assert ios <= spec.host.commands * time_s + slack
    for name in ("read", "write"):
        counted = [found[name] for found in directions if name in found]
        moved = sum(counts.bytes for counts in counted)
        most = spec.host.bandwidth * time_s
        assert moved <= most + slack * (1 << 20), f"{moved / time_s:.4g} B/s {name}"


@settings(max_examples=10, deadline=None)
@given(
    spec=DRIVES,
    streams=st.lists(STREAMS, min_size=1, max_size=2),
    interval_ms=st.sampled_from((20, 500)),
    is_filled=st.booleans(),
)
def test_no_part_of_a_drive_does_more_than_it_can(
    spec: DriveSpec, streams: list[Stream], interval_ms: int, is_filled: bool
) -> None:
    bench = Bench(spec, GIB, 1 << 14)
    if is_filled:
        bench.run(FILL, passes=1)
    named = [one.model_copy(update={"name": f"{n}"}) for n, one in enumerate(streams)]
    interval_ns = interval_ms * SECOND_NS // 1000
    result, series = bench.run(*named, run_ns=SECOND_NS, interval_ns=interval_ns)
    check_within_limits(result, spec, 0)
    for event in series:
        check_within_limits(event, spec, 1)
    for one, counts in zip(named, result.streams, strict=True):
        if one.rate is None:  # Little's law, but for what buckets round
            waited = sum(found.sum_ns for found in counts.directions.values())
            assert waited / result.run_ns <= one.qd * one.threads * 1.01


@pytest.mark.parametrize("direction", ["read", "write"])
@pytest.mark.parametrize(("kib", "qd"), [(64, 512), (128, 2048), (1024, 256), (4, 512)])
def test_a_full_link_carries_what_it_can(kib: int, qd: int, direction: str) -> None:
    """More outstanding I/Os on a full link wait longer; they are no faster."""
    bench = Bench.of("crosspoint")
    read_percent = 100 if direction == "read" else 0
    asked = stream(kib << 10, pattern="sequential", read_percent=read_percent, qd=qd)
    host = bench.device.spec.host
    most = min(host.bandwidth / (kib << 10), host.commands)
    assert 0.99 * most < bench.iops(asked, run_ns=10 * SECOND_NS) <= most


MIXES: list[dict[str, Any]] = [
    {"read_percent": percent, "qd": qd} for percent in (100, 70, 5) for qd in (1, 32)
]
AT_A_LIMIT = 0.005
"""Where the host is the limit, deviations go down only, and the mean with them."""


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("name", ["client", "datacentre", "crosspoint"])
def test_the_deviation_of_intervals_contains_the_truth(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is drawn by itself; so one of these six may be beyond its deviation."""
    within = [_holds_truth(name, stream(**mix), monkeypatch) for mix in MIXES]
    assert sum(within) >= len(MIXES) - 1, within


def _holds_truth(name: str, asked: Stream, patch: pytest.MonkeyPatch) -> bool:
    def series() -> list[float]:
        bench = Bench.of(name)
        bench.run(FILL, passes=0.2)
        asked_there = asked.model_copy(update={"region": REGION})
        _, found = bench.run(asked_there, run_ns=20 * SECOND_NS)
        return [iops(one) for one in found]

    found = np.array(series())
    with patch.context() as exact:
        for limit in ("MIN_WORK", "MAX_WORK"):
            exact.setattr(batch, limit, 20 * 2 * batch.DRAWS)
        for part in ("NOISE", "ERRORS"):
            exact.setattr(execution, part, 0.0)
        truth = np.mean(series())
    most = max(found.std(), AT_A_LIMIT * truth)
    return bool(abs(found.mean() - truth) <= most)
