"""Rounds, repeats and preconditions until steady, on a drive that plays a script."""

import pytest
from bench import FILLED, done_of, played, steady_at
from figures import SECOND_NS

from ioplan.job import Failure, Progress, Result, Started

ROUNDS = """test "T" {
  %s run random 4KiB for 2s
  vary read in 100%%, 0%%
  rounds until steady iops when read == 0%%, at most %s
  expect iops >= 100
}"""
BY_CELL = """test "T" {
  run random 4KiB for 2s
  vary read in 100%%, 0%%
  rounds until every cell within 3%%, at most %s
  expect iops >= 100
}"""


def two(*tracked):
    """Rates of the cell that is tracked, the second one of each round."""
    return steady_at(*(rate for one in tracked for rate in (7, one)))


def by_read(reads, writes):
    """Rates of both cells, each by how often it ran; a run without one fails."""
    rates = {100.0: iter((*reads, *[1] * 99)), 0.0: iter((*writes, *[1] * 99))}

    def script(run):
        rate = next(rates[run.job.streams[0].read_percent])
        return steady_at(rate)(run) if rate else refuses()

    return script


def refuses():
    yield Failure(cause="bad-job", message="it cannot; ask for less")


def ran(bench, read):
    """How many rounds of a cell there were; none was left out."""
    found = [r.asked.round for r in bench.records if r.asked.cell["read"] == read]
    assert found == [*range(1, len(found) + 1)]
    return len(found)


def notes(bench):
    return [text for _, text in bench.told("note")]


# until the tracked cell is steady


def test_rounds_end_when_they_are_steady(bench):
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


def test_rounds_are_never_more_than_at_most(bench):
    tally = bench.go(ROUNDS % ("", 6), two(1, 2, 4, 8, 16, 32, 32, 32))
    assert len(bench.records) == 12
    (note,) = notes(bench)
    assert note.startswith("not steady after 6 rounds: range")
    assert tally.status == "ok"


def test_rounds_start_from_the_state(bench):
    bench.go(FILLED + ROUNDS % ("after filled\n", 25), two(100))
    kinds = [record.asked.kind for record in bench.records]
    assert kinds == ["prepare"] + ["run"] * 10


def test_a_round_has_one_value_however_many_runs(bench):
    """A window is of rounds, not of runs."""
    text = 'test "T" { repeat 5 { run random 4KiB 100/0 for 1s }\n'
    bench.go(text + "rounds until steady iops, at most 9 }")
    assert bench.told("steady")[-1] == ("steady", 5, True)
    assert len(bench.records) == 25


def test_what_is_tracked_may_not_be_measurable(bench):
    text = 'test "T" { run random 4KiB 100/0 for 1s\n'
    bench.go(text + "rounds until steady p99.9, at most 5 }")
    assert notes(bench) == ["not steady after 5 rounds: needs 10,000 I/Os, had 100"]


# until each cell is decided

NOISY = (500, 700, 400, 300, 800, 500)
"""A cell that no five rounds decide."""
CALM = (500,) * 9
FALLING = tuple(int(10_000 * 0.98**number) for number in range(6))
"""Half a percent a round is beyond what so many rounds may differ."""
OPEN = "not steady after 6 rounds: 1 of 2 cells not within 3 %"


@pytest.mark.parametrize(
    ("text", "reads", "writes", "rounds", "note"),
    [
        (BY_CELL % 6, (500, 501, 500, 1), NOISY, (3, 6), OPEN),
        (BY_CELL % 25, (500, 500, 500), (90, 91, 90), (3, 3), ""),
        (BY_CELL % 6, FALLING, CALM, (6, 3), OPEN),
        (BY_CELL % 4, CALM, (500, 0, *CALM), (3, 4), OPEN.replace("6", "4")),
        # `within` only ever saves rounds of what is not tracked; 0 % saves none
        (ROUNDS % ("", "25, within 3%"), CALM, CALM, (3, 5), ""),
        (ROUNDS % ("", "25, within 3%"), NOISY, CALM, (5, 5), ""),
        (ROUNDS % ("", "25, within 0%"), CALM, CALM, (5, 5), ""),
    ],
)
def test_a_cell_is_repeated_until_it_is_decided(
    text, reads, writes, rounds, note, bench
):
    bench.go(text, by_read(reads, writes), on_failure="continue")
    assert (ran(bench, "100%"), ran(bench, "0%")) == rounds
    steady = [one for one in notes(bench) if one.startswith("not steady")]
    assert steady == [note][: bool(note)]


def test_a_decided_cell_says_by_what(bench):
    bench.go(BY_CELL % 6, by_read((500, 501, 500, 1), (90, 91, 90)))
    decided = [r.decided for r in bench.records if r.asked.cell["read"] == "100%"]
    assert [one.reached for one in decided if one] == [False, False, True]
    assert decided[-1] and decided[-1].values == (500, 501, 500)
    verdicts = {r.asked.cell["read"]: r.verdicts for r in bench.records}
    assert [one.outcome for one in verdicts["100%"]] == ["held"]
    assert [one.outcome for one in verdicts["0%"]] == ["failed"]


def test_figures_are_of_the_rounds_that_count(bench):
    """The first rounds, in which a cell has drifted, count for nothing."""
    bench.go(BY_CELL % 9, by_read((9, 400, *CALM), CALM))
    last = [r for r in bench.records if r.asked.cell["read"] == "100%"][-1]
    assert last.decided and last.decided.reached
    assert set(last.decided.values) == {500}
    assert [one.actual for one in last.verdicts] == [500]


@pytest.mark.long
def test_a_drawn_order_is_another_in_each_round(bench):
    text = (BY_CELL % "9, order drawn").replace("100%, 0%", "100%, 50%, 0%, 9%")
    bench.go(text, steady_at(*[100, 200, 300, 400, 500, 600, 700, 800] * 9))
    orders = [
        tuple(r.asked.cell["read"] for r in bench.records if r.asked.round == number)
        for number in range(1, 10)
    ]
    assert {len(set(order)) for order in orders} == {4}
    assert len(set(orders)) > 3


# a write until steady

UNTIL = """precondition p {
  write random 4KiB, until steady iops every 2s, at most %d passes
}
test "T" { after p
  run random 4KiB 100/0 for 1s }"""


def sinking(run):
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


@pytest.mark.parametrize(
    ("passes", "reached", "note"),
    [
        (1000, True, ""),
        (20, False, "p: not steady: "),
        (1, False, "p: not steady: 0 of 5 values so far"),
    ],
)
def test_a_write_ends_when_it_is_steady_or_says_that_it_was_not(
    passes, reached, note, bench
):
    assert bench.go(UNTIL % passes, sinking).status == "ok"
    prepared, run = bench.records
    assert (prepared.status, run.status) == ("ok", "ok")
    assert prepared.steady and prepared.steady.reached is reached
    if reached:
        assert prepared.steady.values == (100,) * 5
        assert bench.told("steady")[-1][2] is True
    assert len(notes(bench)) == bool(note) and note in "".join(notes(bench))
    assert run.asked.after and run.asked.after.name == "p"
