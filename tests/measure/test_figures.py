"""Metrics over one run and over several, against runs of the merged data."""

from __future__ import annotations

import pytest
from figures import SECOND_NS, counts, flat, measured, record, stream
from hypothesis import given
from hypothesis import strategies as st

from ioplan.job import Counts, Cpu, Result
from ioplan.language import parse_metric
from ioplan.results.measure import Figure, Sample, figure

STREAMS = ("reader", "writer")
PARTS = (
    ("reader", "read"),
    ("reader", "trim"),
    ("writer", "read"),
    ("writer", "write"),
)
METRICS = [
    *("iops", "bandwidth", "mean", "min", "max", "stddev", "p50", "p90", "p99"),
    *(
        "read.iops",
        "write.mean",
        "trim.max",
        "read.p50",
        "reader.iops",
        "writer.stddev",
    ),
    *("writer.read.p90", "reader.trim.iops", "trim.errors", "errors", "writer.errors"),
    *("cpu", "iops_per_cpu"),
]

Latencies = dict[tuple[str, str], list[int]]
latencies = st.fixed_dictionaries(
    {part: st.lists(st.integers(1, 10**9), max_size=60) for part in PARTS}
)


def sample(
    data: Latencies, run_ns: int = SECOND_NS, cpu_ns: int = 0, **errors: int
) -> Sample:
    """A run in which these latencies occurred; `errors` by direction."""

    def part(name: str) -> dict[str, Counts]:
        return {
            direction: counts(values, errors=errors.get(direction, 0))
            for (owner, direction), values in data.items()
            if owner == name and (values or errors.get(direction))
        }

    streams = tuple(stream(name, **part(name)) for name in STREAMS)
    cpu = Cpu(user_ns=cpu_ns // 2, system_ns=cpu_ns - cpu_ns // 2)
    made = measured(Result(run_ns=run_ns, streams=streams, cpu=cpu))
    return Sample(record(1, made), made.detail)


def value(name: str, *samples: Sample) -> float | None:
    return figure(parse_metric(name, STREAMS), samples).value


@given(
    st.lists(
        st.tuples(latencies, st.integers(1, 10**10), st.integers(0, 10**10)),
        min_size=1,
        max_size=4,
    )
)
@pytest.mark.long
def test_pooled_is_the_union(runs: list[tuple[Latencies, int, int]]) -> None:
    union = {part: flat(data[part] for data, _, _ in runs) for part in PARTS}
    whole = sample(union, sum(ns for _, ns, _ in runs), sum(cpu for _, _, cpu in runs))
    parts = [sample(*run) for run in runs]
    for name in METRICS:
        metric = parse_metric(name, STREAMS)
        pooled, merged = figure(metric, parts), figure(metric, [whole])
        assert pooled.why == merged.why
        if merged.value is None:
            assert pooled.value is None
        else:
            # 5 ns: stddev from sums of squares, as floats, of up to a second
            near = pytest.approx(merged.value, rel=1e-6, abs=5)
            assert pooled.value == near, name


@given(latencies)
def test_of_one_run_it_is_what_the_record_says(data: Latencies) -> None:
    run = sample(data)
    total = run.record.total
    if total.ios or not data["reader", "trim"]:
        assert value("iops", run) == pytest.approx(total.iops)
        assert value("bandwidth", run) == pytest.approx(total.bandwidth_bytes_per_s)
    if total.latency is None:
        assert value("mean", run) is None
        return
    for percentile in total.latency.percentiles:
        shown = percentile.latency_ns if percentile.supported else None
        assert value(f"p{percentile.percent:g}", run) == shown
    assert value("mean", run) == pytest.approx(total.latency.mean_ns)
    assert value("min", run) == total.latency.min_ns
    assert value("max", run) == total.latency.max_ns
    assert value("stddev", run) == pytest.approx(total.latency.stddev_ns)


RUN = sample(
    {
        ("reader", "read"): [100] * 20,
        ("reader", "trim"): [7000] * 4,
        ("writer", "read"): [200] * 10,
        ("writer", "write"): [600] * 10,
    },
    run_ns=2 * SECOND_NS,
    cpu_ns=SECOND_NS,
)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("iops", 20),  # reads and writes, no trims
        ("read.iops", 15),
        ("write.iops", 5),
        ("trim.iops", 2),
        ("reader.iops", 10),
        ("writer.iops", 10),
        ("writer.read.iops", 5),
        ("reader.write.iops", 0),
        ("bandwidth", 20 * 4096),
        ("mean", (20 * 100 + 10 * 200 + 10 * 600) / 40),
        ("read.mean", (20 * 100 + 10 * 200) / 30),
        ("trim.mean", 7000),
        ("writer.mean", 400),
        ("min", 100),
        ("writer.min", 200),
        ("max", 600),
        ("reader.max", 100),
        ("reader.stddev", 0),
        ("writer.stddev", 200),
        ("reader.p50", 100),
        ("write.p0", 600),
        ("errors", 0),
        ("cpu", 50),
        ("iops_per_cpu", 20 / 50),
    ],
)
def test_scopes(name: str, expected: float) -> None:
    assert value(name, RUN) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("reader.write.mean", "no I/O completed"),
        ("reader.write.p50", "no latency was counted"),
        ("p99", "needs 1_000 I/Os, had 40"),
        ("read.p99.999", "needs 1_000_000 I/Os, had 30"),
        ("watts", "nothing measured it"),
        ("temperature", "nothing measured it"),
        ("iops_per_watt", "nothing measured it"),
        ("bandwidth_per_watt", "nothing measured it"),
        ("verified", "nothing was verified"),
    ],
)
@pytest.mark.promise("verdicts.few_samples")
def test_no_value_has_a_reason(name: str, why: str) -> None:
    assert figure(parse_metric(name, STREAMS), [RUN]) == Figure(None, why)


