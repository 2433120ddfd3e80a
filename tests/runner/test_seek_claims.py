"""What intervals say of a seek's condition agrees with the figures of the whole run."""

import pytest
from figures import SECOND_NS, counts, progress, stream
from hypothesis import given
from hypothesis import strategies as st

from ioplan import JobStream
from ioplan.job import Job
from ioplan.language import Seek, Source, parse_metric
from ioplan.language.plan import CellValue, Demand
from ioplan.language.syntax.source import Span
from ioplan.planner.seek.decide import MARGIN
from ioplan.results.measure import Measurement, Sample, figure
from ioplan.runner.seek.claims import judged
from ioplan.workload import Rate, SizeShare

SIZES = (SizeShare(size_bytes=4096, percent=100),)


def demand(text):
    name, operator, value = text.split()
    metric = parse_metric(name, ("main", "other"))
    return Demand(metric=metric, operator=operator, limit=float(value), text=text)


def claims(*texts, rate=None):
    """Of a condition, on a run of one stream."""
    end = CellValue(text="1", key=1)
    asked = Seek(
        goal="highest",
        axis="qd",
        kind="number",
        lowest=end,
        highest=end,
        where=tuple(map(demand, texts)),
        text="",
        span=Span(Source("", ""), 0, 0),
    )
    main = JobStream.model_construct(
        name="main",
        read_percent=100.0,
        hosts=(),
        read_sizes=SIZES,
        write_sizes=SIZES,
        region_start_bytes=0,
        region_end_bytes=1 << 20,
        rate=rate,
    )
    return judged(asked, Job.model_construct(target="x", streams=(main,)))


def second(read_ns, errors=0, backlog=0):
    main = stream("main", read=counts(read_ns, errors=errors))
    main = main.model_copy(update={"backlog_ios": backlog})
    return progress(1, main, stream("other", write=counts([5] * 50)))


SECONDS = st.lists(
    st.lists(st.integers(1, 10**7), min_size=1, max_size=40), min_size=1, max_size=5
)
NAMES = ("p50", "main.p90", "read.p75", "mean", "main.iops", "bandwidth", "write.mean")


@given(SECONDS, st.sampled_from(NAMES), st.integers(1, 10**7))
def test_sums_of_points_are_the_figure(seconds, name, limit):
    asked = f"{name} <= {limit}"
    (one,) = claims(asked)
    whole, points = Measurement(), []
    for read_ns in seconds:
        whole.add(second(read_ns))
        points.append(one.read(second(read_ns)))
    found = sum(p.amount for p in points) / sum(p.weight for p in points)
    whole.run_ns = len(seconds) * SECOND_NS
    real = figure(demand(asked).metric, [Sample(whole, whole.detail)]).value
    if one.claim.method == "ratio":
        assert found == pytest.approx(real)
    elif real is not None and abs(real / limit - 1) > MARGIN:
        assert (found <= one.claim.limit + 1e-12) == (real <= limit)


def test_what_is_near_the_limit_is_told():
    (one,) = claims("p99 <= 1_000_000")
    point = one.read(second([500_000, 985_000, 995_000, 1_004_000, 1_030_000]))
    assert (point.amount, point.weight) == (2, 55)
    assert (point.above, point.below) == (1, 1)


@pytest.mark.parametrize(
    ("text", "errors", "holds", "lost"),
    [
        ("errors == 0", 0, True, False),
        ("errors == 0", 1, False, True),
        ("max <= 1000", 0, True, False),
        ("max <= 800", 0, False, True),
        ("max >= 1000", 0, False, False),
    ],
)
def test_comparisons_so_far(text, errors, holds, lost):
    (one,) = claims(text)
    point = one.read(second([100, 900], errors=errors))
    assert one.claim.method == "comparison"
    assert (point.holds, point.lost) == (holds, lost)


@pytest.mark.parametrize("rate", [Rate(iops=100.0), Rate(bytes_per_s=409_600.0)])
@pytest.mark.promise("seek.open_loop")
def test_an_open_loop_is_held_to_its_rate(rate):
    reached, backlog = claims(rate=rate)
    assert [one.claim.method for one in (reached, backlog)] == ["ratio", "difference"]
    point = reached.read(second([1] * 90, errors=5))
    assert (point.amount, point.weight, reached.claim.limit) == (95, 1, 99)
    levels = [40, 40, 50, 45]
    grown = [backlog.read(second([1], backlog=level)).amount for level in levels]
    assert grown == pytest.approx([-0.1, -0.1, 9.9, -5.1])


@pytest.mark.parametrize(
    ("text", "far"),
    [
        ("mean <= 10000", -3), ("p50 <= 10000", -3), ("mean <= 1100", 0),
        ("mean <= 9", 3), ("p50 <= 9", 3), ("mean <= 11", 0), ("mean <= 50", 0),
        ("iops >= 0.3", 3), ("iops >= 0.4", 0), ("iops >= 40", -3),
        ("bandwidth >= 1e6", -3),
    ],
)  # fmt: skip
def test_far_is_every_io_on_one_side_and_the_mean_tenfold(text, far):
    (claim,) = claims(f"main.{text}")
    assert claim.read(second([10, 100, 250])).far == far
    assert claim.read(second([])).far == 0
