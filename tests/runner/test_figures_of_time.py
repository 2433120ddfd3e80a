"""Figures of a phase, of the worst second and of a stretch; and a clock that is set meanwhile."""

import json
import time
from datetime import datetime

import pytest
from command import ioplan, plan_file
from hour_ahead import hour_ahead
from started import started

from ioplan.language import parse_metric
from ioplan.results.measure import IntervalCounts, Sample, figure, stretch
from ioplan.results.store import Store

WRITER = (
    "random 8KiB 0/100, qd 8, burst 1s of {busy} as busy, then 1s of {calm} as calm"
)
LOWEST = """
workload both {{
  reader = random 8KiB 100/0, qd 64, rate 500 iops
  writer = {writer}
}}
test "Seek" {{
  run  both for 4s
  seek lowest reader.rate in 250 iops..4_000 iops where {condition}, within 10%
}}
"""
SEEKS = {
    "iops during busy": LOWEST.format(
        writer=WRITER.format(busy="1_000 iops", calm="100 iops"),
        condition="iops >= 2_000 iops during busy",
    ),
    "worst_second.iops": LOWEST.format(
        writer=WRITER.format(busy="2_000 iops", calm="1_000 iops"),
        condition="worst_second.iops >= 2_000 iops and errors == 0 during busy",
    ),
}
"""Both hold from a reader of 1,000 IOPS on; of all of the run 2,000 are reached from one of
1,450 on in the first, and of 500 in the second."""


def run(folder, store_path, plan, *words):
    """The records of a run on the simulated drive."""
    file = plan_file(folder, plan)
    done = ioplan("run", file, "--backend", "sim", "--create", "64MiB", "-q", *words)
    assert done.code == 0, done.err + done.out
    with Store.open(store_path) as store:
        return list(store.records(store.session("last").id))


@pytest.mark.usefixtures("rough_sim")
@pytest.mark.parametrize("metric", SEEKS)
@pytest.mark.long
def test_a_seek_finds_where_a_part_of_the_run_holds(metric, tmp_path, store_path):
    *probes, last = run(tmp_path, store_path, SEEKS[metric])
    assert last.found and last.found.value and last.found.confirmed
    assert 990 <= last.found.value <= 1_110
    decided = [(one, one.asked.seek.decision) for one in probes if one.asked.seek]
    assert {"yes", "no"} <= {decision for _, decision in decided}
    with Store.open(store_path) as store:
        for one, decision in decided:
            sample = Sample(one, store.whole_detail(one.session, one.seq))
            value = figure(parse_metric(metric, ()), [sample]).value
            assert value
            assert decision == "undecided" or (value >= 2_000) == (decision == "yes")


MIXED = f"""
workload mixed {{
  reader = random 8KiB 100/0, qd 4
  writer = {WRITER.format(busy="2_000 iops", calm="100 iops")}
}}
test "Burst" {{
  run    mixed for 10s, interval 1s
  expect reader.p99 < 1s during calm
}}
"""
COMPARED = ("reader.p99 during calm", "reader.p99 during busy", "worst_second.iops")


@pytest.mark.usefixtures("rough_sim")
def test_sessions_are_compared_by_parts_of_their_runs(tmp_path, store_path):
    slow = tmp_path / "slow.toml"
    slow.write_text('[host]\noverhead = "40us"\n')
    sides = [
        run(tmp_path, store_path, MIXED),
        run(tmp_path, store_path, MIXED, "--sim", slow),
    ]
    asked = [word for metric in COMPARED for word in ("--metric", metric)]
    ids = [records[0].session for records in sides]
    done = ioplan("compare", *ids, *asked, "--all", "--format", "json")
    assert done.code in (0, 1), done.err
    rows = {row["metric"]: row for row in json.loads(done.out)["rows"]}
    assert set(rows) == set(COMPARED)
    with Store.open(store_path) as store:
        for name, row in rows.items():
            metric = parse_metric(name, ("reader", "writer"))
            values = [
                figure(metric, [Sample(one, store.whole_detail(one.session, 1))]).value
                for (one,) in sides
            ]
            assert values[0] and values[1] and values[0] != values[1]
            assert row["ratio"] == pytest.approx(values[1] / values[0], rel=1e-3)
    assert rows[COMPARED[0]]["ratio"] != rows[COMPARED[1]]["ratio"]