@pytest.mark.promise("verdicts.few_samples")
def test_runs_together_support_what_one_does_not() -> None:
    assert value("p50", sample({("reader", "read"): [100] * 19})) is None
    assert value("p50", *[sample({("reader", "read"): [100] * 10})] * 2) == 100


def test_no_time_no_rate() -> None:
    run = sample({}, run_ns=0)
    for name in ("iops", "bandwidth", "cpu", "iops_per_cpu"):
        assert figure(parse_metric(name), [run]) == Figure(None, "nothing was measured")
    idle = figure(parse_metric("iops_per_cpu"), [sample({})])
    assert idle == Figure(None, "no CPU time was measured")


@pytest.mark.parametrize("name", ["iops", "bandwidth"])
def test_discards_alone_are_no_rate_of_reads_and_writes(name: str) -> None:
    run = sample({("reader", "trim"): [7000] * 4})
    why = f"nothing but discards, which are trim.{name}"
    assert figure(parse_metric(name), [run]) == Figure(None, why)
    assert figure(parse_metric(f"reader.{name}", STREAMS), [run]) == Figure(None, why)
    assert value(f"read.{name}", run) == 0


def test_errors_of_all_directions_count() -> None:
    """Also of trims, which no other figure of the whole includes."""
    run = sample({part: [100] for part in PARTS}, read=1, write=10, trim=100)
    assert value("errors", run) == 112  # two streams read
    assert value("trim.errors", run, run) == 200
    assert value("writer.errors", run) == 11
    assert value("reader.trim.errors", run) == 100


def test_verified_is_of_what_verifying_streams_read() -> None:
    read = counts([100] * 4)
    some, none = stream("reader", read=read), stream("writer", read=read)
    some = some.model_copy(update={"verified_bytes": read.bytes * 3 // 4})
    made = measured(Result(run_ns=SECOND_NS, streams=(some, none)))
    run = Sample(record(1, made), made.detail)
    assert value("verified", run) == value("verified", run, run) == 75
    assert value("reader.verified", run) == 75
    assert value("writer.verified", run) is value("write.verified", run) is None


def test_a_small_deviation_survives_a_large_mean() -> None:
    """The difference of two sums of squares would lose it."""
    run = sample({("reader", "read"): [10**9, 10**9 + 2]})
    deviation = value("stddev", run)
    assert value("stddev", *[run] * 5) == pytest.approx(deviation, abs=1e-6)


@pytest.mark.promise("figures.unmeasured")
def test_cpu_that_nobody_measured_is_not_0() -> None:
    measured = sample({("reader", "read"): [100]}, cpu_ns=SECOND_NS)
    data = {"cpu": None, "cpu_percent": None}
    unmeasured = Sample(record(2).model_copy(update=data), measured.detail)
    found = figure(parse_metric("cpu"), [measured, unmeasured])
    assert found == Figure(None, "nothing measured it")
    assert figure(parse_metric("iops_per_cpu"), [unmeasured]).value is None
