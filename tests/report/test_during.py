"""`show --during`: a stretch of a run, against sums of its intervals and the record."""

from __future__ import annotations

from math import inf
from pathlib import Path

import pytest
from command import ioplan, plan_file
from figures import counts, flat, latencies_ns, measured, progress, record, stream

from ioplan.language import Metric, parse_metric
from ioplan.results.measure import (
    Histogram,
    IntervalCounts,
    Measurement,
    Sample,
    Stretch,
    figure,
    stretch,
)
from ioplan.results.store import Store

STALL_NS = 200_000_000
SECONDS = 6
STALLED = 4
"""The interval, from 1, in which one read of a stream takes long."""
PLAN = """
workload mixed {
  reader = random 8KiB 100/0, qd 4
  writer = random 8KiB 0/100, qd 4, burst 1s of 2_000 iops, then 4s of 100 iops
}
test "Burst" { run mixed for 5s }
"""


def stalled() -> tuple[Measurement, list[list[int]], list[list[int]]]:
    """Two streams, of which one stalls in one interval."""
    reads = [latencies_ns(second, 3000) for second in range(SECONDS)]
    writes = [latencies_ns(second + 50, 2000) for second in range(SECONDS)]
    reads[STALLED - 1] += [STALL_NS] * 100
    parts = [
        (stream("a", read=counts(r)), stream("b", write=counts(w)))
        for r, w in zip(reads, writes, strict=True)
    ]
    made = measured(*(progress(n, *both) for n, both in enumerate(parts, 1)))
    return made, reads, writes


def between(made: Measurement, begin_s: float, end_s: float) -> Stretch:
    found = stretch(IntervalCounts(made.detail.intervals), begin_s * 1e9, end_s * 1e9)
    assert found
    return found


def test_a_stall_is_in_its_interval_and_stream_only() -> None:
    made, *_ = stalled()
    for second in range(SECONDS):
        found = between(made, second, second + 1)
        for name in ("a", "b"):
            p99_ns = found.figure(Metric(name="p99", stream=name)).value
            max_ns = found.figure(Metric(name="max", stream=name)).value
            assert p99_ns and max_ns
            is_there = (second, name) == (STALLED - 1, "a")
            assert (p99_ns > STALL_NS / 2) == (max_ns >= STALL_NS) == is_there


@pytest.mark.parametrize(("begin", "end"), [(0, 2), (2, 5), (3, 4), (0, SECONDS)])
@pytest.mark.promise("figures.stretch")
def test_percentiles_are_of_all_latencies_and_not_of_percentiles(
    begin: int, end: int
) -> None:
    made, reads, writes = stalled()
    found = between(made, begin, end)
    values = {"a.read": flat(reads[begin:end]), "b.write": flat(writes[begin:end])}
    for name, some in values.items():
        whole = Histogram.of_values(some)
        for percent in (50, 99, 99.9):
            if whole.beyond(percent) >= 10:
                metric = parse_metric(f"{name}.p{percent:g}", ("a", "b"))
                value = found.figure(metric).value
                assert value == pytest.approx(whole.percentile_ns(percent), rel=1e-9)
                assert found.value(metric) == value
        mean = found.figure(parse_metric(f"{name}.mean", ("a", "b"))).value
        assert mean == pytest.approx(sum(some) / len(some))
        iops = found.figure(parse_metric(f"{name}.iops", ("a", "b"))).value
        assert iops == pytest.approx(len(some) / (end - begin))


def test_all_of_a_run_is_the_run() -> None:
    made, *_ = stalled()
    whole = between(made, -inf, inf)
    told = Sample(record(1, made), made.detail)
    for name in ("iops", "bandwidth", "mean", "min", "max", "stddev", "p50", "p99.9"):
        for prefix in ("", "a.", "b.", "read.", "b.write."):
            metric = parse_metric(prefix + name, ("a", "b"))
            assert whole.figure(metric) == figure(metric, [told]), metric


def test_few_latencies_have_no_percentile_but_a_point_in_a_chart() -> None:
    made = measured(progress(1, stream(read=counts([5, 7, 9]))))
    found, p99 = between(made, 0, 1), Metric(name="p99")
    assert found.figure(p99).value is None and "needs 1_000" in found.figure(p99).why
    assert found.value(p99) == 9
    assert found.value(Metric(name="p99", direction="write")) is None


def test_what_is_of_a_whole_run_says_so() -> None:
    made, *_ = stalled()
    found = between(made, 0, 2)
    assert found.figure(Metric(name="sustained")).why == "sustained is of a whole run"
    assert found.figure(Metric(name="watts")).value is None


@pytest.mark.long
def test_it_is_shown(tmp_path: Path, store_path: Path) -> None:
    plan = plan_file(tmp_path, PLAN)
    done = ioplan("run", plan, "--backend", "sim", "--create", "64MiB", "-q")
    assert done.code == 0, done.err
    burst, calm = (ioplan("show", "--during", t) for t in ("0s..1s", "1s..5s"))
    rows = {
        name: next(line.split() for line in told.out.splitlines() if " writer" in line)
        for name, told in (("burst", burst), ("calm", calm))
    }
    assert rows["burst"][2] == "2.00k" and rows["calm"][2] == "100"
    assert "of 0 s to 1.00 s of the run, 2 whole intervals" in burst.out
    assert "8 whole intervals" in calm.out
    assert "expect" not in calm.out
    with Store.open(store_path) as store:
        (run,) = store.records(store.session("last").id)
    everything = ioplan("show", "--during", "0s..1h").out
    total = next(line for line in everything.splitlines() if " all " in line)
    assert total.split()[1] == f"{run.total.iops / 1000:.3g}k"


@pytest.mark.parametrize(
    "text", ["", "5s", "5s..", "..5s", "5s..3s", "5s..5s", "1..2", "1s..2s..3s", "x..y"]
)
def test_what_is_no_part_of_a_run_is_refused(text: str, store_path: Path) -> None:
    done = ioplan("show", "--during", text)
    assert done.code == 2 and "is no part of a run" in done.err


def test_a_part_without_intervals_says_so(tmp_path: Path, store_path: Path) -> None:
    plan = plan_file(tmp_path, 'test "T" { run random 4KiB 100/0 for 2s }')
    ioplan("run", plan, "--backend", "sim", "--create", "64MiB", "-q")
    done = ioplan("show", "--during", "9s..10s")
    assert done.code == 0
    assert "1 run without intervals that begin in 9 s to 10 s" in (
        " ".join(done.out.replace(".00", "").split())
    )
    wrong = ioplan("show", "--during", "1s..2s", "--format", "csv")
    assert wrong.code == 2 and "--during is of what is shown" in wrong.err
