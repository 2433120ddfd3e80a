"""Schedules: when they are due, and what becomes of what was missed."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from ioplan.records import RunRequest
from ioplan_lab import (
    TABLES,
    DeskDatabase,
    DeskError,
    Missing,
    Priority,
    Queue,
    QueueEntry,
    stamp,
)
from ioplan_lab.desk.schedules.schedule import Missed, Schedules, count_due, next_time

WANTED = QueueEntry(
    "ada", "plan", {"p": ""}, "t", ("a",), RunRequest(tests=("T*",)), Priority.HIGH
)


@pytest.mark.parametrize(
    ("cron", "zone", "after", "due"),
    [
        ("0 2 * * *", "UTC", "2026-11-22T01:59:59Z", "2026-11-22T02:00:00Z"),
        ("0 2 * * *", "UTC", "2026-11-22T02:00:00Z", "2026-11-23T02:00:00Z"),
        ("0 2 * * *", "Asia/Tokyo", "2026-11-22T00:00:00Z", "2026-11-22T17:00:00Z"),
        # clocks go on at 2:00, and back at 3:00
        ("30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", "2026-03-29T01:00:00Z"),
        ("30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", "2026-10-25T00:30:00Z"),
        ("30 2 * * *", "Europe/Berlin", "2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"),
    ],
)
def test_when_it_is_due(cron: str, zone: str, after: str, due: str) -> None:
    assert next_time(cron, zone, after) == due


def test_how_often_it_was_due() -> None:
    span = ("2026-11-20T02:00:00Z", "2026-11-22T12:00:00Z")
    assert count_due("0 2 * * *", "UTC", *span) == 2
    assert count_due("* * * * *", "UTC", "2020-01-01T00:00:00Z", span[1]) == 1000


@pytest.mark.parametrize(
    ("cron", "zone", "text"),
    [
        ("0 2 * *", "UTC", "not a valid cron expression"),
        ("0 0 31 2 *", "UTC", "not a valid cron"),
        ("0 2 * * *", "Moon/Base", "no time zone"),
        ("0 2 * * *", "../../etc/passwd", "no time zone"),
    ],
)
def test_what_is_no_time(cron: str, zone: str, text: str) -> None:
    with pytest.raises(DeskError, match=text):
        next_time(cron, zone, "2026-11-22T00:00:00Z")


@pytest.fixture
def database(tmp_path: Path) -> Iterator[DeskDatabase]:
    with DeskDatabase.at(None, tmp_path / "desk", TABLES) as made:
        yield made


def due_since(database: DeskDatabase, name: str, ago: timedelta) -> None:
    with database.writing() as connection:
        statement = "UPDATE desk_schedule SET next_at = :at WHERE name = :name"
        connection.change(statement, {"at": stamp(-ago), "name": name})


@pytest.mark.parametrize(
    ("missed", "ago", "text", "added"),
    [
        ("skip", 0, "#1 added", 1),
        ("once", 5, "#1 added once for 6 missed", 1),
        ("skip", 5, "skipped: 6 missed while no desk", 0),
    ],
)
def test_what_is_due_is_added_once(
    database: DeskDatabase, missed: Missed, ago: int, text: str, added: int
) -> None:
    schedules, queue = Schedules(database), Queue(database)
    made = schedules.add("nightly", "0 * * * *", "UTC", missed, WANTED)
    schedules.turn()
    assert not queue.waiting() and made.next_at > stamp()
    since_full = timedelta(minutes=datetime.now(UTC).minute)
    due = since_full + timedelta(hours=ago) if ago else timedelta(seconds=3)
    due_since(database, "nightly", due)
    for _ in range(3):
        schedules.turn()
    (found,) = schedules.all()
    assert found.last_text.startswith(text) and found.next_at == made.next_at
    assert len(queue.waiting()) == added
    for one in queue.waiting():
        entry = one.entry
        assert (entry.person, entry.priority) == ("ada", Priority.HIGH)
        assert entry.request == WANTED.request and entry.origin == "schedule nightly"


def test_they_do_not_pile_up(database: DeskDatabase) -> None:
    schedules, queue = Schedules(database), Queue(database)
    schedules.add("nightly", "0 2 * * *", "UTC", "skip", WANTED)
    for _ in range(2):
        due_since(database, "nightly", timedelta(seconds=1))
        schedules.turn()
    assert len(queue.waiting()) == 1
    assert "#1, the previous one, has not ended" in schedules.all()[0].last_text
    queue.cancel(1, "ada")
    due_since(database, "nightly", timedelta(seconds=1))
    schedules.turn()
    assert [one.entry.number for one in queue.waiting()] == [2]


def test_adding_and_removing(database: DeskDatabase) -> None:
    schedules = Schedules(database)
    schedules.add("nightly", "0 2 * * *", "UTC", "skip", WANTED)
    with pytest.raises(DeskError, match="already"):
        schedules.add("nightly", "0 3 * * *", "UTC", "skip", WANTED)
    with pytest.raises(DeskError, match="letters"):
        schedules.add("a b", "0 3 * * *", "UTC", "skip", WANTED)
    schedules.remove("nightly")
    with pytest.raises(Missing):
        schedules.remove("nightly")
