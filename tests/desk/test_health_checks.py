"""Drives whose health check has failed go out of service, and no others do."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from desks import by_token, desk_in
from run_data import run, session
from test_queue_store import Starts

from ioplan.records import Drive, Telemetry
from ioplan.runner import read_lab
from ioplan_lab import Desk, Drives, QueueEntry, Runner
from ioplan_lab.desk.queue.health_checks import HealthChecks

GOOD = {"critical_warning": 0, "media_errors": 0}


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    lab = tmp_path / "lab.toml"
    lab.write_text('[targets.d1]\nserial = "S1"\n[targets.d2]\nserial = "S2"\n')
    with desk_in(tmp_path, lab) as made:
        yield made


def checks_of(desk: Desk) -> HealthChecks:
    return HealthChecks(desk.store, desk.database, partial(read_lab, desk.lab_file))


def ran(desk: Desk, number: int, log: dict[str, float] | None, **more: Any) -> None:
    """A session on d1 of host h1, with this SMART log after its run."""
    id = f"20261121-05{number:02}00-aaaa"
    drive = Drive(serial="S1", model="Quick", lab_name="")
    at = f"2026-11-21T05:{number:02}:00Z"
    desk.store.begin(session(id, drive=drive, host_name="h1", started_at=at))
    told = log is not None and Telemetry(
        covered_s=1, intervals=1, smart_after=log, **more
    )
    record, detail = run(1, session=id, telemetry=told or None)
    desk.store.add(record, detail)
    desk.store.finish(id, "ok", at)


def out(desk: Desk) -> dict[str, str]:
    return {one.drive: one.text for one in Drives(desk.database).states().out.values()}


@pytest.mark.parametrize(
    ("log", "reason"),
    [
        (GOOD | {"critical_warning": 4}, "critical warning 4"),
        (GOOD | {"media_errors": 2}, "2 media errors"),
        (
            {"critical_warning": 1, "media_errors": 3},
            "critical warning 1, 3 media errors",
        ),
    ],
)
def test_a_failed_check_closes_the_drive(
    desk: Desk, log: dict[str, float], reason: str
) -> None:
    number = desk.queue.add(QueueEntry("ada", "plan", {"p": "x"}, "d1", ("d1",)))
    checks = checks_of(desk)
    checks.turn()
    assert not out(desk)
    ran(desk, 1, log)
    checks.turn()
    assert list(out(desk)) == ["d1"]
    assert out(desk)["d1"].startswith(
        f"out of service: {reason} (health check on h1, 20"
    )
    assert desk.queue.take("desk") is None
    (waits,) = desk.queue.waiting()
    assert waits.entry.number == number and f"d1 is {out(desk)['d1']}" in waits.text
    viewer = by_token(desk, "viewer")
    for page in ("/drives", "/drives/d1", "/queue"):
        assert reason in viewer.get(page).text, page


def test_drives_are_judged_before_anything_is_started(desk: Desk) -> None:
    starts, queue = Starts(), desk.queue
    runner = Runner(queue, starts, "desk", checks=checks_of(desk).turn)
    ran(desk, 1, GOOD | {"critical_warning": 4})
    for drive in ("d1", "d2"):
        queue.add(QueueEntry("ada", "plan", {"p": "x"}, drive, (drive,)))
    runner.turn()
    assert list(starts.jobs) == [2]


@pytest.mark.parametrize(
    "log",
    [
        GOOD,
        None,
        {},
        {"percent_used": 250, "avail_spare": 0},
        GOOD | {"percent_used": 250, "warning_temp_time": 9},
    ],
)
def test_a_drive_is_left_in_service(desk: Desk, log: dict[str, float] | None) -> None:
    ran(desk, 1, log, **({"temperature_max_celsius": 99.0} if log else {}))
    checks_of(desk).turn()
    assert not out(desk)


def test_a_person_puts_it_back_until_it_fails_anew(desk: Desk) -> None:
    drives, two = Drives(desk.database), GOOD | {"media_errors": 2}
    ran(desk, 1, two)
    checks_of(desk).turn()
    drives.put_back(["d1"])
    for number, log, state in (
        (2, two, {}),
        (3, {}, {}),
        (4, two, {}),
        (5, GOOD | {"media_errors": 3}, {"d1"}),
    ):
        ran(desk, number, log)
        checks_of(desk).turn()  # of a desk that has just begun
        assert set(out(desk)) == set(state), number


def test_what_a_person_took_out_keeps_its_reason(desk: Desk) -> None:
    Drives(desk.database).take_out(["d1"], "ada", "firmware")
    ran(desk, 1, GOOD | {"media_errors": 2})
    checks_of(desk).turn()
    assert "firmware (ada" in out(desk)["d1"]


def test_a_run_that_is_not_of_the_lab_closes_nothing(desk: Desk) -> None:
    desk.lab_file and desk.lab_file.write_text('[targets.d2]\nserial = "S2"\n')
    ran(desk, 1, GOOD | {"media_errors": 2})
    checks_of(desk).turn()
    assert not out(desk)
