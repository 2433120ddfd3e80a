"""A seek on a drive of known limits: its probes, what it finds, and how it goes on."""

import pytest
from bench import FILLED, done_of, played

from ioplan.job import Failure, Progress, Result, Started
from ioplan.planner import unfold, with_repetitions
from ioplan.results.compare import Question, compare, side_of
from ioplan.results.report import Reader

SEEK = """test "T" {
  run    random 4KiB 100/0 for 2s
  seek   lowest qd in 1..64 where iops >= 890 iops
  expect qd <= 16
  expect iops >= 890 iops
}"""
CELLS = """test "T" {
  run    random 100/0 for 2s
  vary   size in 4KiB, 8KiB
  seek   lowest qd in 1..64 where iops >= 890 iops
}"""


def by_depth(iops, fails=0, most=10000):
    """So many IOPS for each outstanding I/O, and no more; a run may fail."""

    def script(run):
        if run.job.run_ns is None:
            yield from played(run, 1000)
            return
        yield Started(mode="scripted")
        if run.number == fails:
            yield Failure(cause="device-error", message="broke")
            return
        job, rate = run.job, min(most, iops * run.job.streams[0].qd)
        assert job.run_ns
        if asked := job.streams[0].rate:
            rate = min(rate, asked.iops or rate)
        rate = max(rate, 1e9 / job.interval_ns)  # an I/O in each interval
        done_ns = total = 0
        while done_ns < job.run_ns and not run.stopped:
            part_ns = min(job.interval_ns, job.run_ns - done_ns)
            done_ns += part_ns
            ios = round(rate * part_ns / 1e9)
            total += ios
            streams = (done_of(job, ios, rate),)
            yield Progress(t_ns=done_ns, interval_ns=part_ns, streams=streams)
        streams = (done_of(job, total, rate),)
        yield Result(run_ns=done_ns, stopped=run.stopped, streams=streams)

    return script


def probes(bench):
    return [one.asked.seek for one in bench.records if one.asked.seek]


def found(record):
    assert record.found
    return record.found


def values(bench):
    return [(one.value, one.phase, one.decision) for one in probes(bench)]


@pytest.mark.promise("seek.value")
def test_probes_and_what_they_find_are_records(bench):
    assert bench.go(SEEK, by_depth(100)).status == "ok"
    *tried, last = bench.records
    assert {one.asked.kind for one in tried} == {"probe"} and last.asked.kind == "run"
    assert values(bench) == [
        (1, "bracket", "no"),
        (2, "bracket", "no"),
        (4, "bracket", "no"),
        (8, "bracket", "no"),
        (16, "bracket", "yes"),
        (12, "bisect", "yes"),
        (10, "bisect", "yes"),
        (9, "bisect", "yes"),
        (8, "bracket", "no"),
        (9, "confirm", "yes"),
    ]
    assert (found(last).value, found(last).no_at) == (9, 8)
    assert found(last).confirmed and found(last).monotone
    assert found(last).probes == len(tried)
    assert found(last).bytes == sum(one.total.bytes for one in tried)
    assert last.total == tried[-1].total and last.asked.cell == {}
    assert [one.outcome for one in last.verdicts] == ["held", "held"]
    assert last.verdicts[0].actual == 9


def test_a_probe_ends_when_it_is_decided(bench):
    bench.go(SEEK, by_depth(100))
    took = {
        (one.asked.cell["qd"], one.asked.seek.phase): one.run_s
        for one in bench.records
        if one.asked.seek
    }
    assert took["1", "bracket"] < 2, "a clear no needs not all of the run"
    assert 1.99 < took["16", "bracket"] < 2.5, "a yes needs the run"
    assert took["9", "confirm"] >= 7.9, "four times the run"


@pytest.mark.long
def test_the_id_of_a_finding_is_of_the_seek_as_written(bench):
    bench.go(SEEK, by_depth(100))
    first = bench.records[-1]
    bench.go(SEEK, by_depth(200))
    second = bench.records[-1]
    assert found(first).value != found(second).value
    assert first.run_id == second.run_id
    bench.go(SEEK.replace("890 iops\n  expect q", "800 iops\n  expect q"))
    assert bench.records[-1].run_id != first.run_id


