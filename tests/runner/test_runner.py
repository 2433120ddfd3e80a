"""The runner on a drive that plays a script, through the real protocol."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from bench import (
    CAPACITY,
    FILLED,
    READS,
    Bench,
    Script,
    ScriptedExecution,
    done_of,
    played,
    steady_at,
)
from figures import SECOND_NS, counts, stream
from msgspec.structs import replace

from ioplan.backends import (
    BackendError,
    TargetFacts,
)
from ioplan.job import Counts, Event, Failure, Job, Progress, Result, Started
from ioplan.records.assessed import last_assessed, unsteady
from ioplan.records.window import window_of
from ioplan.results.store import Store
from ioplan.runner import (
    BaselineSession,
    Limits,
)
from ioplan.runner.execute.watchdog import least_silence_s
from ioplan.workload import Rate, RatePhase, Replay
from ioplan_testing import job as one_job
from ioplan_testing import stream as one_stream

# order


def test_everything_is_told_in_order(bench: Bench) -> None:
    text = FILLED + 'test "T" { after filled\n run random 4KiB 100/0 for 2s\n'
    text += "idle 3s\n expect iops > 1 }"
    assert bench.go(text).status == "ok"
    assert bench.log == [
        ("session_started",),
        ("step", 1, "filled: purge"),
        ("purged", 0.5),
        ("purge",),
        ("note", "purge: wiped"),
        ("step", 2, "filled: write random 4KiB, 1 pass"),
        ("start", 1),
        *[("progress", pytest.approx(i * 100 / 255, abs=1e-6)) for i in (1, 2)],
        ("progress", 1.0),
        ("left", 1),
        ("add", 1),
        ("record", 1, "ok"),
        ("step", 3, "run random 4KiB 100/0 for 2s"),
        ("start", 2),
        ("progress", 0.5),
        ("progress", 1.0),
        ("left", 2),
        ("add", 2),
        ("record", 2, "ok"),
        ("verdict", 2, "held"),
        ("step", 4, "idle 3s"),
        ("idle", 3 * SECOND_NS),
        ("finish", "ok"),
        ("session_finished", "ok"),
    ]
    asked = [record.asked for record in bench.records]
    assert [(a.kind, a.test) for a in asked] == [("prepare", "T"), ("run", "T")]
    assert asked[1].after and asked[1].after.name == "filled"


@pytest.mark.promise("resume.once")
def test_each_run_is_durable_before_the_next_begins(bench: Bench) -> None:
    """Read from a connection of its own, as after a crash."""
    kept: list[int] = []

    def moment(name: str) -> None:
        if name == "start":
            with Store.open(bench.store.where) as other:
                kept.append(other.count("s1"))

    bench.drive.moment = moment
    bench.go(READS % "")
    assert kept == [0, 1, 2]


def test_runs_that_only_read_cannot_write(bench: Bench) -> None:
    bench.go(READS % "")
    assert all(record.asked.job.read_only for record in bench.records)
    bench.go('test "T" { run random 4KiB 100/0 for 1s\n run random 4KiB 0/100 for 1s }')
    assert not any(record.asked.job.read_only for record in bench.records)


# the time that is left


@pytest.mark.parametrize("script", [steady_at(100), steady_at(*range(10, 5000, 100))])
def test_the_time_left_sinks_to_nothing(bench: Bench, script: Script) -> None:
    text = FILLED + (
        'test "A" { after filled before each round\n run random 4KiB for 2s\n'
        "vary read in 100%, 0%\n rounds until steady iops when read == 0%, at most 9 }\n"
        'test "B" { after filled\n repeat 3 { idle 1s\n run random 4KiB 100/0 for 2s } }'
    )
    bench.go(text, script)
    lefts = bench.spy.lefts
    assert all(left >= 0 for left in lefts)
    assert lefts == sorted(lefts, reverse=True)
    assert lefts[-1] == pytest.approx(0, abs=1e-6 * lefts[0])
    assert lefts[-2] > 1


# rounds, repeats and preconditions until steady

ROUNDS = """test "T" {
  %s run random 4KiB for 2s
  vary read in 100%%, 0%%
  rounds until steady iops when read == 0%%, at most %d
  expect iops >= 100
}"""


def two(*tracked: int) -> Script:
    """Rates of the cell that is tracked, the second one of each round."""
    return steady_at(*(rate for one in tracked for rate in (7, one)))


def test_rounds_end_when_they_are_steady(bench: Bench) -> None:
    bench.go(ROUNDS % ("", 25), two(500, 300, 200, 150, 110, 100, 100, 100, 100, 1))
    assert bench.told("steady") == [
        *[("steady", number, False) for number in range(1, 9)],
        ("steady", 9, True),
    ]
    assert len(bench.records) == 18
    tracked = [r.steady for r in bench.records if r.asked.cell["read"] == "0%"]
    assert [one.reached for one in tracked if one] == [False] * 8 + [True]
    assert tracked[-1] and tracked[-1].values == (110, 100, 100, 100, 100)
    assert all(r.steady is None for r in bench.records if r.asked.cell["read"] != "0%")
    assert [r.asked.round for r in bench.records[:4]] == [1, 1, 2, 2]


def test_rounds_are_never_more_than_at_most(bench: Bench) -> None:
    tally = bench.go(ROUNDS % ("", 6), two(1, 2, 4, 8, 16, 32, 32, 32))
    assert len(bench.records) == 12
    (note,) = bench.told("note")
    assert note[1].startswith("not steady after 6 rounds: range")
    assert tally.status == "ok"


def test_rounds_start_from_the_state(bench: Bench) -> None:
    bench.go(FILLED + ROUNDS % ("after filled\n", 25), two(100))
    kinds = [record.asked.kind for record in bench.records]
    assert kinds == ["prepare"] + ["run"] * 10


def test_a_round_has_one_value_however_many_runs(bench: Bench) -> None:
    """A window is of rounds, not of runs."""
    text = 'test "T" { repeat 5 { run random 4KiB 100/0 for 1s }\n'
    text += "rounds until steady iops, at most 9 }"
    bench.go(text)
    assert bench.told("steady")[-1] == ("steady", 5, True)
    assert len(bench.records) == 25


def test_what_is_tracked_may_not_be_measurable(bench: Bench) -> None:
    text = 'test "T" { run random 4KiB 100/0 for 1s\n'
    text += "rounds until steady p99.9, at most 5 }"
    bench.go(text)
    ((_, note),) = bench.told("note")
    assert note == "not steady after 5 rounds: needs 10_000 I/Os, had 100"


BY_CELL = """test "T" {
  %s run random 4KiB for 2s
  vary read in 100%%, 0%%
  rounds until every cell within 3%%, at most %d%s
  expect iops >= 100
}"""


def by_read(reads: tuple[int, ...], writes: tuple[int, ...]) -> Script:
    """Rates of both cells, each by how often it ran."""
    rates = {100.0: iter((*reads, *[1] * 99)), 0.0: iter((*writes, *[1] * 99))}

    def script(run: ScriptedExecution) -> Iterator[Event]:
        share = run.job.streams[0].read_percent
        return steady_at(next(rates[share]))(run)

    return script


NOISY = (500, 700, 400, 300, 800, 500)
"""A cell that no five rounds decide."""


def ran(bench: Bench, read: str) -> list[int]:
    return [r.asked.round for r in bench.records if r.asked.cell["read"] == read]


def test_a_decided_cell_is_not_repeated(bench: Bench) -> None:
    text = BY_CELL % ("", 6, "")
    tally = bench.go(text, by_read((500, 501, 500, 1), NOISY))
    assert ran(bench, "100%") == [1, 2, 3]
    assert ran(bench, "0%") == [1, 2, 3, 4, 5, 6]
    decided = [r.decided for r in bench.records if r.asked.cell["read"] == "100%"]
    assert [one.reached for one in decided if one] == [False, False, True]
    assert decided[-1] and decided[-1].values == (500, 501, 500)
    notes = [note for _, note in bench.told("note")]
    assert notes[-1] == "not steady after 6 rounds: 1 of 2 cells not within 3 %"
    assert tally.status == "ok"


def test_rounds_by_cell_end_when_all_are_decided(bench: Bench) -> None:
    bench.go(BY_CELL % ("", 25, ""), by_read((500, 500, 500), (90, 91, 90)))
    assert len(bench.records) == 6
    verdicts = {r.asked.cell["read"]: r.verdicts for r in bench.records}
    assert [one.outcome for one in verdicts["100%"]] == ["held"]
    assert [one.outcome for one in verdicts["0%"]] == ["failed"]


def test_a_drift_is_no_value(bench: Bench) -> None:
    """Half a percent a round is beyond what so many rounds may differ."""
    falling = tuple(int(10_000 * 0.98**n) for n in range(6))
    bench.go(BY_CELL % ("", 6, ""), by_read(falling, (500, 500, 500)))
    assert len(ran(bench, "100%")) == 6
    assert len(ran(bench, "0%")) == 3


def test_figures_are_of_the_rounds_that_count(bench: Bench) -> None:
    """The first rounds, in which a cell has drifted, count for nothing."""
    reads = (9, 400, 500, 500, 500, 500, 500, 500)
    bench.go(BY_CELL % ("", 9, ""), by_read(reads, (500,) * 9))
    last = [r for r in bench.records if r.asked.cell["read"] == "100%"][-1]
    assert last.decided and last.decided.reached
    assert set(last.decided.values) == {500}
    assert [one.actual for one in last.verdicts] == [500]


@pytest.mark.long
def test_a_drawn_order_is_another_in_each_round(bench: Bench) -> None:
    text = (BY_CELL % ("", 9, ", order drawn")).replace("100%, 0%", "100%, 50%, 0%, 9%")
    bench.go(text, steady_at(*[100, 200, 300, 400, 500, 600, 700, 800] * 9))
    orders = [
        tuple(r.asked.cell["read"] for r in bench.records if r.asked.round == number)
        for number in range(1, 10)
    ]
    assert {len(set(order)) for order in orders} == {4}
    assert len(set(orders)) > 3


def test_a_tracked_cell_goes_on_until_it_is_steady(bench: Bench) -> None:
    text = (ROUNDS % ("", 25)).replace("at most 25", "at most 25, within 3%")
    bench.go(text, by_read((500,) * 9, (500,) * 9))
    assert ran(bench, "100%") == [1, 2, 3]
    assert ran(bench, "0%") == [1, 2, 3, 4, 5]
    window = window_of(bench.records)
    assert window and window.steady
    held = [
        (r.asked.cell["read"], r.asked.round) for r in bench.records if window.holds(r)
    ]
    assert [number for read, number in held if read == "0%"] == [1, 2, 3, 4, 5]
    assert [number for read, number in held if read == "100%"] == [1, 2, 3]


def test_what_is_open_when_the_tracked_cell_is_steady_is_not_repeated(
    bench: Bench,
) -> None:
    """`within` only ever saves rounds; the verdict is SNIA's."""
    text = (ROUNDS % ("", 25)).replace("at most 25", "at most 25, within 3%")
    bench.go(text, by_read(NOISY, (500,) * 9))
    assert ran(bench, "100%") == ran(bench, "0%") == [1, 2, 3, 4, 5]
    assert not unsteady(bench.records)


