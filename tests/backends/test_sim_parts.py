"""Streams that have a part of the run, on the simulated drive."""

from __future__ import annotations

import pytest
from sim_drive import SECOND_NS, filled, stream

from ioplan.job import Progress
from ioplan.workload import Rate, RatePhase

MS_NS = SECOND_NS // 1000


def test_a_stream_does_its_io_in_its_part_of_the_run_only() -> None:
    """At a rate each interval has its I/Os; the warm-up goes before the part."""
    streams = (
        stream(name="whole", rate=Rate(iops=1000)),
        stream(
            name="part",
            rate=Rate(iops=2000),
            starts_ns=3 * SECOND_NS,
            ends_ns=6 * SECOND_NS,
        ),
        stream(name="early", rate=Rate(iops=4000), ends_ns=1500 * MS_NS),
    )
    times = {"run_ns": 8 * SECOND_NS, "warmup_ns": 2 * SECOND_NS}
    result, events = filled("datacentre").run(*streams, **times)
    seen = [
        {one.name: sum(c.ios for c in one.directions.values()) for one in event.streams}
        for event in events
        if isinstance(event, Progress) and not event.warmup
    ]
    assert [one["part"] for one in seen] == pytest.approx(
        [0, 0, 0, 2000, 2000, 2000, 0, 0], abs=8
    )
    assert [one["early"] for one in seen] == pytest.approx(
        [4000, 2000, *[0] * 6], abs=8
    )
    assert [one["whole"] for one in seen] == pytest.approx([1000] * 8, abs=8)
    whole, part, early = result.streams
    assert (part.run_ns, early.run_ns) == (3 * SECOND_NS, 1500 * MS_NS)
    assert result.run_ns == 8 * SECOND_NS and whole.run_ns is None


def test_another_stream_has_the_drive_to_itself_meanwhile() -> None:
    """A closed loop is as fast as alone where the other one is not there."""
    bench = filled("datacentre")
    fields = {"read_percent": 100, "qd": 4}
    alone, _ = bench.run(stream(**fields), run_ns=4 * SECOND_NS)
    beside = stream(name="beside", qd=256, starts_ns=2 * SECOND_NS)
    _, events = bench.run(stream(**fields), beside, run_ns=4 * SECOND_NS)
    series = [
        event.streams[0].directions["read"].ios
        for event in events
        if isinstance(event, Progress)
    ]
    each = alone.streams[0].directions["read"].ios / len(series)
    half = len(series) // 2
    assert series[:half] == pytest.approx([each] * half, rel=0.03)
    assert max(series[half:]) < 0.9 * each


def series(events: list[Progress]) -> list[int]:
    return [
        event.streams[0].directions["read"].ios if event.streams[0].directions else 0
        for event in events
        if not event.warmup
    ]


def test_a_burst_has_the_ios_of_its_phases() -> None:
    """Also where one ends within an interval, and with a warm-up before the first."""
    lengths = ((1500, 2000.0), (500, 0.0), (1000, 300.0))
    phases = tuple(
        RatePhase(length_ns=ms * MS_NS, per_s=per_s) for ms, per_s in lengths
    )
    rate = Rate(iops=1100.0, phases=phases)
    times = {"run_ns": 6 * SECOND_NS, "warmup_ns": 700 * MS_NS}
    result, events = filled("datacentre").run(stream(qd=8, rate=rate), **times)
    assert series(events) == pytest.approx([2000, 1000, 300] * 2, abs=8)
    assert result.streams[0].directions["read"].ios == pytest.approx(6600, abs=8)


@pytest.mark.long
def test_a_ramp_has_the_ios_below_its_line_until_the_drive_can_do_no_more() -> None:
    """Latencies count from the intended start, and so grow where the drive is behind."""
    bench = filled("datacentre")
    rate = Rate(iops=5_000.0, first_per_s=0.0, last_per_s=10_000.0)
    _, events = bench.run(stream(qd=8, rate=rate), run_ns=10 * SECOND_NS)
    assert series(events) == pytest.approx([500 + 1000 * n for n in range(10)], abs=40)
    able = bench.iops(stream(qd=1))
    steep = Rate(iops=1.5 * able, first_per_s=0.0, last_per_s=3 * able)
    short = {"run_ns": 900 * MS_NS, "interval_ns": 100 * MS_NS}
    _, events = bench.run(stream(qd=1, rate=steep), **short)
    seen = [10 * ios for ios in series(events)]
    assert seen[:2] == pytest.approx([able / 6, able / 2], rel=0.03)
    assert seen[-4:] == pytest.approx([able] * 4, rel=0.03)
    first, *_, last = (e.streams[0].directions["read"] for e in events)
    assert last.sum_ns / last.ios > 1000 * first.sum_ns / first.ios
