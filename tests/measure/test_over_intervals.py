"""The worst second and the share of intervals beyond a limit, against raw latencies."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from figures import (
    SECOND_NS,
    counts,
    flat,
    latencies_ns,
    measured,
    record,
    result,
    stream,
)

from ioplan.job import Progress
from ioplan.language import parse_metric
from ioplan.records import RunDetail
from ioplan.results.measure import (
    Figure,
    IntervalCounts,
    Measurement,
    Sample,
    figure,
    in_series,
    stretch,
)

MS_NS = 1_000_000
STALL_NS = 200 * MS_NS
STALLED = 23
"""The interval of 100 ms, from 0, at whose end some I/Os took long."""


def intervals(length_ns: int, parts: Sequence[Sequence[int]]) -> Measurement:
    events: list[Progress] = []
    for number, some in enumerate(parts, 1):
        streams = (stream("a", read=counts(some)), stream("b", write=counts([5_000])))
        end_ns = number * length_ns
        events.append(Progress(t_ns=end_ns, interval_ns=length_ns, streams=streams))
    whole = stream("a", read=counts(flat(parts)))
    return measured(*events, result(len(parts) * length_ns / SECOND_NS, whole))


def tenths() -> list[list[int]]:
    """Five seconds; 16 of the 3,000 I/Os of the third one stall."""
    found = [latencies_ns(number, 300) for number in range(50)]
    found[STALLED][:40] = [STALL_NS] * 40
    return found


def judged(text: str, *made: Measurement) -> Figure:
    runs = [Sample(record(1, made=one), one.detail) for one in made]
    return figure(parse_metric(text, ("a", "b")), runs)


def test_the_worst_second_is_of_all_its_latencies() -> None:
    parts = tenths()
    seconds = [np.concatenate(parts[at : at + 10]) for at in range(0, 50, 10)]
    made = intervals(100 * MS_NS, parts)
    for name in ("p50", "p99"):
        percent = float(name[1:])
        by_hand = [np.percentile(one, percent, method="higher") for one in seconds]
        found = judged(f"a.worst_second.{name}", made).value
        assert found == pytest.approx(max(by_hand), rel=0.01)
        assert by_hand.index(max(by_hand)) == 2 or name == "p50"
    whole = judged("a.p99", made).value
    assert whole and whole < STALL_NS / 100, "of the run the stall is not seen"
    means = [float(one.mean()) for one in seconds]
    assert judged("a.worst_second.mean", made).value == pytest.approx(max(means))


def of_step(name: str, made: Measurement) -> Sample:
    return Sample(record(1, made, name=name), made.detail)


@pytest.mark.parametrize(
    "text",
    [
        *("worst_second.p99", "worst_second.mean", "worst_second.iops"),
        *("worst_second.errors", "a.worst_second.max", "a.read.worst_second.iops"),
        *("intervals of p90 above 150us", "intervals of a.iops below 2900 iops"),
    ],
)
def test_of_a_step_its_own_intervals_are_asked(text: str) -> None:
    """As without a name, of the runs of that step only."""
    slow, fast = (intervals(100 * MS_NS, some) for some in (tenths(), tenths()[::-2]))
    runs = [of_step("slow", slow), of_step("fast", fast), of_step("", fast)]
    before, of, after = text.rpartition("intervals of ")
    for step, made in (("slow", slow), ("fast", fast)):
        named = f"{before}{of}{step}.{after}"
        metric = parse_metric(named, ("a", "b"), ("slow", "fast"))
        assert figure(metric, runs) == judged(text, made)
        assert judged(text, made).value is not None


def test_of_rates_the_worst_second_is_the_lowest_and_whole() -> None:
    parts = [latencies_ns(number, 300 - number) for number in range(23)]
    made = intervals(100 * MS_NS, parts)
    by_hand = [sum(map(len, parts[at : at + 10])) for at in (0, 10)]
    assert judged("a.worst_second.iops", made).value == pytest.approx(min(by_hand))
    assert judged("worst_second.iops", made).value == pytest.approx(min(by_hand) + 10)


def test_a_share_of_intervals_is_counted() -> None:
    parts = tenths()
    made = intervals(100 * MS_NS, parts)
    limit_ns = 150_000
    above = sum(np.percentile(one, 90) > limit_ns for one in parts)
    found = judged("intervals of a.p90 above 150us", made).value
    assert 0 < above < 50 and found == pytest.approx(100 * above / 50, abs=2.01)
    assert judged("intervals of a.max above 199ms", made).value == pytest.approx(2)
    assert judged("intervals of a.max below 199ms", made).value == pytest.approx(98)
    assert judged("intervals of a.iops below 2999 iops", made).value == 0


def test_several_runs_count_together() -> None:
    calm = intervals(SECOND_NS, [latencies_ns(n, 2000) for n in range(3)])
    bad = intervals(SECOND_NS, [[STALL_NS] * 2000])
    assert judged("intervals of a.p99 above 100ms", calm, bad).value == 25
    worst = judged("a.worst_second.p99", calm, bad).value
    assert worst == pytest.approx(STALL_NS, rel=0.01)


def test_what_intervals_do_not_tell_has_a_reason() -> None:
    long = intervals(2 * SECOND_NS, [latencies_ns(n, 2000) for n in range(3)])
    assert judged("worst_second.p99", long) == Figure(
        None, "the intervals are longer than a second"
    )
    few = intervals(SECOND_NS, [latencies_ns(n, 900) for n in range(3)])
    assert judged("a.worst_second.p99", few) == Figure(
        None, "needs 1_000 I/Os in a second, had 900 at most"
    )
    nothing = Sample(record(1), RunDetail())
    for text in ("worst_second.p99", "intervals of p99 above 1ms"):
        found = figure(parse_metric(text), [nothing])
        assert found == Figure(None, "no run has counts of its intervals")
    short = intervals(500 * MS_NS, [latencies_ns(1, 2000)])
    assert judged("worst_second.iops", short).value is None


def test_a_stretch_has_the_same_figures() -> None:
    parts = tenths()
    made = intervals(100 * MS_NS, parts)
    counted = IntervalCounts(made.detail.intervals)
    for text in ("a.worst_second.p99", "intervals of a.max above 199ms"):
        metric = parse_metric(text, ("a", "b"))
        whole = stretch(counted, 0, 5 * SECOND_NS)
        assert whole and whole.figure(metric) == judged(text, made)
        calm = stretch(counted, 3 * SECOND_NS, 5 * SECOND_NS)
        found = calm and calm.figure(metric).value
        assert found is not None and found < STALL_NS / 100


@pytest.mark.parametrize(
    "text",
    [
        "worst_second.p99",
        "a.read.worst_second.p99.9",
        "worst_second.iops",
        "intervals of a.p99 above 5ms",
        "intervals of iops below 1_000 iops",
    ],
)
def test_a_metric_reads_as_it_is_written(text: str) -> None:
    metric = parse_metric(text, ("a",))
    assert str(metric) == text and parse_metric(str(metric), ("a",)) == metric


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        *(("iops", True), ("read.bandwidth", True), ("flush.iops", False)),
        *(("a.iops", False), ("p99", True), ("max", True), ("errors", True)),
        *(("p99.99", False), ("read.p99", False), ("a.mean", False)),
    ],
)
def test_a_series_has_rates_by_direction_and_latencies_of_all(
    text: str, kept: bool
) -> None:
    """The rest is made of what the intervals counted."""
    assert in_series(parse_metric(text, ["a"])) is kept
