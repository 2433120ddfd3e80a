"""What intervals say of a condition agrees with the figures of the whole run."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from run_data import counts, progress, stream

from ioplan.job import Job, JobStream, Progress
from ioplan.language.metric import parse_metric
from ioplan.measure.condition import Condition, Limit
from ioplan.measure.measurement import Measurement
from ioplan.measure.metrics import Sample, figure
from ioplan.measure.steady_state import Part
from ioplan.workload import Rate

STREAMS = ("main", "other")


def limit(text: str) -> Limit:
    metric, operator, value = text.split()
    return Limit(parse_metric(metric, STREAMS), operator, float(value), text)


def job(rate: Rate | None = None) -> Job:
    stream = JobStream.model_construct(
        name="main", region_start_bytes=0, region_end_bytes=1 << 20, rate=rate
    )
    return Job.model_construct(target="x", streams=(stream,))


def second(
    read_ns: list[int], errors: int = 0, backlog: int = 0, warmup: bool = False
) -> Progress:
    main = stream("main", read=counts(read_ns, errors=errors))
    main = main.model_copy(update={"backlog_ios": backlog})
    return progress(1, main, stream("other", write=counts([5] * 50)), warmup=warmup)


SECONDS = st.lists(
    st.lists(st.integers(1, 10**7), min_size=1, max_size=40), min_size=1, max_size=5
)


@given(
    SECONDS,
    st.sampled_from(("p50", "main.p90", "read.p75", "mean", "main.iops", "bandwidth")),
    st.integers(1, 10**7),
)
def test_sums_of_points_are_the_figure(
    seconds: list[list[int]], name: str, value: int
) -> None:
    asked = limit(f"{name} <= {value}")
    condition, whole = Condition([asked], job()), Measurement()
    points = []
    for one in seconds:
        progress = second(one)
        whole.add(progress)
        points += condition.points(progress)
    found = sum(one.amount for one in points) / sum(one.weight for one in points)
    run = Part(len(seconds), whole.total, whole.directions, whole.streams)
    real = figure(asked.metric, [Sample(run, whole.detail)]).value
    claim = condition.claims[0]
    if claim.method == "ratio":
        assert found == pytest.approx(real)
    elif real is not None:
        extremes = [min(map(min, seconds)), max(map(max, seconds)), 5]
        if value not in extremes and real not in extremes:
            assert (found <= claim.limit + 1e-12) == (real <= value)


@pytest.mark.parametrize(
    ("text", "errors", "holds", "lost"),
    [
        ("errors == 0", 0, True, False),
        ("errors == 0", 1, False, True),
        ("max <= 1000", 0, True, False),
        ("max <= 800", 0, False, True),
        ("min >= 50", 0, False, True),
        ("stddev <= 10", 0, False, False),
        ("cpu <= 50", 0, None, False),
    ],
)
def test_comparisons_so_far(
    text: str, errors: int, holds: bool | None, lost: bool
) -> None:
    condition = Condition([limit(text)], job())
    (point,) = condition.points(second([100, 900], errors=errors))
    assert condition.claims[0].method == "comparison"
    assert (point.holds, point.lost) == (holds, lost)


def test_a_rate_implies_that_it_is_reached_and_no_backlog_grows() -> None:
    condition = Condition([], job(Rate(iops=100.0)))
    assert [one.method for one in condition.claims] == ["difference", "ratio"]
    assert condition.points(second([1] * 100, backlog=40, warmup=True)) == []
    backlog, reached = condition.points(second([1] * 100, backlog=40))
    assert (backlog.amount, reached.amount) == (pytest.approx(-1), 100)
    backlog, reached = condition.points(second([1] * 90, backlog=50))
    assert backlog.amount == pytest.approx(9.0)
    assert (reached.amount, reached.weight) == (100.0, 100.0)
    _, reached = condition.points(second([1] * 90, backlog=50))
    assert reached.amount == 90.0


def test_a_rate_in_bytes() -> None:
    condition = Condition([], job(Rate(bytes_per_s=409_600.0)))
    _, reached = condition.points(second([1] * 90, backlog=10))
    assert (reached.amount, reached.weight) == (409_600.0, 409_600.0)