def test_an_open_cell_is_unsteady(bench: Bench) -> None:
    bench.go(BY_CELL % ("", 6, ""), by_read((500,) * 9, NOISY))
    assert [r.asked.cell["read"] for r in unsteady(bench.records)] == ["0%"]
    assert len(last_assessed(bench.records)) == 2


def test_within_nothing_repeats_all(bench: Bench) -> None:
    """So that a param can turn it on."""
    text = (ROUNDS % ("", 25)).replace("at most 25", "at most 25, within 0%")
    bench.go(text, by_read((500,) * 9, (500,) * 9))
    assert ran(bench, "100%") == ran(bench, "0%") == [1, 2, 3, 4, 5]


def test_a_failed_round_decides_nothing(bench: Bench) -> None:
    ends = iter((500, 0, 500, 500, 500, 500, 500, 500))

    def script(run: ScriptedExecution) -> Iterator[Event]:
        rate = next(ends)
        return steady_at(rate)(run) if rate else refuses(run)

    bench.go(BY_CELL % ("", 4, ""), script, on_failure="continue")
    assert len(ran(bench, "0%")) == 4
    assert len(ran(bench, "100%")) == 3


UNTIL = """precondition p {
  write random 4KiB, until steady iops every 2s, at most %d passes
}
test "T" { after p
  run random 4KiB 100/0 for 1s }"""


