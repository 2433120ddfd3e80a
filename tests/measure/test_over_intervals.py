"""Figures over intervals: the worst second, shares beyond a limit, recovery and lost work."""

import random
from itertools import product

import figures
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
from ioplan.records import EventMade, RunDetail
from ioplan.results.measure import (
    Figure,
    IntervalCounts,
    Sample,
    figure,
    in_series,
    stretch,
)

MS_NS = 1_000_000
STALL_NS = 200 * MS_NS
STALLED = 23
"""The interval of 100 ms, from 0, at whose end some I/Os took long."""


def intervals(length_ns, parts):
    events = []
    for number, some in enumerate(parts, 1):
        streams = (stream("a", read=counts(some)), stream("b", write=counts([5_000])))
        end_ns = number * length_ns
        events.append(Progress(t_ns=end_ns, interval_ns=length_ns, streams=streams))
    whole = stream("a", read=counts(flat(parts)))
    return measured(*events, result(len(parts) * length_ns / SECOND_NS, whole))


def tenths():
    """Five seconds; 16 of the 3,000 I/Os of the third one stall."""
    found = [latencies_ns(number, 300) for number in range(50)]
    found[STALLED][:40] = [STALL_NS] * 40
    return found


def judged(text, *made):
    runs = [Sample(record(1, made=one), one.detail) for one in made]
    return figure(parse_metric(text, ("a", "b")), runs)


def test_the_worst_second_is_of_all_its_latencies():
    parts = tenths()
    seconds = [np.concatenate(parts[at : at + 10]) for at in range(0, 50, 10)]
    made = intervals(100 * MS_NS, parts)
    for name in ("p50", "p99"):
        by_hand = [np.percentile(o, float(name[1:]), method="higher") for o in seconds]
        found = judged(f"a.worst_second.{name}", made).value
        assert found == pytest.approx(max(by_hand), rel=0.01)
        assert by_hand.index(max(by_hand)) == 2 or name == "p50"
    whole = judged("a.p99", made).value
    assert whole and whole < STALL_NS / 100, "of the run the stall is not seen"
    means = [float(one.mean()) for one in seconds]
    assert judged("a.worst_second.mean", made).value == pytest.approx(max(means))


OF_STEPS = (
    *("worst_second.p99", "worst_second.mean", "worst_second.iops"),
    *("worst_second.errors", "a.worst_second.max", "a.read.worst_second.iops"),
    *("intervals of p90 above 150us", "intervals of a.iops below 2900 iops"),
)


def test_of_a_step_its_own_intervals_are_asked():
    """As without a name, of the runs of that step only."""
    slow, fast = (intervals(100 * MS_NS, some) for some in (tenths(), tenths()[::-2]))
    steps = {"slow": slow, "fast": fast, "": fast}
    runs = [Sample(record(1, o, name=name), o.detail) for name, o in steps.items()]
    for text, step in product(OF_STEPS, ("slow", "fast")):
        before, of, after = text.rpartition("intervals of ")
        metric = parse_metric(f"{before}{of}{step}.{after}", ("a", "b"), tuple(steps))
        assert figure(metric, runs) == judged(text, steps[step])
        assert judged(text, steps[step]).value is not None


def test_of_rates_the_worst_second_is_the_lowest_and_whole():
    """Several runs count together."""
    parts = [latencies_ns(number, 300 - number) for number in range(23)]
    made = intervals(100 * MS_NS, parts)
    least = min(sum(map(len, parts[at : at + 10])) for at in (0, 10))
    assert judged("a.worst_second.iops", made).value == pytest.approx(least)
    assert judged("worst_second.iops", made).value == pytest.approx(least + 10)
    calm = intervals(SECOND_NS, [latencies_ns(n, 2000) for n in range(3)])
    bad = intervals(SECOND_NS, [[STALL_NS] * 2000])
    assert judged("intervals of a.p99 above 100ms", calm, bad).value == 25
    worst = judged("a.worst_second.p99", calm, bad).value
    assert worst == pytest.approx(STALL_NS, rel=0.01)