KNEE = 'test "K" { run random 4KiB 100/0 for 2s seek knee qd in 1..64 }'
HIGHEST = """test "T" {
  run    random 4KiB 100/0 for 2s
  seek   highest qd in 1..64 where iops >= 1 iops
  expect qd >= 64
  expect qd >= 65
  expect qd <= 63
  expect qd <= 100
}"""


@pytest.mark.promise("seek.bound", "seek.undecided")
def test_what_ends_with_its_range_is_a_bound(bench):
    """An expectation that a value beyond the range would turn is not decided."""
    bench.go(HIGHEST, by_depth(100))
    last = bench.records[-1]
    assert (found(last).value, found(last).censored) == (64, True)
    assert found(last).beyond == "≥"
    outcomes = ["held", "undecided", "failed", "undecided"]
    assert [one.outcome for one in last.verdicts] == outcomes
    assert "the truth may lie beyond" in last.verdicts[1].why
    bench.go(SEEK.replace("890", "1"), by_depth(100))
    last = bench.records[-1]
    assert (found(last).value, found(last).beyond) == (1, "≤")
    assert last.verdicts[0].outcome == "held"


@pytest.mark.parametrize(("most", "value", "sign"), [(10_000, 58, "≥"), (1000, 10, "")])
def test_a_knee_at_the_end_of_its_range_is_a_bound(most, value, sign, bench):
    bench.go(KNEE, by_depth(100, most=most))
    assert (found(bench.records[-1]).value, found(bench.records[-1]).beyond) == (
        value,
        sign,
    )


SHORT = """test "T" {{
  run    random 4KiB 100/0 for 15ms
  seek   {0}
}}"""


@pytest.mark.parametrize(
    ("seek", "value"),
    [
        ("highest qd in 1..64 where mean <= 10s", 64),
        ("highest qd in 1..64 where p90 <= 10s", 64),
        ("highest qd in 1..64 where iops >= 10 iops", 64),
        ("highest qd in 1..64 where mean <= 200us", None),
        ("highest qd in 1..64 where p99.999 <= 10s", None),
        ("highest qd in 1..64 where mean <= 1ns", None),
    ],
)
def test_a_margin_beyond_noise_needs_no_batches(seek, value, bench):
    """Of six intervals at most; what is near its limit, or rare, they do not decide."""
    bench.go(SHORT.format(seek), by_depth(10_000, most=10**6))
    assert found(bench.records[-1]).value == value
    assert found(bench.records[-1]).undecided == 0 or value is None


def test_where_nothing_holds_the_expectation_fails(bench):
    outcome = bench.go(SEEK, by_depth(10))
    last = bench.records[-1]
    assert found(last).value is None and last.total.ios == 0
    assert bench.outcomes["failed"] == 1 and outcome.status == "ok"
    assert last.verdicts[0].why == "no queue depth met the limit (QD 64 still fails)"


def test_throughput_that_the_lowest_value_lacks_is_sought_above(bench):
    """10,000 IOPS for each outstanding I/O: 100,000 take 10 of them."""
    seek = "highest qd in 1..64 where p90 <= 10s and iops >= 100_000 iops"
    bench.go(SHORT.format(seek).replace("15ms", "1s"), by_depth(10_000, most=10**6))
    first = next(one for one in bench.records if one.asked.seek)
    assert first.asked.seek and first.asked.seek.decision == "no"
    assert found(bench.records[-1]).value == 64


def test_a_cell_begins_where_its_neighbour_ended(bench):
    bench.go(CELLS, by_depth(100))
    tried = [one for one in bench.records if one.asked.seek]
    second = [one.asked.seek for one in tried if one.asked.cell["size"] == "8KiB"]
    assert [one.value for one in second if one] == [9, 5, 7, 8, 8, 9]


@pytest.mark.long
@pytest.mark.promise("resume.stop")
def test_what_failed_is_tried_again_and_nothing_else(bench):
    """As `resume` does: the answers of the finished probes are told again."""
    bench.go(CELLS, by_depth(100, fails=5))
    before = bench.records
    assert [one.status for one in before] == ["ok"] * 4 + ["failed"]
    bench.drive.started = 0
    assert bench.context
    finished = type(bench.context.finished_runs)(before)
    outcome = bench.go(CELLS, by_depth(100), finished_runs=finished)
    assert outcome.reused == 4
    assert values(bench)[0] == (16, "bracket", "yes")
    whole = [*before[:4], *bench.records]
    bench.go(CELLS, by_depth(100))
    assert [one.run_id for one in whole] == [one.run_id for one in bench.records]