def sinking(run: ScriptedExecution) -> Iterator[Event]:
    """A write that slows down for ten seconds, and then no more."""
    if run.job.run_ns:
        yield from played(run, 100)
        return
    yield Started(mode="scripted")
    most, total, second = run.job.limit_bytes or 0, 0, 0
    while not run.stopped and total * 4096 < most:
        second += 1
        ios = max(100, 1100 - 100 * second)
        total += ios
        now_ns = second * SECOND_NS
        piece = (done_of(run.job, ios, 1100),)
        yield Progress(t_ns=now_ns, interval_ns=SECOND_NS, streams=piece)
    yield Result(
        run_ns=second * SECOND_NS,
        stopped=run.stopped,
        streams=(done_of(run.job, total, 1100),),
    )


def test_a_write_ends_when_it_is_steady(bench: Bench) -> None:
    assert bench.go(UNTIL % 1000, sinking).status == "ok"
    prepared, run = bench.records
    assert prepared.status == "ok"
    assert prepared.steady and prepared.steady.reached
    assert prepared.steady.values == (100,) * 5
    assert bench.told("steady")[-1][2] is True
    assert not bench.told("note")
    assert run.asked.after and run.asked.after.name == "p"


def test_a_write_that_does_not_get_steady_is_noted(bench: Bench) -> None:
    assert bench.go(UNTIL % 20, sinking).status == "ok"
    prepared, run = bench.records
    assert prepared.steady and not prepared.steady.reached
    ((_, note),) = bench.told("note")
    assert note.startswith("p: not steady: ")
    assert run.status == "ok"


