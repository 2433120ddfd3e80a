"""Ctrl-C at every kind of moment: finished runs stay whole, no I/O goes on."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from plans import checked
from test_runner import Bench, ScriptedExecution, bench, played

from ioplan.backends import TargetRequest
from ioplan.job import Event
from ioplan.planner import summary_of
from ioplan.records import Session
from ioplan.results.store import Store
from ioplan.runner import Interrupt, SessionContext, SessionObserver, SessionRunner
from ioplan.runner.execute.interrupt import CRITICAL, IDLE, RUNNING
from ioplan_sim import SimBackend

__all__ = ["bench"]

PLAN = """precondition p { purge write random 4KiB, 1 pass }
test "T" {
  after p
  run random 4KiB 100/0 for 3s
  idle 1s
  run random 8KiB 100/0 for 3s
  expect iops > 1
}"""


def press(times: int = 1, number: signal.Signals = signal.SIGINT) -> None:
    """Each is heard before the next: two at once are one.

    In the main thread Python calls the handler before the next line; the events
    of a run come in another thread, which has to wait for that.
    """
    for _ in range(times):
        before = len(HEARD)
        os.kill(os.getpid(), number)
        deadline = time.monotonic() + 10
        while len(HEARD) == before and time.monotonic() < deadline:
            time.sleep(0.001)


HEARD: list[int] = []


@pytest.fixture(autouse=True)
def ears(monkeypatch: pytest.MonkeyPatch) -> None:
    handle = Interrupt._handle

    def heard(self: Interrupt, number: int, frame: FrameType | None) -> None:
        try:
            handle(self, number, frame)
        finally:
            HEARD.append(number)

    monkeypatch.setattr(Interrupt, "_handle", heard)


def at(wanted: str, count: int = 1, times: int = 1) -> Callable[[str], None]:
    """Presses Ctrl-C when a moment comes for the count-th time."""
    seen = 0

    def moment(name: str) -> None:
        nonlocal seen
        seen += name == wanted
        if name == wanted and seen == count:
            press(times)

    return moment


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    """Signals are as they were, whatever happened."""
    before = [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)]
    yield
    assert [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)] == before


MOMENTS = [
    # where, for the how many-th time, and the states of the records that are left
    ("purge", 1, []),
    ("start", 1, ["interrupted"]),
    ("interval", 1, ["interrupted"]),
    ("leave", 1, ["ok"]),
    ("start", 2, ["ok", "interrupted"]),
    ("interval", 5, ["ok", "interrupted"]),
    ("last", 2, ["ok", "ok"]),  # it has been going on for all of its time
    ("after", 2, ["ok", "ok"]),
    ("leave", 2, ["ok", "ok"]),
    ("idle", 1, ["ok", "ok"]),
    ("start", 3, ["ok", "ok", "interrupted"]),
    ("after", 3, ["ok", "ok", "ok"]),
]


@pytest.mark.parametrize(("where", "count", "left"), MOMENTS)
@pytest.mark.promise("resume.ctrl_c")
def test_in_the_backend(bench: Bench, where: str, count: int, left: list[str]) -> None:
    bench.drive.moment = at(where, count)
    tally = bench.go(PLAN)
    assert [record.status for record in bench.records] == left
    assert tally.status == bench.status == "interrupted"
    assert bench.log[-2:] == [
        ("finish", "interrupted"),
        ("session_finished", "interrupted"),
    ]
    assert bench.drive.open_runs == 0
    assert len(bench.told("start")) == len(bench.told("left")) == len(left)


@pytest.mark.parametrize(("count", "left"), [(1, 1), (2, 2), (3, 3)])
@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.promise("resume.kept")
def test_while_a_run_is_stored(bench: Bench, count: int, left: int, times: int) -> None:
    """It is stored nevertheless, whole, and nothing else is begun."""
    bench.store.moment = at("add", count, times)
    tally = bench.go(PLAN)
    assert [record.status for record in bench.records] == ["ok"] * left
    for record in bench.records:
        assert bench.store.detail(record.session, record.seq).series
    assert tally.status == bench.status == "interrupted"
    assert bench.drive.started == left


@pytest.mark.parametrize(
    "method", ["session_started", "note", "step", "record", "verdict"]
)
def test_between_runs(bench: Bench, method: str) -> None:
    setattr(bench.spy, method, lambda *_: press())
    assert bench.go(PLAN).status == bench.status == "interrupted"
    assert bench.drive.started <= 2


def test_while_verdicts_are_stored(bench: Bench) -> None:
    bench.store.moment = at("add_verdicts")
    text = 'test "A" { repeat 2 { run random 4KiB 100/0 for 1s }\n expect iops > 1 }\n'
    bench.go(text + 'test "B" { run random 4KiB 100/0 for 1s }')
    assert bench.status == "interrupted"
    assert [len(record.verdicts) for record in bench.records] == [0, 1]


def test_at_the_very_end(bench: Bench) -> None:
    """All was done by then."""
    bench.store.moment = at("finish", times=2)
    assert bench.go(PLAN).status == bench.status == "ok"


def test_in_a_later_round(bench: Bench) -> None:
    bench.drive.moment = at("interval", 7)
    bench.go(
        'test "T" { run random 4KiB 100/0 for 2s\n rounds until steady iops, at most 9 }'
    )
    assert [r.status for r in bench.records] == ["ok"] * 3 + ["interrupted"]
    assert not bench.told("note")


def test_a_stopped_run_keeps_what_it_measured(bench: Bench) -> None:
    bench.drive.moment = at("interval", 5)
    bench.go(PLAN)
    record = bench.records[-1]
    assert (record.cause, record.run_s, record.total.ios) == ("interrupted", 2, 200)
    assert record.verdicts == ()


def deaf(run: ScriptedExecution) -> Iterator[Event]:
    for event in played(run, 100):
        run.stopped = False
        yield event


def test_a_backend_that_does_not_stop_gives_a_whole_run(bench: Bench) -> None:
    bench.drive.moment = at("interval", 1)
    bench.go('test "T" { run random 4KiB 100/0 for 3s\n vary qd in 1, 2 }', deaf)
    assert [record.status for record in bench.records] == ["ok"]
    assert bench.status == "interrupted"


def test_the_second_signal_does_not_wait(bench: Bench) -> None:
    """For a backend that is deaf; its run is left, and not kept."""
    bench.drive.moment = at("interval", 2, times=2)
    assert bench.go(PLAN, deaf).status == bench.status == "interrupted"
    assert bench.records == []
    assert bench.drive.open_runs == 0


def test_a_run_is_left_in_peace(bench: Bench) -> None:
    """An impatient user leaves no engine behind."""

    def moment(name: str) -> None:
        if name in ("interval", "leave"):
            press()

    bench.drive.moment = moment
    assert bench.go(PLAN).status == "interrupted"
    assert bench.drive.open_runs == 0


def test_sigterm_is_like_ctrl_c(bench: Bench) -> None:
    def moment(name: str) -> None:
        if name == "interval":
            press(number=signal.SIGTERM)

    bench.drive.moment = moment
    assert bench.go(PLAN).status == "interrupted"
    assert [record.status for record in bench.records] == ["interrupted"]


@pytest.mark.parametrize(
    ("patience", "borne"), [(IDLE, 0), (RUNNING, 1), (CRITICAL, 2)]
)
def test_patience(patience: int, borne: int) -> None:
    with Interrupt() as interrupt:
        with interrupt.tolerating(patience):
            press(borne)
            with pytest.raises(KeyboardInterrupt):
                press()
        assert interrupt.signals == borne + 1
        with pytest.raises(KeyboardInterrupt):
            interrupt.check()


def test_nobody_waits_once_a_signal_has_come() -> None:
    with Interrupt() as interrupt:
        press()
        with pytest.raises(KeyboardInterrupt), interrupt.tolerating(IDLE):
            raise AssertionError("it waits")


# on sim


class Presses(SessionObserver):
    """Presses Ctrl-C at the n-th interval."""

    def __init__(self, n: int) -> None:
        self.n = n

    def progress(self, *_: Any) -> None:
        self.n -= 1
        if not self.n:
            press()


def on_sim(
    place: Path, text: str, watcher: SessionObserver, scale: float = 1.0
) -> Session:
    """Run a plan on sim; returns the session as it is stored."""
    plan = checked(text, scale)
    drive = SimBackend().open(TargetRequest(create_bytes=1 << 30))
    begun = Session(plan="p", started_at="2026", backend="sim", target="sim")
    with Store.open(place / "r.db") as store:
        setting = SessionContext(
            plan=plan,
            backend=SimBackend(),
            drive=drive,
            store=store,
            session=begun,
            summary=summary_of(plan),
            observer=watcher,
        )
        SessionRunner(setting).run()
        return store.session(begun.id)


SIM = """precondition p { purge write sequential 128KiB, qd 32, 9 passes }
test "T" {
  after p
  run random 4KiB, qd 32 for 10s
  vary read in 0%, 100%
  rounds until steady iops when read == 0%, at most 8
  expect iops > 1
}"""


@pytest.mark.parametrize("n", [1, 15, 30])
def test_sim_is_interrupted(tmp_path: Path, n: int) -> None:
    found = on_sim(tmp_path, SIM, Presses(n))
    with Store.open(tmp_path / "r.db") as store:
        statuses = [record.status for record in store.records(found.id)]
    assert found.status == "interrupted"
    *before, last = statuses
    assert set(before) <= {"ok"}
    assert last in ("interrupted", "ok")  # it may just have come to its end


def test_hours_on_sim_take_no_time(tmp_path: Path) -> None:
    text = 'test "T" { repeat 20 { run random 4KiB 0/100, qd 32 for 5s\n idle 10h } }'
    began = time.process_time()
    found = on_sim(tmp_path, text, SessionObserver())
    assert found.status == "ok"
    assert time.process_time() - began < 60  # of CPU, for 200 h
    with Store.open(tmp_path / "r.db") as store:
        records = list(store.records(found.id))
    assert [record.asked.iteration for record in records] == [*range(1, 21)]


def test_sim_gets_steady(tmp_path: Path) -> None:
    assert on_sim(tmp_path, SIM, SessionObserver()).status == "ok"
    with Store.open(tmp_path / "r.db") as store:
        session = store.session("last")
        records = list(store.records(session.id))
    last = [record.steady for record in records if record.steady][-1]
    assert last.reached
    assert len(records) == 1 + 2 * max(record.asked.round for record in records)
    judged = [record for record in records if record.verdicts]
    assert [r.asked.cell["read"] for r in judged] == ["0%", "100%"]
