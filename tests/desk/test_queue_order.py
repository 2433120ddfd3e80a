"""What may be started, and for what the rest waits."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ioplan_lab import (
    TABLES,
    DeskDatabase,
    DeskError,
    Drives,
    Priority,
    Queue,
    QueueEntry,
    Refused,
    stamp,
)
from ioplan_lab.desk.queue.decide import Quota, Quotas, Use, decisions, use_of
from ioplan_lab.desk.queue.drives import DriveStates, OutOfService, Reservation
from ioplan_lab.desk.queue.entry import Entry, entry_of, row_of
from ioplan_lab.desk.queue.permissions import Permissions, Projects
from ioplan_lab.desk.tags import DriveTags

NOW = "2026-11-22T12:00:00Z"
BEFORE, AFTER = "2026-11-22T11:00:00Z", "2026-11-22T13:00:00Z"
OPEN = DriveStates(out={})


def entry(number: int, drives: str = "a", person: str = "ada", **more: Any) -> Entry:
    wanted = QueueEntry(person, "plan", {"p": ""}, "t", tuple(drives))
    return entry_of(row_of(wanted, number, BEFORE) | more)


def order(*entries: Entry, served: dict[str, str] | None = None) -> list[int]:
    return [one.entry.number for one in decisions(entries, OPEN, served or {}, NOW)]


def waits(*entries: Entry, states: DriveStates = OPEN) -> dict[int, str]:
    return {one.entry.number: one.text for one in decisions(entries, states, {}, NOW)}


def test_priority_then_what_was_moved_then_age() -> None:
    low = {"priority": int(Priority.LOW)}
    high = {"priority": int(Priority.HIGH)}
    assert order(entry(1, **low), entry(2), entry(3, **high), entry(4)) == [3, 2, 4, 1]
    assert order(entry(1), entry(2, position=-1), entry(3, **high)) == [3, 2, 1]


def test_people_take_turns_whoever_adds_most() -> None:
    many = [entry(n) for n in range(1, 5)]
    bob = [entry(n, person="bob") for n in (5, 6)]
    assert order(*many, *bob) == [1, 5, 2, 6, 3, 4]
    assert order(*many, *bob, served={"ada": BEFORE}) == [5, 1, 6, 2, 3, 4]


def test_it_says_for_what_it_waits() -> None:
    reserved = Reservation(1, "b", "bob", BEFORE, AFTER, "firmware")
    later = Reservation(2, "d", "bob", AFTER, "2027", "")
    out = {"c": OutOfService("c", "smoke", "eve", BEFORE)}
    states = DriveStates((reserved, later), out)
    found = waits(
        entry(1, "a", state="running"),
        entry(2, "a"),
        entry(3, "b"),
        entry(4, "c"),
        entry(5, "d"),
        entry(6, "b", person="bob"),
        entry(7, "e", not_before=AFTER),
        states=states,
    )
    assert found == {
        2: "a: #1 runs on it",
        3: "b is reserved by bob until 2026-11-22 13:00 UTC: firmware; b: #6 is before it",
        4: "c is out of service: smoke (eve, 2026-11-22)",
        5: "",
        6: "",
        7: "its time, 2026-11-22 13:00 UTC",
    }


def test_a_group_holds_its_place_but_not_while_a_drive_is_closed() -> None:
    running = entry(1, "a", state="running")
    assert waits(running, entry(2, "ab"), entry(3, "b")) == {
        2: "a: #1 runs on it",
        3: "b: #2 is before it",
    }
    out = DriveStates(out={"a": OutOfService("a", "smoke", "eve", BEFORE)})
    assert waits(entry(2, "ab"), entry(3, "b"), states=out)[3] == ""


def test_what_is_unknown_keeps_its_drives() -> None:
    unknown = entry(1, "a", state="unknown")
    assert waits(unknown, entry(2)) == {2: "a: #1 may run on it"}


ENTRIES = st.lists(
    st.tuples(
        st.sets(st.sampled_from("abcd"), min_size=1),
        st.sampled_from(["ada", "bob", "eve"]),
        st.integers(0, 3),
        st.sampled_from(["waiting", "running", "unknown"]),
    ),
    max_size=12,
)


@given(ENTRIES)
def test_no_drive_is_given_twice_and_nothing_that_could_run_waits(rows: Any) -> None:
    entries = [
        entry(n, "".join(sorted(drives)), person, priority=priority, state=state)
        for n, (drives, person, priority, state) in enumerate(rows)
    ]
    found = decisions(entries, OPEN, {}, NOW)
    busy = {d for one in entries if one.holds for d in one.drives}
    started: set[str] = set()
    for one in found:
        if not one.waits:
            assert not started & set(one.entry.drives) | busy & set(one.entry.drives)
            started |= set(one.entry.drives)
    if found:  # the first in line waits for nothing but what runs
        assert bool(found[0].waits) == bool(busy & set(found[0].entry.drives))
    assert sorted(one.entry.number for one in found) == [
        one.number for one in entries if one.state == "waiting"
    ]


def quota_waits(use: Use, *entries: Entry) -> dict[int, str]:
    found = decisions(entries, OPEN, {}, NOW, use)
    return {one.entry.number: one.text for one in found}


def test_a_quota_of_drives_counts_what_runs_and_holds_nothing() -> None:
    use = Use({"ada": Quota(drives=2)})
    found = quota_waits(
        use,
        entry(1, "ab", state="running"),
        entry(2, "c"),
        entry(3, "c", person="bob"),
        entry(4, "defg", person="bob"),
    )
    assert found[2] == "ada may use 2 drives at once: 2 in use, 1 drive more"
    assert found[3] == found[4] == ""
    assert quota_waits(use, entry(1, "a", state="running"), entry(2, "b"))[2] == ""
    assert "0 in use, 3 drives more" in quota_waits(use, entry(1, "abc"))[1]
    ended = entry(1, "ab", state="ended")
    assert quota_waits(use, ended, entry(2, "ab"))[2] == ""


def test_a_quota_of_hours_and_one_of_everyone() -> None:
    use = Use(
        {"*": Quota(hours=10), "eve": Quota(drives=9)},
        dict.fromkeys(("ada", "eve"), 10.0) | {"bob": 9.9},
    )
    found = quota_waits(
        use,
        *(
            entry(number, person=name, drives=name[0])
            for number, name in enumerate(("ada", "bob", "eve"), 1)
        ),
    )
    assert found == {1: "ada may use 10 drive-hours in 7 days: 10.0 used", 2: "", 3: ""}


def test_a_quota_of_a_project_counts_all_of_its_people() -> None:
    projects = {"nand": ("ada", "olga"), "ram": ("ada",)}
    use = Use({"@nand": Quota(drives=2), "@ram": Quota(hours=9)}, {}, projects)
    runs = entry(1, "a", state="running"), entry(2, "b", "olga", state="running")
    found = quota_waits(use, *runs, entry(3, "c", "olga"), entry(4, "c", "eve"))
    assert found[3] == "@nand may use 2 drives at once: 2 in use, 1 drive more"
    assert found[4] == ""
    assert quota_waits(use, runs[0], entry(3, "c", "olga"))[3] == ""
    used = Use(use.quotas, {"ada": 5.0, "olga": 4.0}, projects | {"ram": ("ada",)})
    assert quota_waits(used, entry(3, "c"))[3] == "", "5 of 9 hours"
    used = Use({"@nand": Quota(hours=9)}, used.hours, projects)
    found = quota_waits(used, entry(3, "c"), entry(4, "d", "eve"))
    assert found == {3: "@nand may use 9 drive-hours in 7 days: 9.0 used", 4: ""}


def test_each_tag_of_a_drive_has_to_permit() -> None:
    permissions = Permissions(
        {"a": ("qual",), "b": ("qual", "x"), "c": ("free",)},
        {"qual": ("@nand", "bob"), "x": ("bob",)},
        {"nand": ("ada",)},
    )
    states = DriveStates(permissions=permissions)
    people = {"ada": "acd", "bob": "abcd", "eve": "cd"}
    for person, drives in people.items():
        may = [one for one in "abcd" if not states.closed_to(one, person, NOW)]
        assert "".join(may) == drives
    found = waits(entry(1, "b"), entry(2, "b", "bob"), states=states)
    assert found == {1: "b is for bob only (tag x)", 2: ""}


def test_who_may_not_use_a_drive_reserves_it_neither(database: DeskDatabase) -> None:
    projects, drives = Projects(database), Drives(database)
    projects.change("nand", ["ada", "eve"], [])
    projects.change("nand", [], ["eve"])
    projects.permit("qual", ["@nand"], [])
    DriveTags(database).change(["a"], ["qual"])
    span = stamp(), stamp(timedelta(hours=1)), ""
    with pytest.raises(Refused, match=r"a is for @nand only \(tag qual\)"):
        drives.reserve(["b", "a"], "eve", *span)
    drives.reserve(["a"], "ada", *span)
    assert [one.person for one in drives.states().reservations] == ["ada"]
    with pytest.raises(Refused, match="qual says who may use"):
        DriveTags(database).change(["a"], [], ["qual"], is_admin=False)
    with pytest.raises(DeskError, match="not the name"):
        projects.permit("qual", ["@a b"], [])
    projects.permit("qual", [], ["@nand"])
    assert not drives.states().closed_to("a", "bob", NOW)


@pytest.fixture
def database(tmp_path: Path) -> Iterator[DeskDatabase]:
    with DeskDatabase.at(None, tmp_path / "desk", TABLES) as made:
        yield made


def test_hours_are_those_of_the_last_days(database: DeskDatabase) -> None:
    """Drives times hours, of what ended, and of what runs up to now."""
    quotas, queue = Quotas(database), Queue(database)
    quotas.set("ada", Quota(hours=5))
    for number, (began, ended) in enumerate(
        ((-3, -1), (-1, 0), (-8 * 24, -6.5 * 24)), 1
    ):
        queue.add(QueueEntry("ada", "plan", {"p": ""}, "t", ("a", "b")))
        times = {"b": stamp(timedelta(hours=began)), "n": number, "e": ""}
        if ended:
            times["e"] = stamp(timedelta(hours=ended))
        with database.writing() as connection:
            connection.change(
                "UPDATE desk_queue SET started_at = :b, ended_at = :e, "
                "state = CASE WHEN :e = '' THEN 'running' ELSE 'ended' END "
                "WHERE number = :n",
                times,
            )
    with database.reading() as connection:
        use = use_of(connection)
    assert use.hours["ada"] == pytest.approx(2 * (2 + 1 + 12), abs=0.01)
    queue.add(QueueEntry("ada", "plan", {"p": ""}, "t", ("c",)))
    assert queue.take("desk") is None
    (waiting,) = queue.waiting()
    assert "ada may use 5 drive-hours in 7 days: 30.0 used" in waiting.text
    quotas.set("ada", Quota())
    assert quotas.all() == {}
    taken = queue.take("desk")
    assert taken and taken.drives == ("c",)


@pytest.mark.parametrize("quota", [Quota(drives=0), Quota(drives=-1), Quota(hours=0)])
def test_a_quota_of_nothing_is_refused(database: DeskDatabase, quota: Quota) -> None:
    with pytest.raises(DeskError, match="more than 0"):
        Quotas(database).set("ada", quota)
    assert Quotas(database).all() == {}