def test_a_write_that_ends_before_its_first_window_is_noted(bench: Bench) -> None:
    assert bench.go(UNTIL % 1, sinking).status == "ok"
    prepared, _ = bench.records
    assert prepared.steady and prepared.steady.why == "0 of 5 values so far"
    assert bench.told("note") == [("note", "p: not steady: 0 of 5 values so far")]


# verdicts


def verdicts(bench: Bench) -> dict[int, list[tuple[str, float | None]]]:
    return {
        record.seq: [(v.outcome, v.actual) for v in record.verdicts]
        for record in bench.records
        if record.verdicts
    }


def test_a_run_is_judged_at_once(bench: Bench) -> None:
    bench.go(READS % "expect iops > 150\n expect errors == 0", steady_at(100, 200))
    assert verdicts(bench) == {
        1: [("failed", 100), ("held", 0)],
        2: [("held", 200), ("held", 0)],
        3: [("held", 200), ("held", 0)],
    }
    assert bench.outcomes == {"failed": 1, "held": 5}
    assert bench.log.index(("verdict", 1, "failed")) < bench.log.index(("start", 2))
    assert not bench.told("add_verdicts")


def test_only_the_cells_that_are_meant_are_judged(bench: Bench) -> None:
    bench.go(READS % "expect iops > 150 when qd == 2")
    assert verdicts(bench) == {2: [("failed", 100)]}


def test_repeats_are_judged_together_at_the_end(bench: Bench) -> None:
    text = 'test "T" { vary qd in 1, 2\n repeat 2 { run random 4KiB 100/0 for 1s }\n'
    bench.go(text + "expect iops >= 300 }", steady_at(100, 300, 300, 400))
    assert verdicts(bench) == {2: [("failed", 200)], 4: [("held", 350)]}
    assert bench.told("add_verdicts") == [("add_verdicts", 2), ("add_verdicts", 4)]
    assert bench.log.index(("add", 4)) < bench.log.index(("add_verdicts", 2))


def test_steps_of_a_test_are_judged_apart(bench: Bench) -> None:
    """Also one that stands before a repeat and one that stands in it."""
    text = 'test "T" { run random 8KiB 100/0 for 1s\n'
    text += "repeat 2 { run random 4KiB 100/0 for 1s }\n expect iops >= 200 }"
    bench.go(text, steady_at(100, 200, 400))
    assert verdicts(bench) == {1: [("failed", 100)], 3: [("held", 300)]}


