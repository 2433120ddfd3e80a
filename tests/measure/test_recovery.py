"""Recovery and lost work, from series whose truth is known."""

from __future__ import annotations

import random
from collections.abc import Sequence

import figures
import pytest

from ioplan.language import parse_metric
from ioplan.records import EventMade, Interval, RunDetail
from ioplan.results.measure import Figure, Sample, figure

MADE = figures.record(1)

LENGTH_S = 0.5
LATENCY_NS, IOS = 1_000_000, 1000
NONE = ("mean_ns", "p50_ns", "p99_ns", "p99_9_ns")


def interval(number: int, slow: float = 1.0, ios: int = IOS) -> Interval:
    """The interval that ends at `number` half seconds, `slow` times as slow as usual."""
    ns = {"ns": LATENCY_NS * slow} if ios else dict.fromkeys(NONE)
    return figures.interval(number * LENGTH_S, ios, LENGTH_S, "read", **ns)


def event(start_s: float, takes_s: float = 0.0) -> EventMade:
    end_s = start_s + takes_s
    return EventMade(
        name="down", start_s=start_s, end_s=end_s, host="", exit_code=0, output=""
    )


def series(bad: range, count: int = 60, slow: float = 3.0) -> list[Interval]:
    return [interval(n, slow if n in bad else 1.0) for n in range(1, count + 1)]


def found_of(text: str, series: Sequence[Interval], *events: EventMade) -> Figure:
    made = MADE.model_copy(update={"events": events})
    return figure(parse_metric(text), [Sample(made, RunDetail(series=tuple(series)))])


def took_s(text: str, found: list[Interval], *starts_s: float) -> float | None:
    value = found_of(text, found, *map(event, starts_s)).value
    return None if value is None else value / 1e9


def lost_ios(found: list[Interval], *starts_s: float) -> float | None:
    return found_of("lost_work", found, *map(event, starts_s)).value


@pytest.mark.parametrize("gap_s", [0.5, 2, 10])
def test_a_gap_is_found_within_one_interval(gap_s: float) -> None:
    """Nothing completes for that long, from a moment in the midst of an interval on."""
    last = int((10.2 + gap_s) / LENGTH_S)
    found = [interval(n, ios=0 if 20 < n <= last else IOS) for n in range(1, 80)]
    took = took_s("recovery of iops to 90%", found, 10.2)
    assert took is not None and abs(took - gap_s) <= LENGTH_S
    assert took == pytest.approx(took_s("recovery of p99 to 120%", found, 10.2))


def test_the_word_alone_is_p99_to_120_percent() -> None:
    found = series(range(21, 31))
    assert took_s("recovery", found, 10.0) == pytest.approx(5.0)
    assert took_s("recovery of p99 to 400%", found, 10.0) == 0.0
    assert took_s("recovery of iops to 90%", found, 10.0) == 0.0


def test_a_short_return_is_no_recovery() -> None:
    found = series(range(21, 31))
    found[24:27] = [interval(n) for n in range(25, 28)]  # 1.5 s as before
    assert took_s("recovery", found, 10.0) == pytest.approx(5.0)


@pytest.mark.parametrize(
    ("takes_s", "took_s"), [(0.0, 0.0), (2.0, 0.0), (7.0, 8.0), (12.0, 8.0)]
)
def test_an_event_that_acts_late_is_over_once_its_command_is(
    takes_s: float, took_s: float
) -> None:
    """It does nothing for 5 s, and then harm for 3 s."""
    found = series(range(31, 37))
    value = found_of("recovery of p99 to 120%", found, event(10.0, takes_s)).value
    assert value == 1e9 * took_s


def test_two_outages_of_one_command_are_one() -> None:
    found = series(range(21, 24))
    found[29:35] = [interval(n, 3.0) for n in range(30, 36)]
    long = event(10.0, 9.0)
    assert found_of("recovery", found, long).value == pytest.approx(7.5e9)
    noisy = [interval(n, 3.0 if n in (3, 9, 15) else 1.0) for n in range(1, 21)]
    found[:20] = noisy
    assert found_of("recovery", found, long).value == pytest.approx(7.5e9)


def test_it_is_held_for_the_stated_time() -> None:
    found = series(range(21, 31))
    found[40] = interval(41, 3.0)  # 5 s later, once more
    assert took_s("recovery of p99 to 120%", found, 10.0) == pytest.approx(5.0)
    assert took_s("recovery of p99 to 120% for 6s", found, 10.0) == pytest.approx(10.5)


def test_the_longest_of_several_events_counts() -> None:
    found = series(range(21, 25))
    found[40:48] = [interval(n, 3.0) for n in range(41, 49)]
    assert took_s("recovery", found, 10.0, 20.0) == pytest.approx(4.0)
    assert took_s("recovery", found, 10.0) == pytest.approx(2.0)


def test_noise_from_before_is_allowed_afterwards_and_no_more() -> None:
    draw = random.Random(3)
    noisy = [interval(n, 3.0 if draw.random() < 0.08 else 1.0) for n in range(1, 201)]
    slow = [interval(n, 3.0) for n in range(101, 111)]
    found = [*noisy[:100], *slow, *noisy[110:]]
    took = took_s("recovery of p99 to 120% for 20s", found, 50.0)
    assert took is not None and 5.0 <= took < 10.0
    too_noisy = [interval(n, 3.0 if n % 3 == 0 else 1.0) for n in range(1, 60)]
    unknown = found_of("recovery of p50 to 120%", too_noisy, event(10))
    assert unknown.value is None and "of the intervals before" in unknown.why


def test_what_does_not_recover_says_how_long_at_least() -> None:
    found = found_of("recovery", series(range(21, 61)), event(10.0))
    assert found.value is None and found.at_least == pytest.approx(20e9)
    assert "until the run's end" in found.why


@pytest.mark.parametrize(
    ("starts_s", "says"), [((), "no event"), ((1.0,), "needs 5 intervals")]
)
def test_without_an_event_or_a_level_there_is_none(
    starts_s: tuple[float, ...], says: str
) -> None:
    events = [event(at_s) for at_s in starts_s]
    for name in ("recovery", "lost_work"):
        assert says in found_of(name, series(range(0)), *events).why


def test_lost_work_is_what_was_not_caught_up() -> None:
    """2000 I/Os a second, nothing for 2 s, then 3000 I/Os more than usual."""
    found = [interval(n, ios=0 if 20 < n <= 24 else IOS) for n in range(1, 61)]
    assert lost_ios(found, 10.0) == pytest.approx(4 * IOS)
    found[30] = interval(31, ios=4 * IOS)
    assert lost_ios(found, 10.0) == pytest.approx(IOS)
    found[31] = interval(32, ios=4 * IOS)
    assert lost_ios(found, 10.0) == 0.0


def test_each_prints_as_a_plan_writes_it() -> None:
    for text in (
        *("gap", "log.gap", "recovery", "lost_work", "recovery of p99 to 120%"),
        *("recovery of iops to 80% for 10s", "after.recovery of p99.9 to 150%"),
    ):
        assert str(parse_metric(text, ["log"], ["after"])) == text