def test_the_state_is_renewed_between_probes(bench):
    body = SEEK.replace("100/0", "0/100").replace("{\n", "{\n after filled\n", 1)
    bench.go(FILLED + body, by_depth(100))
    assert sum(one.asked.kind == "prepare" for one in bench.records) == 1
    each = body.replace("after filled", "after filled before each run")
    bench.go(FILLED + each, by_depth(100))
    prepared = sum(one.asked.kind == "prepare" for one in bench.records)
    assert prepared == len(probes(bench)) == 10, bench.store.events("s2")


@pytest.mark.promise("seek.probes")
def test_no_seek_takes_more_probes_than_the_plan_says(bench):
    for iops in (1, 29, 449):
        bench.go(SEEK, by_depth(iops))
        assert bench.context
        steps = list(with_repetitions(unfold(bench.context.plan)))
        assert len(probes(bench)) <= sum(times for _, times in steps)


KNEE = """test "T" {
  run  random 4KiB 100/0 for 2s
  seek knee qd in 1..64 of 90%
}"""


def test_a_knee_is_the_depth_that_reaches_a_share_of_the_highest(bench):
    bench.go(KNEE, by_depth(100, most=2000))
    last = bench.records[-1]
    assert (found(last).value, found(last).no_at) == (18, 17)
    assert {decision for _, _, decision in values(bench)} == {"measured"}
    assert all(1.99 < one.run_s <= 2 for one in bench.records[:-2])
    assert last.run_s > 7.9 and found(last).confirmed
    low, high = found(last).low, found(last).high
    assert low and high and low <= 18 <= high <= 20
    assert found(last).interval == f"{low:g} to {high:g}"


LOAD = """test "Most" {
  run    random 100/0 for 2s
  vary   size in 4KiB, 8KiB
  seek   highest qd in 1..64 where iops <= 1050 iops
}
test "Part" {
  run    random 100/0, qd part of "Most" for 2s
  vary   size in 4KiB, 8KiB
  vary   part in 50%, 100%
}
test "Rate" {
  run    random 4KiB 100/0, qd 8, rate 50% of "Part" for 1s
}"""


def test_later_tests_take_a_share_of_what_was_found(bench):
    assert bench.go(LOAD, by_depth(100)).status == "ok"
    runs = [one for one in bench.records if one.asked.kind == "run"]
    assert [found(one).value for one in runs[:2]] == [10, 10]
    depths = [one.asked.workload.streams[0].qd for one in runs[2:6]]
    assert depths == [5, 10, 5, 10]
    rate = runs[6].asked.workload.streams[0].rate
    assert rate and rate.iops == pytest.approx(500, rel=0.01)


@pytest.mark.long
def test_the_id_of_a_share_is_of_the_plan_not_of_what_was_found(bench):
    bench.go(LOAD, by_depth(100))
    before = [one.run_id for one in bench.records if one.asked.kind == "run"]
    bench.go(LOAD, by_depth(50))
    after = [one.run_id for one in bench.records if one.asked.kind == "run"]
    assert before == after
    bench.go(LOAD.replace("1050 iops", "1060 iops"))
    changed = [one.run_id for one in bench.records if one.asked.kind == "run"]
    assert not set(changed) & set(before)


def test_findings_are_compared_by_what_was_found(bench):
    """Their latencies are of different loads; fewer are better where the lowest is
    sought."""
    bench.go(CELLS, by_depth(100))
    bench.go(CELLS, by_depth(200))
    store = bench.store
    sides = [side_of(store, [store.session(name)]) for name in ("s1", "s2")]
    done = compare(Reader(store), *sides, Question(noise_percent=1.0))
    found = [
        (one.metric, one.base and round(one.base, 9), one.verdict) for one in done.rows
    ]
    assert found == [("qd", 9, "better")] * 2
