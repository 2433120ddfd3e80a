"""What judges the engine's accuracy takes true figures of any machine, and no others."""

from collections.abc import Callable
from itertools import accumulate, count
from typing import Any

import pytest
from accuracy import (
    MS,
    Seen,
    check_arrived,
    check_due,
    check_groups,
    check_held,
    check_known_latency,
    check_littles_law,
    check_run_time,
    check_stalled,
    check_under_way,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from ioplan.results.measure import bucket_index, bucket_range
from ioplan_testing import calmly

GAP_NS, RATE_IOPS, RUN_NS = 5 * MS, 200, 1000 * MS


def completions(services_ns):
    """Lindley's recursion: each I/O waits for its due time and for the one before."""
    rows = enumerate(services_ns)
    ends = accumulate(
        rows, lambda end, row: max(end, row[0] * GAP_NS) + row[1], initial=0
    )
    return [*ends][1:]


def seen(ends_ns, starts_ns):
    """As intervals of 5 ms and buckets tell of it."""
    return [
        Seen(
            (end // GAP_NS * GAP_NS, (end // GAP_NS + 1) * GAP_NS), bucket(end - start)
        )
        for end, start in zip(ends_ns, starts_ns, strict=True)
    ]


def bucket(ns):
    return bucket_range(bucket_index(ns))


def dues(count):
    return [number * GAP_NS for number in range(count)]


def issues(ends_ns):
    """When each is issued: coordinated omission counts from then."""
    before = [0, *ends_ns[:-1]]
    return [max(due, end) for due, end in zip(dues(len(ends_ns)), before, strict=True)]


WITH_STALL = completions([MS] * 100 + [200 * MS] + [MS] * 99)


@settings(max_examples=30)
@given(st.lists(st.integers(1, 300 * MS), min_size=1, max_size=200))
def test_any_stalls_of_the_machine_are_no_defect(services_ns):
    ends_ns = completions(services_ns)
    check_due(seen(ends_ns, dues(len(ends_ns))), GAP_NS)


def starts_of(share):
    """Where each latency is that share of what it was."""
    rows = zip(WITH_STALL, dues(200), strict=True)
    return [end - int((end - due) * share) for end, due in rows]


WRONG_STARTS = {
    "coordinated omission": issues(WITH_STALL),
    "10 ms of 200 less": starts_of(0.95),
    "20 ms of 200 more": starts_of(1.1),
}


@pytest.mark.parametrize("name", WRONG_STARTS)
def test_another_start_or_rate_is_refused(name):
    check_due(seen(WITH_STALL, dues(200)), GAP_NS)
    with pytest.raises(AssertionError, match="beside the due time"):
        check_due(seen(WITH_STALL, WRONG_STARTS[name]), GAP_NS)
    with pytest.raises(AssertionError, match="beside the due time"):
        check_due(seen(WITH_STALL, dues(200)), GAP_NS * 1.02)


def counts(latencies_ns):
    """As the engine reports them."""
    bins: dict[int, int] = {}
    for ns in latencies_ns:
        bins[bucket_index(ns)] = bins.get(bucket_index(ns), 0) + 1
    return {
        "ios": len(latencies_ns),
        "bytes": 4096 * len(latencies_ns),
        "min_ns": min(latencies_ns),
        "sum_ns": sum(latencies_ns),
        "bins": [number for pair in sorted(bins.items()) for number in pair],
    }


def stream_of(ios, backlog):
    reads = {"read": {"ios": ios}}
    return {"run_ns": RUN_NS, "directions": reads, "backlog_ios": backlog}


def with_slow(count):
    return counts([MS] * 500 + [200 * MS] * count)


def latencies(starts_ns):
    rows = zip(WITH_STALL, starts_ns, strict=True)
    return counts([end - start for end, start in rows])


def of_length(run_ms):
    """A run whose engine waited a tenth of its time."""
    threads = {"main": {"waited_percent": 10.0}}
    return {"run_ns": run_ms * MS, "facts": {"conditions": {"threads": threads}}}


def group(qd, every):
    """The time of a group whose I/Os take 0.1 ms, and its pause."""
    return 5 * MS + 1e5 * max(1, every / qd)


JUDGES: dict[str, tuple[Callable[..., None], tuple[Any, ...], list[tuple[Any, ...]], str]] = {
    "a stall of one I/O only": (
        check_stalled, (latencies(dues(200)), 200, RATE_IOPS),
        [(latencies(issues(WITH_STALL)), 200, RATE_IOPS)], "1 I/Os saw the stall",
    ),
    "a stall of another number than is under way": (
        check_under_way, (with_slow(8), 200, 8),
        [(with_slow(n), 200, 8) for n in (1, 7, 9)], "I/Os saw the stall",
    ),
    "an I/O that is lost": (
        check_arrived, (stream_of(150, 50), RATE_IOPS),
        [(stream_of(*n), RATE_IOPS) for n in ((199, 0), (201, 0), (150, 49))], "I/Os arrived",
    ),
    "a depth or a latency that is off by 12 %": (
        check_littles_law, (80_000, 16 * 12_500, 16),
        [(80_000, 16 * 12_500 * off, 16) for off in (0.5, 0.88, 1.12, 1.5)], "under way",
    ),
    "another latency than the device's": (
        check_known_latency, (1.2 * MS, 1.05 * MS, MS),
        [(a * MS, b * MS, MS) for a, b in ((0.5, 0.5), (2, 2), (1.01, 1.3), (1.01, 0.7), (0.8, 1))],
        "the me",
    ),
    "a run of another length": (
        check_run_time, (of_length(598), 600 * MS, 700 * MS),
        [(of_length(n), 600 * MS, 700 * MS) for n in (500, 701)], "<=",
    ),
    "another depth": (check_held, (with_slow(0), 500 * MS // 8, 8), [(with_slow(0), n * MS, 8) for n in (55, 70)], "under way"),
    "a pause that is shorter, longer, or counted as latency": (
        check_groups, (group(8, 32), 1e5, 5 * MS, 8, 32),
        [
            *((group(qd, every) * off, 1e5, 5 * MS, qd, every)
              for qd, every in ((1, 1), (8, 32), (32, 8)) for off in (0.75, 2)),
            (group(8, 32), 1e5 + 5 * MS, 5 * MS, 8, 32),
        ],
        " ns",
    ),
}  # fmt: skip
"""A judge, what it takes, and what it refuses."""


@pytest.mark.parametrize("name", JUDGES)
def test_what_is_off_is_refused(name):
    judge, right, wrongs, said = JUDGES[name]
    judge(*right)
    for wrong in wrongs:
        with pytest.raises(AssertionError, match=said):
            judge(*wrong)


def failing(attempts):
    def measured(number):
        attempts.append(number)
        raise AssertionError("a defect")

    calmly(measured, idle_ms=50)


@pytest.mark.parametrize("late_ms", [0, 10])
def test_a_need_that_is_not_met_is_named(late_ms, monkeypatch):
    """A defect is one on any machine, but on a busy one it may be none."""
    clock_s = count(step=0.001 + late_ms / 1000)
    monkeypatch.setattr("ioplan_testing.calm.time.monotonic", lambda: next(clock_s))
    attempts: list[int] = []
    with pytest.raises(AssertionError, match="a defect") as caught:
        failing(attempts)
    assert attempts == [0, 1, 2]
    notes = "".join(getattr(caught.value, "__notes__", ()))
    assert ("a thread waited 10.0 ms" in notes) == (late_ms > 0)