PARTED = """
workload parted {
  all = random 4KiB 100/0, rate 100 iops
  part = random 4KiB 100/0, rate 50 iops, starts after 4s, ends after 10s
}
test "Parted" {
  run parted for 14s
  expect part.iops during 2s..12s >= 49 iops
  expect part.worst_second.iops >= 49 iops
  expect intervals of part.iops below 49 iops <= 0%
  expect worst_second.iops < 110 iops
}
"""


@pytest.mark.usefixtures("rough_sim")
def test_what_is_of_a_stream_is_of_its_part_of_the_run(tmp_path, store_path):
    """Before and after that it has no I/O, which says nothing of the drive."""
    (record,) = run(tmp_path, store_path, PARTED)
    assert [one.outcome for one in record.verdicts] == ["held"] * 4
    with Store.open(store_path) as store:
        counts = IntervalCounts(store.intervals(record.session, 1))
    streams, rate = record.asked.job.streams, parse_metric("part.iops", ("part",))
    for begin_s, end_s in ((0, 14), (2, 12), (6, 8), (9, 14)):
        found = stretch(counts, begin_s * 1e9, end_s * 1e9, streams)
        assert found and found.figure(rate).value == pytest.approx(50, rel=0.03)
        shown = ioplan("show", "last", "--during", f"{begin_s}s..{end_s}s").out
        (row,) = (one for one in shown.splitlines() if "part read" in one)
        assert "50.0" in row or "49." in row, row
    after = stretch(counts, 11e9, 14e9, streams)
    assert after and after.figure(rate).why == "part does not run then"


@pytest.mark.usefixtures("rough_sim")
@pytest.mark.parametrize(
    ("words", "outcome", "why"),
    [
        (("--within", "6s"), "undecided", "the run ended before 1s..9s did"),
        (("--scale-time", "0.5"), "held", ""),
    ],
)
def test_a_run_that_is_cut_short_tells_nothing_of_the_time_it_lacks(
    words, outcome, why, tmp_path, store_path
):
    plan = """test "W" {
  run random 4KiB 100/0 for 10s
  expect iops during 1s..9s >= 100 iops
}"""
    file = plan_file(tmp_path, plan)
    done = ioplan("run", file, "--backend", "sim", "--create", "64MiB", "-q", *words)
    assert done.code == (1 if why else 0), done.err + done.out
    with Store.open(store_path) as store:
        (record,) = store.records(store.session("last").id)
    (verdict,) = record.verdicts
    assert (verdict.outcome, verdict.why) == (outcome, why)
    shown = ioplan("show", "--metric", "p99 during 1s..9s")
    assert shown.code == 0 and why in shown.out


# the clock of the host is set while a session runs: its durations stay true

SPAN = ("started_at", "ended_at")
PLAN = """test "T" {
  run random 4KiB 100/0, qd 2 for 300ms
  vary qd in 1, 2, 4
}"""


@pytest.mark.long_but_first
@pytest.mark.parametrize("back", [True, False], ids=["back", "ahead"])
@pytest.mark.promise("figures.clock")
def test_times_of_a_session_stay_as_far_apart_as_they_were(back, tmp_path, store_path):
    flag = tmp_path / "flag"
    environment = hour_ahead(tmp_path, flag)
    if back:
        flag.touch()
    plan, target = plan_file(tmp_path, PLAN), tmp_path / "scratch"
    began_s = time.monotonic()
    call = (plan, "--target", target, "--create", "1MiB")
    with started(*call, **environment) as session:
        session.until("step", 2)
        flag.unlink() if back else flag.touch()
        assert session.end() == 0, session.said
    took_s = time.monotonic() - began_s
    (listed,) = ioplan("ls", "--format", "jsonl").lines
    assert 0.9 <= listed["duration_s"] <= took_s
    runs = ioplan("export", "last", "--format", "jsonl").lines
    times = [datetime.fromisoformat(one[at]) for one in runs for at in SPAN]
    assert len(runs) == 3 and times == sorted(times)
    assert (times[-1] - times[0]).total_seconds() <= took_s
