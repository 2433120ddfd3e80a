"""Streams that have a part of the run, on the simulated drive."""

from __future__ import annotations

import pytest
from sim_drive import SECOND_NS, filled, stream

from ioplan.job import Progress
from ioplan.workload import Rate

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
