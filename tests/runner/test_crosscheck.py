"""Two backends on the same cells, and what can be said of the ratio."""

import random

import pytest
from command import ioplan, plan_file
from figures import record
from fio_jobs import NEEDS_FIO
from synthetic_crosscheck import verdicts

from ioplan.cli.commands import crosscheck
from ioplan.core.cpu_claims import CpuClaims
from ioplan.records import RunDetail, Telemetry
from ioplan.results.store import Store
from ioplan.runner.session.crosscheck import Pairs, judged, run_interleaved

READS = 'test "R" { run random 4KiB 100/0 for 100ms vary qd in 1, 4 }'


def pairs(firsts, seconds):
    """A cell with these IOPS, and nothing else."""
    found = Pairs("R", {"qd": "1"})
    for side, values in zip(found.sides, (firsts, seconds), strict=True):
        side.values["iops"].extend(values)
    return found


def test_the_interval_is_students():
    """Against a worked example: ratios 1.1, 1.2, 1.3, 1.2 by hand."""
    (found,) = judged([pairs([100.0] * 4, [110.0, 120.0, 130.0, 120.0])])
    assert found.interval.ratio == pytest.approx(1.19791, abs=1e-4)
    bounds = (found.interval.low, found.interval.high)
    assert bounds == pytest.approx((1.0747, 1.3353), abs=2e-4)
    assert found.verdict == "differ"


def test_agree_and_inconclusive():
    found = judged([pairs([100, 101, 99], [100, 101, 99])])
    assert [one.verdict for one in found] == ["agree"]
    found = judged([pairs([100, 100, 100], [80, 120, 100])])
    assert [one.verdict for one in found] == ["inconclusive"]


def test_more_cells_make_wider_intervals():
    one = pairs([100.0] * 4, [110.0, 120.0, 130.0, 120.0])
    (alone,), both = judged([one]), judged([one, one])
    assert both[0].interval.high > alone.interval.high


def test_alike_backends_seldom_differ_anywhere_in_a_table():
    """At most 5 of 100 tables; each by itself, 26 to 40 of these would have one."""
    rng = random.Random(1)
    tables = [verdicts(rng, 10, 5, (0.03, 0.06), 30) for _ in range(60)]
    wrong = sum(any("differ" in cell for cell in table[:-1]) for table in tables)
    found = sum("differ" in table[-1] for table in tables)
    assert wrong <= 7  # more, with a probability of 2 %
    assert found >= 57


def test_bandwidth_is_judged_where_it_says_more_than_iops():
    cell = pairs([100, 101], [100, 101])
    for side in cell.sides:
        side.values["bandwidth"].extend(4096 * iops for iops in side.values["iops"])
    assert [metric.name for metric in cell.metrics] == ["iops"]
    cell.sides[1].values["bandwidth"][0] *= 1.01
    assert [metric.name for metric in cell.metrics] == ["iops", "bandwidth"]


@pytest.mark.parametrize(
    ("placements", "steals", "said", "percent"),
    [
        (((7,), (7,)), (1.0, 2.0), "", 0),
        (((7,), (6, 7)), (1.0, 2.0), "different CPUs: 7 and 6,7", 25),
        (((7,), ()), (1.0, 2.0), "", 0),
        (((7,), (7,)), (1.0, 9.0), "took 1 % of a CPU from one, and 9 %", 8),
        (((7,), (6,)), (1.0, 9.0), "different CPUs", 35),
    ],
)
def test_intervals_are_wider_where_placement_or_steal_differ(
    placements, steals, said, percent
):
    """What is beyond that still differs; what is within is no agreement any more."""
    plain, cells = [], []
    for second in (100, 106, 200):
        values = [100, 101, 99], [second, second * 1.01, second * 0.99]
        plain.append(pairs(*values))
        cells.append(cell := pairs(*values))
        for side, cpus, steal in zip(cell.sides, placements, steals, strict=True):
            side.placements = {frozenset(cpus)} if cpus else set()
            side.steal_percents = [steal]
    factor = 1 + percent / 100
    for one, other in zip(judged(plain), judged(cells), strict=True):
        assert other.interval.high == pytest.approx(one.interval.high * factor)
        assert other.interval.low == pytest.approx(one.interval.low / factor)
        assert said in other.widened and bool(said) == bool(other.widened)
    verdicts_now = [one.verdict for one in judged(cells)]
    near = "inconclusive" if said else None
    assert verdicts_now == [near or "agree", near or "differ", "differ"]