def test_rounds_are_judged_on_the_last_window(bench: Bench) -> None:
    """All of each round counts, also where a round repeats a run."""
    rates = [1000, 1000, 100, 102, 100, 98, 100, 104, 100, 96, 110, 90]
    text = 'test "T" { repeat 2 { run random 4KiB 100/0 for 1s }\n'
    text += "rounds until steady iops, at most 9\n expect iops >= 100 }"
    bench.go(text, steady_at(*rates))
    assert verdicts(bench) == {12: [("held", 100)]}
    assert [row[0] for row in bench.log[-4:]] == [
        *("add_verdicts", "verdict"),
        *("finish", "session_finished"),
    ]


def test_against_an_earlier_session(bench: Bench) -> None:
    text = READS % "expect iops >= 95% of baseline"
    bench.go(text, steady_at(100, 200, 300))
    assert bench.outcomes == {"no baseline": 3}
    baseline = BaselineSession(bench.store, "s1")
    bench.drive.started = 0
    bench.go(text, steady_at(95, 189, 400), baseline=baseline)
    assert bench.outcomes == {"held": 2, "failed": 1}
    longer = text.replace("for 2s", "for 3s")
    bench.go(longer, baseline=baseline)
    assert bench.outcomes == {"no baseline": 3}


# what goes wrong in a backend


def broken(at: int, how: Callable[[ScriptedExecution], Iterator[Any]]) -> Script:
    def script(run: ScriptedExecution) -> Iterator[Any]:
        yield from how(run) if run.number == at else played(run, 100)

    return script


def dies(run: ScriptedExecution) -> Iterator[Any]:
    yield from list(played(run, 100))[:2]


def fails(run: ScriptedExecution) -> Iterator[Any]:
    yield from dies(run)
    yield Failure(cause="gone", message="the device is gone; plug it in")


def refuses(run: ScriptedExecution) -> Iterator[Any]:
    yield Failure(cause="bad-job", message="it cannot; ask for less")


def raises(run: ScriptedExecution) -> Iterator[Any]:
    yield from dies(run)
    raise ZeroDivisionError("division by zero")


def says_why(run: ScriptedExecution) -> Iterator[Any]:
    yield from dies(run)
    raise BackendError("the cable is loose; push it in")


def babbles(run: ScriptedExecution) -> Iterator[Any]:
    yield from dies(run)
    yield {"event": "progress"}
    raise AssertionError("asked for more")


def malformed(run: ScriptedExecution) -> Iterator[Any]:
    yield from dies(run)
    yield Progress.model_construct(t_ns="soon", warmup=False, streams=None)


def beyond_all_numbers(run: ScriptedExecution) -> Iterator[Any]:
    yield from dies(run)
    odd = Counts.model_construct(ios=2, bytes=2, min_ns=1, max_ns=2, sum_ns=10**400)
    yield Result(run_ns=2 * SECOND_NS, streams=(stream(read=odd),))


def unprintable(run: ScriptedExecution) -> Iterator[Any]:
    *before, last = played(run, 100)
    yield from before
    yield last.model_copy(update={"facts": {"drive": run}})


def contradicts(run: ScriptedExecution) -> Iterator[Any]:
    *before, last = played(run, 100)
    yield from before
    wrong = stream(read=counts([1000] * 200, bins=(1000, 3)))
    yield last.model_copy(update={"streams": (wrong,)})


def is_short(run: ScriptedExecution) -> Iterator[Any]:
    yield from played(run, 100, seconds=1)


def misreads(run: ScriptedExecution) -> Iterator[Any]:
    *before, last = played(run, 100)
    yield from before
    (one,) = last.streams
    wrong = one.model_copy(update={"verify_errors": 3})
    yield last.model_copy(update={"streams": (wrong,)})