def test_a_share_of_intervals_is_counted():
    parts = tenths()
    made = intervals(100 * MS_NS, parts)
    limit_ns = 150_000
    above = sum(np.percentile(one, 90) > limit_ns for one in parts)
    found = judged("intervals of a.p90 above 150us", made).value
    assert 0 < above < 50 and found == pytest.approx(100 * above / 50, abs=2.01)
    assert judged("intervals of a.max above 199ms", made).value == pytest.approx(2)
    assert judged("intervals of a.max below 199ms", made).value == pytest.approx(98)
    assert judged("intervals of a.iops below 2999 iops", made).value == 0


def test_what_intervals_do_not_tell_has_a_reason():
    long = intervals(2 * SECOND_NS, [latencies_ns(n, 2000) for n in range(3)])
    few = intervals(SECOND_NS, [latencies_ns(n, 900) for n in range(3)])
    why = "needs 1,000 I/Os in a second, had 900 at most"
    assert judged("a.worst_second.p99", few) == Figure(None, why)
    why = "the intervals are longer than a second"
    assert judged("worst_second.p99", long) == Figure(None, why)
    nothing = Sample(record(1), RunDetail())
    for text in ("worst_second.p99", "intervals of p99 above 1ms"):
        found = figure(parse_metric(text), [nothing])
        assert found == Figure(None, "no run has counts of its intervals")
    short = intervals(500 * MS_NS, [latencies_ns(1, 2000)])
    assert judged("worst_second.iops", short).value is None


def test_a_stretch_has_the_same_figures():
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


TEXTS = (
    *("worst_second.p99", "log.read.worst_second.p99.9", "worst_second.iops"),
    *("intervals of log.p99 above 5ms", "intervals of iops below 1_000 iops"),
    *("gap", "log.gap", "recovery", "lost_work", "recovery of p99 to 120%"),
    *("recovery of iops to 80% for 10s", "after.recovery of p99.9 to 150%"),
)


@pytest.mark.parametrize("text", TEXTS)
def test_a_metric_reads_as_it_is_written(text):
    metric = parse_metric(text, ["log"], ["after"])
    assert str(metric) == text
    assert parse_metric(str(metric), ["log"], ["after"]) == metric


def test_a_series_has_rates_by_direction_and_latencies_of_all():
    """The rest is made of what the intervals counted."""
    for text in ("iops", "read.bandwidth", "p99", "max", "errors"):
        assert in_series(parse_metric(text, ["a"])), text
    for text in ("flush.iops", "a.iops", "p99.99", "read.p99", "a.mean"):
        assert not in_series(parse_metric(text, ["a"])), text


MADE = figures.record(1)
LENGTH_S = 0.5
LATENCY_NS, IOS = 1_000_000, 1000
NONE = ("mean_ns", "p50_ns", "p99_ns", "p99_9_ns")


def interval(number, slow=1.0, ios=IOS):
    """The interval that ends at `number` half seconds, `slow` times as slow as usual."""
    ns = {"ns": LATENCY_NS * slow} if ios else dict.fromkeys(NONE)
    return figures.interval(number * LENGTH_S, ios, LENGTH_S, "read", **ns)


def event(start_s, takes_s=0.0):
    end_s = start_s + takes_s
    return EventMade(
        name="down", start_s=start_s, end_s=end_s, host="", exit_code=0, output=""
    )


def series(bad, count=60, slow=3.0):
    return [interval(n, slow if n in bad else 1.0) for n in range(1, count + 1)]


def found_of(text, series, *events):
    made = MADE.model_copy(update={"events": events})
    return figure(parse_metric(text), [Sample(made, RunDetail(series=tuple(series)))])


def took_s(text, found, *starts_s):
    value = found_of(text, found, *map(event, starts_s)).value
    return None if value is None else value / 1e9


def lost_ios(found, *starts_s):
    return found_of("lost_work", found, *map(event, starts_s)).value


@pytest.mark.parametrize("gap_s", [0.5, 2, 10])
def test_a_gap_is_found_within_one_interval(gap_s):
    """Nothing completes for that long, from a moment in the midst of an interval on."""
    last = int((10.2 + gap_s) / LENGTH_S)
    found = [interval(n, ios=0 if 20 < n <= last else IOS) for n in range(1, 80)]
    took = took_s("recovery of iops to 90%", found, 10.2)
    assert took is not None and abs(took - gap_s) <= LENGTH_S
    assert took == pytest.approx(took_s("recovery of p99 to 120%", found, 10.2))


