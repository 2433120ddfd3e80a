"""The queue in its database: SQLite here, PostgreSQL with desks that are killed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from desks import Starts, works_in
from paths import ROOT
from postgres import needs_postgres, postgres

from ioplan_lab import (
    TABLES,
    DeskDatabase,
    DeskError,
    Drives,
    Missing,
    Queue,
    QueueEntry,
    Runner,
    stamp,
)

LEASE = "ioplan_lab.desk.queue.queue.LEASE"
PLAY = ROOT / "tests" / "support" / "play_desk.py"


def wanted(*drives: str, person: str = "ada", **more: str) -> QueueEntry:
    files = {"plan/p.ioplan": "text"}
    return QueueEntry(person, "plan", files, "t", drives or ("a",), **more)


@pytest.fixture
def database(tmp_path: Path) -> Iterator[DeskDatabase]:
    with DeskDatabase.at(None, tmp_path / "desk", TABLES) as made:
        yield made


@pytest.fixture
def queue(database: DeskDatabase) -> Queue:
    return Queue(database)


def test_from_the_queue_to_the_end(queue: Queue) -> None:
    starts, said = Starts(), list[str]()
    runner = Runner(queue, starts, "desk", said.append)
    one, two, other = (queue.add(wanted(d)) for d in "aab")
    runner.turn()
    assert [one.number for one in queue.held()] == [one, other]
    assert [(w.entry.number, w.text) for w in queue.waiting()] == [
        (two, f"a: #{one} runs on it")
    ]
    starts.ended = {one: "ok", other: "unmet: p99"}
    runner.turn()
    assert [one.number for one in queue.held()] == [two]
    assert {one.number: one.message for one in queue.ended()} == starts.ended
    assert queue.entry(two).job == starts.jobs[two] and len(said) == 5
    with pytest.raises(Missing, match="no #9"):
        queue.entry(9)


def test_what_is_refused_says_why_and_frees_its_drives(queue: Queue) -> None:
    starts = Starts()
    starts.refused = {queue.add(wanted())}
    second = queue.add(wanted())
    Runner(queue, starts, "desk").turn()
    assert queue.ended()[0].message == "refused: no consent"
    assert [one.number for one in queue.held()] == [second]


def test_cancelling(queue: Queue) -> None:
    starts = Starts()
    runner = Runner(queue, starts, "desk")
    running, waiting = queue.add(wanted()), queue.add(wanted())
    runner.turn()
    assert queue.cancel(waiting, "bob") == "cancelled"
    assert queue.cancel(running, "bob") == "running"
    runner.turn()
    assert starts.stopped == [running]
    ended = queue.entry(running)
    assert (ended.state, ended.message, ended.cancelled_by) == (
        *("cancelled", "stopped"),
        "bob",
    )
    with pytest.raises(DeskError, match="is cancelled already"):
        queue.cancel(waiting, "bob")


def test_a_desk_that_is_lost_leaves_what_it_was_starting_unknown(
    queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = queue.add(wanted())
    monkeypatch.setattr(LEASE, timedelta(seconds=-5))
    taken = queue.take("lost")
    assert taken and taken.state == "starting"
    other = Runner(queue, Starts(), "other")
    other.turn()
    lost = queue.entry(number)
    assert lost.state == "unknown" and f"ioplan status {lost.job}" in lost.message
    assert not queue.take("other"), "nobody starts it again"
    starts = Starts()
    Runner(queue, starts, "lost").turn()
    assert starts.jobs == {number: lost.job}, "its own desk knows"
    assert queue.entry(number).state == "running"


def test_what_a_lost_desk_runs_is_unknown_until_it_is_back(
    queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    number, starts = queue.add(wanted()), Starts()
    lost = Runner(queue, starts, "lost")
    monkeypatch.setattr(LEASE, timedelta(seconds=-5))
    lost.turn()
    Runner(queue, Starts(), "other").turn()
    entry = queue.entry(number)
    assert entry.state == "unknown" and "the desk lost is lost" in entry.message
    monkeypatch.undo()
    lost.turn()
    assert (queue.entry(number).state, len(starts.jobs)) == ("running", 1)
    starts.ended = {number: "ok"}
    lost.turn()
    assert queue.entry(number).message == "ok"


def test_what_a_person_has_closed_stays_closed(queue: Queue) -> None:
    told: list[str] = []
    queue.announce = lambda connection, entry, message: told.append(message)
    number = queue.add(wanted())
    taken = queue.take("lost")
    assert taken
    with queue.database.writing() as connection:
        connection.change("UPDATE desk_queue SET state = 'unknown'", {})
    queue.cancel(number, "ada")
    queue.started(taken)
    queue.end(taken, "ok")
    assert queue.entry(number).state == "cancelled" and not told


def test_somebody_has_looked(queue: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = queue.add(wanted()), queue.add(wanted())
    monkeypatch.setattr(LEASE, timedelta(seconds=-5))
    queue.take("lost")
    queue.give_up_lost()
    assert queue.cancel(first, "ada") == "cancelled"
    taken = queue.take("other")
    assert taken and taken.number == second


def test_one_runner_has_a_folder(tmp_path: Path) -> None:
    another = pytest.raises(DeskError, match="another desk already works")
    with works_in(tmp_path), another:
        works_in(tmp_path).__enter__()
    with works_in(tmp_path):
        pass


def test_reservations_and_drives_out_of_service(database: DeskDatabase) -> None:
    drives, hour = Drives(database), timedelta(hours=1)
    now, later, last = stamp(-hour), stamp(hour), stamp(2 * hour)
    drives.reserve(["a", "b"], "ada", now, later, "firmware")
    with pytest.raises(DeskError, match=r"b is reserved by ada until .*: firmware"):
        drives.reserve(["c", "b"], "bob", now, last, "")
    drives.reserve(["b"], "bob", later, last, "")
    assert drives.states().reservation("c", stamp()) is None, "all or none"
    with pytest.raises(DeskError, match="before it begins"):
        drives.reserve(["c"], "bob", later, now, "")
    states = drives.states()
    assert states.closed_to("a", "ada", stamp()) == ""
    assert "reserved by ada" in states.closed_to("a", "bob", stamp())
    assert drives.release(["a", "b"], "bob", any_persons=False) == 1
    assert drives.release(["a", "b"], "bob", any_persons=True) == 2
    drives.take_out(["a"], "eve", "smoke")
    drives.take_out(["a"], "eve", "fire")
    found = drives.states()
    assert "out of service: fire" in found.closed_to("a", "eve", stamp())
    assert found.state("a", ["a"], stamp()) == "out of service"
    assert found.state("b", ["b"], stamp()) == "busy"
    drives.put_back(["a"])
    with pytest.raises(Missing):
        drives.put_back(["a"])
    with pytest.raises(DeskError, match="give the reason"):
        drives.take_out(["a"], "eve", " ")


@needs_postgres
@pytest.mark.long
@pytest.mark.promise("desk.started_once")
def test_two_desks_that_are_killed_start_each_once(tmp_path: Path) -> None:
    """Real PostgreSQL, two processes, kill -9 between what they take and start."""
    rows = 12
    with postgres() as address:
        with DeskDatabase.at(address, tmp_path, TABLES) as database:
            queue = Queue(database)
            for number in range(rows):
                queue.add(wanted(f"d{number % 5}", person="ab"[number % 2]))
        folders = [tmp_path / "one", tmp_path / "two"]

        def desk(folder: Path, killed_at: int = 0) -> subprocess.Popen[str]:
            words = [sys.executable, PLAY, address, folder, str(killed_at)]
            return subprocess.Popen(
                [str(w) for w in words], stderr=subprocess.PIPE, text=True
            )

        killed = [desk(folder, 2 + n) for n, folder in enumerate(folders)]
        assert [one.wait(60) for one in killed] == [-9, -9]
        ended = [desk(folder) for folder in folders]
        for one in ended:
            _, said = one.communicate(timeout=60)
            assert one.returncode == 0, said
        with DeskDatabase.at(address, tmp_path, TABLES) as database:
            queue = Queue(database)
            assert not queue.waiting() and not queue.held()
            assert {one.message for one in queue.ended(99)} == {"ok"}
    started = [line.split() for line in (tmp_path / "started").read_text().splitlines()]
    assert sorted(int(number) for number, _ in started) == list(range(1, rows + 1))
    assert len({process for _, process in started}) >= 3, "both took part"
