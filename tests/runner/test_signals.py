"""Ctrl-C at every kind of moment of a run: finished runs stay whole, no I/O goes on.

In sessions that are processes of their own, signals are rows of `test_faults`.
"""

import signal

import pytest
from bench import played, steady_at
from faults import Fault, sent

from ioplan.runner import Interrupt

PLAN = """precondition p { purge write random 4KiB, 1 pass }
test "T" {
  after p
  run random 4KiB 100/0 for 3s
  idle 1s
  run random 8KiB 100/0 for 3s
  expect iops > 1
}"""
REPEATS = """test "A" { repeat 2 { run random 4KiB 100/0 for 1s }
  expect iops > 1 }
test "B" { run random 4KiB 100/0 for 1s }"""
ROUNDS = """test "T" { run random 4KiB 100/0 for 2s
  rounds until steady iops, at most 9 }"""
CELLS = 'test "T" { run random 4KiB 100/0 for 3s\n vary qd in 1, 2 }'


def deaf(run):
    for event in played(run, 100):
        run.stopped = False
        yield event


SOUND = steady_at(100)


def at(who, where, number, text=PLAN, script=SOUND):
    """When the drive, the store or the watcher comes to it for the n-th time."""

    def moment(bench, strike):
        seen = 0

        def passed(name):
            nonlocal seen
            seen += name == where
            if name == where and seen == number:
                strike(bench)

        if who == "watcher":
            setattr(bench.spy, where, lambda *_: passed(where))
        else:
            getattr(bench, who).moment = passed
        assert bench.go(text, script).status == bench.status

    return moment


ONCE, TWICE = sent(signal.SIGINT), sent(signal.SIGINT, times=2)
CUT, OK = "interrupted", "ok"
ROWS = [
    # the strike, its moment, and the states of the records that are left
    (ONCE, at("drive", "purge", 1), []),
    (ONCE, at("drive", "start", 1), [CUT]),
    (ONCE, at("drive", "interval", 1), [CUT]),
    (sent(signal.SIGTERM), at("drive", "interval", 1), [CUT]),
    (ONCE, at("drive", "leave", 1), [OK]),
    (ONCE, at("drive", "start", 2), [OK, CUT]),
    (ONCE, at("drive", "interval", 5), [OK, CUT]),
    (ONCE, at("drive", "last", 2), [OK, OK]),  # it has gone on for all of its time
    (ONCE, at("drive", "after", 2), [OK, OK]),
    (ONCE, at("drive", "leave", 2), [OK, OK]),
    (ONCE, at("drive", "idle", 1), [OK, OK]),
    (ONCE, at("drive", "start", 3), [OK, OK, CUT]),
    (ONCE, at("drive", "after", 3), [OK, OK, OK]),
    # a run that is being stored is stored nevertheless
    *((one, at("store", "add", 1), [OK]) for one in (ONCE, TWICE)),
    *((one, at("store", "add", 2), [OK, OK]) for one in (ONCE, TWICE)),
    *((one, at("store", "add", 3), [OK, OK, OK]) for one in (ONCE, TWICE)),
    (ONCE, at("watcher", "session_started", 1), []),
    (ONCE, at("watcher", "note", 1), []),
    (ONCE, at("watcher", "step", 1), []),
    (ONCE, at("watcher", "record", 1), [OK]),
    (ONCE, at("watcher", "verdict", 1), [OK, OK]),
    (ONCE, at("drive", "interval", 7, ROUNDS), [OK, OK, OK, CUT]),
    # a backend that does not stop gives a whole run; the second signal does not wait
    (ONCE, at("drive", "interval", 1, CELLS, deaf), [OK]),
    (TWICE, at("drive", "interval", 2, PLAN, deaf), []),
]


@pytest.mark.parametrize(("strike", "moment", "left"), ROWS)
@pytest.mark.promise("resume.ctrl_c", "resume.kept")
def test_a_run_is_stopped_or_whole(strike, moment, left, bench):
    Fault(strike, moment).happen(bench)
    assert [record.status for record in bench.records] == left
    for record in bench.records:
        assert (
            bench.store.detail(record.session, record.seq).series
            or record.status == CUT
        )
    assert bench.log[-2:] == [("finish", CUT), ("session_finished", CUT)]
    assert bench.drive.open_runs == 0
    assert len(bench.told("start")) == len(bench.told("left")) <= len(left) + 1


def test_verdicts_that_are_being_stored_are_stored(bench):
    Fault(ONCE, at("store", "add_verdicts", 1, REPEATS)).happen(bench)
    assert bench.status == CUT
    assert [len(record.verdicts) for record in bench.records] == [0, 1]


def test_at_the_very_end_all_was_done(bench):
    Fault(TWICE, at("store", "finish", 1)).happen(bench)
    assert bench.status == OK


def test_a_stopped_run_keeps_what_it_measured(bench):
    Fault(ONCE, at("drive", "interval", 5)).happen(bench)
    record = bench.records[-1]
    assert (record.cause, record.run_s, record.total.ios) == (CUT, 2, 200)
    assert record.verdicts == ()


def test_an_impatient_user_leaves_no_engine_behind(bench):
    bench.drive.moment = lambda name: ONCE(0) if name in ("interval", "leave") else None
    assert bench.go(PLAN).status == CUT
    assert bench.drive.open_runs == 0


def test_signals_are_as_they_were(bench):
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.getsignal(one) for one in numbers]
    Fault(TWICE, at("drive", "interval", 2, PLAN, deaf)).happen(bench)
    assert [signal.getsignal(one) for one in numbers] == before


def test_nobody_waits_once_a_signal_has_come():
    with Interrupt() as interrupt:
        ONCE(interrupt)
        with pytest.raises(KeyboardInterrupt), interrupt.tolerating(0):
            raise AssertionError("it waits")