def test_the_word_alone_is_p99_to_120_percent():
    found = series(range(21, 31))
    texts = {
        "recovery": 5.0,
        "recovery of p99 to 400%": 0,
        "recovery of iops to 90%": 0,
    }
    for text, after_s in texts.items():
        assert took_s(text, found, 10.0) == pytest.approx(after_s)
    never = found_of("recovery", series(range(21, 61)), event(10.0))
    assert never.value is None and never.at_least == pytest.approx(20e9)
    assert "until the run's end" in never.why


def test_a_short_return_is_no_recovery():
    """Unless it is held for the stated time."""
    found = series(range(21, 31))
    found[40] = interval(41, 3.0)  # 5 s later, once more
    for text, after_s in (("", 5.0), (" for 6s", 10.5)):
        took = took_s(f"recovery of p99 to 120%{text}", found, 10.0)
        assert took == pytest.approx(after_s)
    found[24:27] = [interval(n) for n in range(25, 28)]  # 1.5 s as before
    assert took_s("recovery", found, 10.0) == pytest.approx(5.0)


def test_a_late_event_is_over_once_its_command_is():
    """It does nothing for 5 s, and then harm for 3 s."""
    found = series(range(31, 37))
    for takes_s, took_s in ((0.0, 0.0), (2.0, 0.0), (7.0, 8.0), (12.0, 8.0)):
        value = found_of("recovery of p99 to 120%", found, event(10.0, takes_s)).value
        assert value == 1e9 * took_s


def test_two_outages_of_one_command_are_one():
    """And the longest of several events counts."""
    found, long = series(range(21, 24)), event(10.0, 9.0)
    found[29:35] = [interval(n, 3.0) for n in range(30, 36)]
    assert found_of("recovery", found, long).value == pytest.approx(7.5e9)
    found[:20] = [interval(n, 3.0 if n in (3, 9, 15) else 1.0) for n in range(1, 21)]
    assert found_of("recovery", found, long).value == pytest.approx(7.5e9)
    two = series(range(21, 25))
    two[40:48] = [interval(n, 3.0) for n in range(41, 49)]
    assert took_s("recovery", two, 10.0, 20.0) == pytest.approx(4.0)
    assert took_s("recovery", two, 10.0) == pytest.approx(2.0)


def test_noise_from_before_is_allowed_afterwards_and_no_more():
    draw = random.Random(3)
    noisy = [interval(n, 3.0 if draw.random() < 0.08 else 1.0) for n in range(1, 201)]
    slow = [interval(n, 3.0) for n in range(101, 111)]
    found = [*noisy[:100], *slow, *noisy[110:]]
    took = took_s("recovery of p99 to 120% for 20s", found, 50.0)
    assert took is not None and 5.0 <= took < 10.0
    too_noisy = [interval(n, 3.0 if n % 3 == 0 else 1.0) for n in range(1, 60)]
    unknown = found_of("recovery of p50 to 120%", too_noisy, event(10))
    assert unknown.value is None and "of the intervals before" in unknown.why


def test_no_event_or_level_has_a_reason():
    for name in ("recovery", "lost_work"):
        assert "no event" in found_of(name, series(range(0))).why
        assert "needs 5 intervals" in found_of(name, series(range(0)), event(1.0)).why


def test_lost_work_is_what_was_not_caught_up():
    """2000 I/Os a second, nothing for 2 s, then 3000 I/Os more than usual."""
    found = [interval(n, ios=0 if 20 < n <= 24 else IOS) for n in range(1, 61)]
    assert lost_ios(found, 10.0) == pytest.approx(4 * IOS)
    found[30] = interval(31, ios=4 * IOS)
    assert lost_ios(found, 10.0) == pytest.approx(IOS)
    found[31] = interval(32, ios=4 * IOS)
    assert lost_ios(found, 10.0) == 0.0