@pytest.mark.parametrize(
    ("steals", "order", "kept", "repeated"),
    [
        # the second pair, whose order is turned round, and its repetition
        ([0, 1, 0, 9, 0, 1], [0, 1, 1, 0, 1, 0], [[0, 1], [1, 0]], 1),
        # 2 % apart is alike; so is much from both
        ([5, 7, 40, 41], [0, 1, 1, 0], [[5, 41], [7, 40]], 0),
        # as often as there are rounds: the last one counts as it is
        ([0, 9, 9, 0, 0, 8, 5, 5], [0, 1, 0, 1, 0, 1, 1, 0], [[0, 5], [8, 5]], 2),
        ([None, 9, 9, None], [0, 1, 1, 0], [[], [9, 9]], 0),
    ],
)
def test_a_pair_that_was_not_alike_is_measured_again(steals, order, kept, repeated):
    asked = []
    cell = Pairs("T", {})

    def run(which):
        asked.append(which)
        steal = Telemetry(
            covered_s=1.0, intervals=1, steal_percent=steals[len(asked) - 1]
        )
        return record(1).model_copy(update={"telemetry": steal}), RunDetail()

    run_interleaved(run, cell, 2)
    assert asked == order and len(steals) == len(asked)
    assert [side.steal_percents for side in cell.sides] == kept
    assert cell.repeated == repeated


@pytest.mark.slow
@pytest.mark.parametrize(
    ("values", "code", "word"),
    [
        ((100.0, 100.1), 0, "agree"),
        ((60.0, 160.0), 1, "inconclusive"),
        ((40.0, 41.0), 1, "differ"),
    ],
)
@pytest.mark.promise("exit_codes.crosscheck")
def test_only_agreement_is_a_success(
    values, code, word, tmp_path, store_path, monkeypatch
):
    found = pairs([100.0, 100.0], values)
    found.sides[1].remarks["the drive was hot"] = None
    monkeypatch.setattr(crosscheck, "_measured", lambda *_: [found])
    done = ioplan(
        "crosscheck", plan_file(tmp_path, READS), "--backends", "io_uring,sim",
        "--target", tmp_path / "s.bin", "--create", "16MiB",
    )  # fmt: skip
    assert done.code == code and word in done.out, done.err
    assert "warning: the drive was hot" in done.out
    assert ("more --rounds" in done.out) == (word == "inconclusive")


@pytest.mark.long
@NEEDS_FIO
def test_another_session_gets_no_cpu_between_the_runs(
    tmp_path, store_path, monkeypatch
):
    """One that begins before each run takes what it can get, and keeps it."""
    only, rivals = crosscheck.Side.only, []

    def beside(side, run):
        placement = side.runner.context.placement
        rivals.append(CpuClaims(placement.cpus, 1))
        return only(side, run)

    monkeypatch.setattr(crosscheck.Side, "only", beside)
    done = ioplan(
        "crosscheck", plan_file(tmp_path, READS), "--backends", "io_uring,fio",
        "--target", tmp_path / "s.bin", "--create", "16MiB", "--rounds", "2",
    )  # fmt: skip
    for rival in rivals:
        rival.close()
    assert done.code in (0, 1), done.err
    with Store.open(store_path) as store:
        found = [list(store.records(one.id)) for one in store.sessions()]
    cpus = {tuple(r.backend.facts["cpus"]) for records in found for r in records}
    # two more for each pair that is measured again, as the hypervisor took more of it
    assert len(rivals) in range(8, 17, 2) and len(cpus) == 1
    assert "different CPUs" not in done.out and "another session" not in done.out


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--backends", "sim"), "two names"),
        (("--backends", "sim,sim"), "two names"),
        (("--backends", "sim,nope"), "no backend 'nope'"),
        (("--backends", "sim,io_uring", "--rounds", "1"), "at least 2"),
        (("--backends", "sim,io_uring"), "no target: add --target"),
    ],
)
def test_bad_calls(arguments, message, tmp_path, store_path):
    done = ioplan("crosscheck", plan_file(tmp_path, READS), *arguments)
    assert done.code == 2 and message in done.err