@pytest.mark.parametrize(
    ("how", "cause", "message", "intervals"),
    [
        (dies, "no-result", "ended without a result", 1),
        (fails, "gone", "plug it in", 1),
        (refuses, "bad-job", "ask for less", 0),
        (raises, "backend-error", "ZeroDivisionError: division by zero", 1),
        (says_why, "backend-error", "push it in", 1),
        (babbles, "backend-error", "an invalid event: {'event': 'progress'}", 1),
        (malformed, "backend-error", "the backend failed: ", 1),
        (beyond_all_numbers, "backend-garbage", "results are invalid", 0),
        (unprintable, "backend-garbage", "results are invalid", 0),
        (contradicts, "inconsistent", "inconsistent", 2),
        (is_short, "short", "ended at 50.0% of the requested length", 1),
        (misreads, "verify", "3 blocks", 2),
    ],
)
def test_a_run_that_fails_is_kept_and_ends_the_session(
    bench: Bench, how: Script, cause: str, message: str, intervals: int
) -> None:
    tally = bench.go(READS % "expect iops > 1", broken(2, how))
    good, bad = bench.records
    assert (good.status, bad.status) == ("ok", "failed")
    assert bad.cause == cause
    assert message in bad.message
    assert len(bench.store.detail("s1", 2).series) == intervals
    assert bad.verdicts == ()
    assert tally.status == bench.status == "failed"
    assert tally.failure == f"T: {bad.message}"
    assert bench.drive.started == 2
    assert bench.log[-1] == ("session_finished", "failed")


def test_what_was_measured_before_it_failed_is_kept(bench: Bench) -> None:
    bench.go(READS % "", broken(1, fails))
    (record,) = bench.records
    assert (record.total.ios, record.run_s) == (100, 1)
    assert record.backend.mode == "scripted"


@pytest.mark.parametrize("name", ["start", "leave"])
def test_an_exception_around_a_run_is_a_failed_run(bench: Bench, name: str) -> None:
    def moment(at: str) -> None:
        if at == name:
            bench.drive.open_runs = 0
            raise OSError(5, "Input/output error")

    bench.drive.moment = moment
    tally = bench.go(READS % "")
    record = bench.records[-1]
    assert (record.status, record.cause) == ("failed", "backend-error")
    assert "Input/output error" in record.message
    assert tally.status == bench.status == "failed"


@pytest.mark.parametrize(
    "error", [BackendError("it is locked"), OSError("it is locked")]
)
@pytest.mark.parametrize("name", ["purge", "idle"])
def test_a_purge_or_a_rest_that_fails_ends_the_session(
    bench: Bench, name: str, error: Exception
) -> None:
    def moment(at: str) -> None:
        if at == name:
            raise error

    bench.drive.moment = moment
    text = 'precondition p { purge idle 1s }\ntest "T" { after p\n'
    tally = bench.go(text + "run random 4KiB 100/0 for 1s }")
    assert tally.status == bench.status == "failed"
    assert "it is locked" in tally.failure
    assert bench.records == []


