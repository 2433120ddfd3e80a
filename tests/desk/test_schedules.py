"""Schedules: when they are due, and what becomes of what was missed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from desks import desk_in, make_due, page_after, schedules_at, signed_in, time_passes
from starlette.testclient import TestClient

from ioplan_lab import Desk, Priority, stamp

LAB = 'backend = "sim"\nplans = ["plans"]\n[targets.d1]\npath = "/sim/d1"\n'
ADDED = {"name": "nightly", "target": "all", "cron": "0 2 * * *", "zone": "UTC"}


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    lab = tmp_path / "lab.toml"
    lab.write_text(LAB + '[groups]\nall = ["d*"]\n')
    (tmp_path / "plans").mkdir()
    plan = 'test "T" { run random 4KiB 0/100 for 1s }'
    (tmp_path / "plans" / "night.ioplan").write_text(plan)
    with desk_in(tmp_path, lab) as made:
        yield made


@pytest.fixture
def operator(desk: Desk) -> TestClient:
    return signed_in(desk, "operator")


def added(operator: TestClient, **more: Any) -> str:
    page = operator.get("/schedules").text
    (plan,) = re.findall(r'<option value="([^"]*night[^"]*)">', page)
    return page_after(operator, "/schedules", plan=plan, **ADDED | more)


def last(operator: TestClient) -> str:
    """What was done last, and when it is due next."""
    page = operator.get("/schedules").text
    return " ".join(re.findall(r'data-label="(?:Last|Next)">([^<]*)', page))


@pytest.mark.parametrize(
    ("cron", "zone", "now", "due"),
    [
        ("0 2 * * *", "UTC", "2026-11-22T01:59:59Z", "2026-11-22 02:00"),
        ("0 2 * * *", "UTC", "2026-11-22T02:00:00Z", "2026-11-23 02:00"),
        ("0 2 * * *", "Asia/Tokyo", "2026-11-22T00:00:00Z", "2026-11-22 17:00"),
        # clocks go on at 2:00, and back at 3:00
        ("30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", "2026-03-29 01:00"),
        ("30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", "2026-10-25 00:30"),
        ("30 2 * * *", "Europe/Berlin", "2026-10-25T00:30:00Z", "2026-10-26 01:30"),
    ],
)
def test_when_it_is_due(
    cron: str, zone: str, now: str, due: str, operator: TestClient
) -> None:
    with schedules_at(now):
        added(operator, cron=cron, zone=zone)
    assert due in last(operator)


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({"cron": "0 2 * *"}, "not a valid cron expression"),
        ({"cron": "0 0 31 2 *"}, "not a valid cron"),
        ({"zone": "Moon/Base"}, "no time zone"),
        ({"zone": "../../etc/passwd"}, "no time zone"),
        ({"name": "a b"}, "letters"),
    ],
)
def test_what_is_no_schedule(
    wrong: dict[str, str], text: str, operator: TestClient
) -> None:
    assert text in added(operator, **wrong)
    assert "There is no schedule" in operator.get("/schedules").text


@pytest.mark.parametrize(
    ("missed", "ago", "text", "many"),
    [
        ("skip", 0, "#1 added", 1),
        ("once", 5, "#1 added once for 6 missed", 1),
        ("skip", 5, "skipped: 6 missed while no desk", 0),
    ],
)
def test_what_is_due_is_added_once(
    desk: Desk, operator: TestClient, missed: str, ago: int, text: str, many: int
) -> None:
    hourly = {"cron": "0 * * * *", "missed": missed, "priority": "high"}
    page = added(operator, **hourly)
    assert "Remove nightly" in page and "already" in added(operator, **hourly)
    time_passes(desk)
    assert not desk.queue.waiting(), "not due"
    since_full = timedelta(minutes=datetime.now(UTC).minute)
    due = since_full + timedelta(hours=ago) if ago else timedelta(seconds=3)
    make_due(desk, "desk_schedule", stamp(-due))
    for _ in range(3):
        time_passes(desk)
    assert text in last(operator)
    due = (datetime.now(UTC) + timedelta(hours=1)).replace(minute=0)
    assert f"{due:%Y-%m-%d %H:%M}" in last(operator)
    waiting = [one.entry for one in desk.queue.waiting()]
    assert [(one.person, one.priority) for one in waiting] == (
        [("operator", Priority.HIGH)] * many
    )
    assert all(one.drives == ("d1",) for one in waiting)
    assert all(one.origin == "schedule nightly" for one in waiting)


def test_they_do_not_pile_up(desk: Desk, operator: TestClient) -> None:
    added(operator)
    for _ in range(2):
        make_due(desk, "desk_schedule", stamp(-timedelta(seconds=1)))
        time_passes(desk)
    assert len(desk.queue.waiting()) == 1
    assert "#1, the previous one, has not ended" in last(operator)
    desk.queue.cancel(1, "ada")
    make_due(desk, "desk_schedule", stamp(-timedelta(seconds=1)))
    time_passes(desk)
    assert [one.entry.number for one in desk.queue.waiting()] == [2]
    page = page_after(operator, "/schedules/nightly/remove")
    assert "There is no schedule" in page
