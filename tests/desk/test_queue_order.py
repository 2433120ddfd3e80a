"""What may be started, and for what the rest waits."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from desks import decided, limit, permit, project, queued, tag
from hypothesis import given, settings
from hypothesis import strategies as st

from ioplan_lab import Desk, DeskError, Drives, Priority, QueueEntry, Refused, stamp

HOUR = timedelta(hours=1)


def is_now(desk: Desk, number: int, state: str, **more: Any) -> None:
    """As if a desk had worked on it."""
    values = {"state": state, **more}
    assigned = ", ".join(f"{name} = :{name}" for name in values)
    with desk.database.writing() as connection:
        statement = f"UPDATE desk_queue SET {assigned} WHERE number = :number"
        connection.change(statement, {**values, "number": number})


def running(desk: Desk, *drives: str, person: str = "ada") -> int:
    number = queued(desk, *drives, person=person)
    is_now(desk, number, "running")
    return number


def order(desk: Desk) -> list[int]:
    return [one.entry.number for one in desk.queue.waiting()]


def waits(desk: Desk) -> dict[int, str]:
    return {one.entry.number: one.text for one in desk.queue.waiting()}


def test_priority_then_what_was_moved_then_age(desk: Desk) -> None:
    one, two, three, four = (queued(desk, "a") for _ in range(4))
    desk.queue.move(one, Priority.LOW, first=False)
    desk.queue.move(three, Priority.HIGH, first=False)
    assert order(desk) == [three, two, four, one]
    desk.queue.move(four, None, first=True)
    assert order(desk) == [three, four, two, one]
    desk.queue.cancel(one, "ada")
    with pytest.raises(DeskError, match="no longer waiting"):
        desk.queue.move(one, None, first=True)


def test_people_take_turns_whoever_adds_most(desk: Desk) -> None:
    for person in ("ada", "ada", "ada", "ada", "bob", "bob"):
        queued(desk, "a", person=person)
    assert order(desk) == [1, 5, 2, 6, 3, 4]
    assert desk.queue.take("desk"), "ada was served last"
    assert order(desk) == [5, 2, 6, 3, 4]


def test_it_says_for_what_it_waits(desk: Desk) -> None:
    drives, now, later = Drives(desk.database), stamp(-HOUR), stamp(HOUR)
    drives.reserve(["b"], "bob", now, later, "firmware")
    drives.reserve(["d"], "bob", later, stamp(2 * HOUR), "")
    drives.take_out(["c"], "eve", "smoke")
    running(desk, "a")
    for drive, person in (*((one, "ada") for one in "abcd"), ("b", "bob")):
        queued(desk, drive, person=person)
    wanted = QueueEntry("ada", "plan", {"p": ""}, "t", ("e",), not_before=later)
    desk.queue.add(wanted)
    is_now(desk, queued(desk, "f"), "unknown")
    queued(desk, "f")
    found = waits(desk)
    assert found[2] == "a: #1 runs on it"
    assert found[3].startswith("b is reserved by bob until ")
    assert found[3].endswith(" UTC: firmware; b: #6 is before it")
    assert found[4].startswith("c is out of service: smoke (eve, 2")
    assert found[5] == found[6] == ""
    assert found[7].startswith("its time, 2")
    assert found[9] == "f: #8 may run on it", "what is unknown keeps its drives"


def test_a_group_holds_its_place_but_not_while_a_drive_is_closed(desk: Desk) -> None:
    running(desk, "a")
    queued(desk, "a", "b"), queued(desk, "b")
    assert waits(desk) == {2: "a: #1 runs on it", 3: "b: #2 is before it"}
    Drives(desk.database).take_out(["a"], "eve", "smoke")
    assert waits(desk)[3] == ""


ENTRIES = st.lists(
    st.tuples(
        st.sets(st.sampled_from("abcd"), min_size=1),
        st.sampled_from(["ada", "bob", "eve"]),
        st.integers(0, 3),
        st.sampled_from(["waiting", "running", "unknown"]),
    ),
    max_size=12,
)


@settings(max_examples=60)
@given(ENTRIES)
def test_no_drive_is_given_twice_and_nothing_that_could_run_waits(rows: Any) -> None:
    found = decided(rows)
    busy = {d for drives, _, _, state in rows if state != "waiting" for d in drives}
    started: set[str] = set()
    for one in found:
        if not one.waits:
            assert not (started | busy) & set(one.entry.drives)
            started |= set(one.entry.drives)
    if found:  # the first in line waits for nothing but what runs
        assert bool(found[0].waits) == bool(busy & set(found[0].entry.drives))
    assert sorted(one.entry.number for one in found) == [
        number for number, row in enumerate(rows) if row[3] == "waiting"
    ]


def test_a_quota_of_drives_counts_what_runs_and_holds_nothing(desk: Desk) -> None:
    limit(desk, "ada", drives=2)
    runs = running(desk, "a", "b")
    queued(desk, "c")
    queued(desk, "c", person="bob")
    queued(desk, "d", "e", "f", "g", person="bob")
    found = waits(desk)
    assert found[2] == "ada may use 2 drives at once: 2 in use, 1 drive more"
    assert found[3] == found[4] == ""
    is_now(desk, runs, "ended")
    assert waits(desk)[2] == ""
    many = queued(desk, "x", "y", "z")
    assert "0 in use, 3 drives more" in waits(desk)[many]


def used(desk: Desk, person: str, drives: str, since_h: float, hours: float) -> None:
    """A plan that ran so long ago, for so long; without an end it runs."""
    number = queued(desk, *drives, person=person)
    ended = stamp(timedelta(hours=hours - since_h)) if hours else ""
    began = {"started_at": stamp(timedelta(hours=-since_h)), "ended_at": ended}
    is_now(desk, number, "ended" if ended else "running", **began)


def test_hours_are_those_of_the_last_days_by_drives(desk: Desk) -> None:
    limit(desk, "*", hours=10)
    limit(desk, "eve", drives=9)
    used(desk, "ada", "ab", 24, 2)
    used(desk, "ada", "ab", 1, 0)
    used(desk, "ada", "ab", 7 * 24 + 1, 3)
    used(desk, "bob", "a", 24, 9.9)
    used(desk, "eve", "a", 100, 99)
    ada, bob, eve = (
        queued(desk, drive, person=one)
        for drive, one in zip("xyz", ("ada", "bob", "eve"), strict=True)
    )
    text = "ada may use 10 drive-hours in 7 days: 10.0 used"
    assert waits(desk) == {ada: text, bob: "", eve: ""}
    with pytest.raises(DeskError, match="more than 0"):
        limit(desk, "ada", hours=0)
    limit(desk, "*")
    assert waits(desk)[ada] == "", "a quota without limits is none"


def test_a_quota_of_a_project_counts_all_of_its_people(desk: Desk) -> None:
    project(desk, "nand", ["ada", "olga"], [])
    project(desk, "ram", ["ada"], [])
    limit(desk, "@nand", drives=2)
    limit(desk, "@ram", hours=9)
    used(desk, "ada", "s", 24, 5)
    used(desk, "olga", "s", 24, 4)
    running(desk, "a"), running(desk, "b", person="olga")
    olga, eve = (queued(desk, "c", person=one) for one in ("olga", "eve"))
    found = waits(desk)
    assert found[olga] == "@nand may use 2 drives at once: 2 in use, 1 drive more"
    assert not found[eve].startswith("@")
    limit(desk, "@nand", hours=9)
    ada = queued(desk, "x")
    assert waits(desk)[ada].startswith("@nand may use 9 drive-hours in 7 days: 9.")
    limit(desk, "@nand")
    assert waits(desk)[ada] == "", "5 of 9 hours"


def test_each_tag_of_a_drive_has_to_permit(desk: Desk) -> None:
    project(desk, "nand", ["ada", "eve"], [])
    project(desk, "nand", [], ["eve"])
    for name, whom in (("qual", ["@nand", "bob"]), ("x", ["bob"])):
        permit(desk, name, whom, [])
    for drive, tags in (("a", ["qual"]), ("b", ["qual", "x"]), ("c", ["free"])):
        tag(desk, drive, *tags)
    states = Drives(desk.database).states()
    for person, drives in {"ada": "acd", "bob": "abcd", "eve": "cd"}.items():
        may = [one for one in "abcd" if not states.closed_to(one, person, stamp())]
        assert "".join(may) == drives
    one, two = queued(desk, "b"), queued(desk, "b", person="bob")
    assert waits(desk) == {one: "b is for bob only (tag x)", two: ""}
    span = stamp(), stamp(HOUR), ""
    with pytest.raises(Refused, match=r"a is for @nand, bob only \(tag qual\)"):
        Drives(desk.database).reserve(["c", "a"], "eve", *span)
    Drives(desk.database).reserve(["a"], "ada", *span)
    reserved = Drives(desk.database).states().reservations
    assert [one.person for one in reserved] == ["ada"]
    with pytest.raises(DeskError, match="not the name"):
        permit(desk, "qual", ["@a b"], [])