@pytest.mark.parametrize(
    ("body", "share"),
    [
        ("0/100, 2 passes", "50.2%"),
        ("100/0 for 2MiB", "50.0%"),
    ],
)
def test_a_run_by_bytes_may_be_short_as_well(
    bench: Bench, body: str, share: str
) -> None:
    def half(run: ScriptedExecution) -> Iterator[Event]:
        yield from played(run, CAPACITY // 4096, seconds=1)

    def whole(run: ScriptedExecution) -> Iterator[Event]:
        yield from played(run, CAPACITY // 4096, seconds=2)

    text = f'test "T" {{ run random 4KiB {body} }}'
    assert bench.go(text, whole).status == "ok"
    assert bench.go(text, half).status == "failed"
    (record,) = bench.records
    assert record.cause == "short"
    assert f"ended at {share}" in record.message


def test_a_pass_need_not_reach_what_no_io_fits(bench: Bench) -> None:
    """Three threads, each in its own third of 1 MiB, write 256 KiB each."""
    text = 'test "T" { run sequential 256KiB 0/100, qd 1 each, threads 3, 1 pass }'

    def script(run: ScriptedExecution) -> Iterator[Event]:
        whole = done_of(run.job, 3, 3)
        yield Started(mode="scripted")
        yield Progress(t_ns=SECOND_NS, interval_ns=SECOND_NS, streams=(whole,))
        yield Result(run_ns=SECOND_NS, streams=(whole,))

    assert bench.go(text, script).status == "ok"


def test_a_run_that_someone_else_stops_is_short(bench: Bench) -> None:
    def script(run: ScriptedExecution) -> Iterator[Event]:
        events = list(played(run, 100))
        run.stopped = True
        last = events[-1].model_copy(
            update={"stopped": True, "run_ns": SECOND_NS * 2 - 9}
        )
        yield from [events[0], events[1], last]

    tally = bench.go(READS % "", script)
    assert "something stopped the run" in tally.failure


def test_failed_trims_fail_the_run(bench: Bench) -> None:
    def script(run: ScriptedExecution) -> Iterator[Event]:
        made = stream(read=counts([1000] * 100), trim=Counts(errors=4))
        yield Result(run_ns=2 * SECOND_NS, streams=(made,))

    bench.go(READS % "expect errors == 0", script)
    (record,) = bench.records
    assert "4 I/Os failed" in record.warnings
    assert (record.status, record.cause) == ("failed", "device-error")
    assert "4 I/Os failed" in record.message
    assert record.directions["trim"].errors == 4


@pytest.mark.parametrize(("run_ms", "told"), [(600, True), (970, False), (1040, False)])
def test_what_the_warm_up_left_outstanding_is_told(
    bench: Bench, run_ms: int, told: bool
) -> None:
    """A stall across its end is in no figure; `run_ns` begins with the next I/O."""

    def script(run: ScriptedExecution) -> Iterator[Event]:
        done = (stream(read=counts([1000] * 100)),)
        yield Progress(t_ns=SECOND_NS, interval_ns=SECOND_NS, streams=done)
        yield Result(run_ns=run_ms * 10**6, stopped=False, streams=done)

    found = []
    for rate in ("", ", rate 100 iops"):
        text = f"run random 4KiB 100/0{rate} for 1s, warmup 1s"
        bench.go(f'test "T" {{ {text} }}', script)
        found.append([w for w in bench.records[-1].warnings if "left" in w])
    closed, rated = found
    assert closed == told * [
        "I/Os that the warm-up left outstanding took the first 0.400 s of the measured "
        "part: the figures are of the other 0.600 s"
    ]
    assert rated == []


@pytest.mark.parametrize("warmup", [True, False])
def test_the_first_interval_with_an_error_ends_the_run(
    bench: Bench, warmup: bool
) -> None:
    first = {"name": "EIO", "direction": "read", "offset": 512, "bytes": 4096}

    def script(run: ScriptedExecution) -> Iterator[Event]:
        made = stream(read=counts([1000] * 100).model_copy(update={"errors": 1}))
        yield Progress(
            t_ns=SECOND_NS, interval_ns=SECOND_NS, warmup=warmup, streams=(made,)
        )
        assert run.stopped
        yield Result(
            run_ns=SECOND_NS,
            stopped=True,
            streams=(made,),
            facts={"first_error": first},
        )

    bench.go(READS % "", script)
    (record,) = bench.records
    assert (record.status, record.cause) == ("failed", "device-error")
    said = "1 I/Os failed, the first a read of 4096 bytes at offset 512: EIO"
    assert said in record.message
    assert record.total.ios == 100


# what goes wrong elsewhere


def test_a_full_disk_ends_the_session_and_leaves_what_is_stored(bench: Bench) -> None:
    def moment(name: str) -> None:
        if name == "add" and bench.drive.started == 2:
            bench.store.full = True

    bench.store.moment = moment
    assert "disk is full" in bench.go(READS % "").failure
    assert [record.seq for record in bench.records] == [1]
    assert bench.drive.started == 2
    assert bench.log[-1] == ("session_finished", "failed")


def test_a_disk_that_is_full_at_the_very_end_is_told(bench: Bench) -> None:
    def moment(name: str) -> None:
        bench.store.full = name == "finish"

    bench.store.moment = moment
    tally = bench.go(READS % "")
    assert "disk is full" in tally.failure
    assert len(bench.records) == 3


@pytest.mark.parametrize(
    "method", ["session_started", "step", "progress", "record", "verdict"]
)
def test_a_watcher_that_breaks_leaves_no_run_behind(bench: Bench, method: str) -> None:
    """A reader of --json that went away, for example."""

    def breaks(*_: object) -> None:
        raise BrokenPipeError

    setattr(bench.spy, method, breaks)
    with pytest.raises(BrokenPipeError):
        bench.go(READS % "expect iops > 1")
    assert bench.status == "failed"
    assert bench.drive.started <= 1
    assert bench.log[-1] == ("session_finished", "failed")


def test_the_context_is_frozen(bench: Bench) -> None:
    bench.go(READS % "")
    assert bench.context
    with pytest.raises(AttributeError):
        bench.context.on_failure = "continue"  # type: ignore[misc]


# what does not end

BRIEF = Limits(silence_s=0.3, overdue_s=2.0, stop_s=0.3, kill_s=0.3)


def test_a_backend_that_goes_on_is_broken_off(bench: Bench) -> None:
    def script(run: ScriptedExecution) -> Iterator[Event]:
        yield from played(run, 100, seconds=100)

    bench.go(READS % "", script, limits=BRIEF)
    (record,) = bench.records
    assert (record.status, record.cause) == ("failed", "hung")
    assert "went on for 2 s after its time" in record.message
    assert record.run_s == pytest.approx(5, abs=1)


@pytest.mark.long
def test_a_backend_that_nothing_ends_is_left(bench: Bench) -> None:
    """Not even its last words are waited for."""
    freed = threading.Event()

    def script(run: ScriptedExecution) -> Iterator[Event]:
        yield next(iter(played(run, 100)))
        freed.wait()

    bench.drive.waits = True
    tally = bench.go(READS % "", script, limits=BRIEF)
    freed.set()
    (record,) = bench.records
    assert (record.status, record.cause) == ("failed", "stuck")
    assert "could not be killed" in record.message
    assert bench.drive.started == 1 and tally.status == "failed"


@pytest.mark.promise("errors.hang")
def test_a_slow_rate_is_no_hang(bench: Bench) -> None:
    """It may be silent for twenty of its gaps, and for five intervals."""

    def script(run: ScriptedExecution) -> Iterator[Event]:
        quiet = Progress(
            t_ns=SECOND_NS // 2, interval_ns=SECOND_NS // 2, warmup=True, streams=()
        )
        yield next(iter(played(run, 100)))
        time.sleep(1.0)
        yield quiet
        yield from list(played(run, 100))[1:]

    text = 'test "T" { run random 4KiB 100/0, rate 100 iops for 2s }'
    hasty = replace(BRIEF, silence_s=0.1)
    assert least_silence_s(job_of(rate=Rate(iops=10))) == 5.0
    assert least_silence_s(job_of(rate=Rate(iops=0.1))) == 200.0
    assert least_silence_s(job_of(rate=Rate(bytes_per_s=409.6))) == 200.0
    assert bench.go(text, script, limits=hasty).status == "ok"


def test_a_quiet_time_of_a_trace_is_no_hang() -> None:
    """Nobody asks for an I/O then; as fast as possible there is none."""
    trace = Replay(
        digest="a",
        ios=9,
        span_ns=10**12,
        end_bytes=8,
        moved_bytes=8,
        quiet_ns=100 * SECOND_NS,
    )
    before_s = least_silence_s(job_of())
    for pace, speed, more_s in (("recorded", 1, 100), ("after", 4, 25), ("fast", 1, 0)):
        found_s = least_silence_s(job_of(replay=trace, pace=pace, speed=speed))
        assert found_s == before_s + more_s


def test_a_rest_between_two_streams_is_no_hang() -> None:
    """The second begins with its warm-up."""
    job = job_of()
    first, second = (job.streams[0].model_copy(update={"name": n}) for n in "ab")
    parts = (
        first.model_copy(update={"ends_ns": 10 * SECOND_NS}),
        second.model_copy(update={"starts_ns": 70 * SECOND_NS}),
    )
    asked = {"streams": parts, "run_ns": 99 * SECOND_NS, "warmup_ns": 20 * SECOND_NS}
    quiet = Rate(
        iops=10,
        phases=(
            RatePhase(length_ns=SECOND_NS, per_s=20),
            RatePhase(length_ns=SECOND_NS, per_s=0),
        ),
    )
    assert least_silence_s(job_of(rate=quiet)) == 5 + 1
    ramp = Rate(iops=1, first_per_s=0, last_per_s=2)
    assert least_silence_s(job_of(rate=ramp)) == 10
    before_s = least_silence_s(job)
    assert least_silence_s(job.model_copy(update=asked)) == before_s + 40


def job_of(**fields: Any) -> Job:
    facts = TargetFacts(path="t", kind="file", capacity_bytes=1 << 20, block_bytes=512)
    return one_job(facts, one_stream(facts, **fields), interval_ns=SECOND_NS)
