"""What hosts and results say of drives: renewed, kept while gone, and judged by their
health."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from desks import (
    Hosts,
    Starts,
    by_token,
    desk_in,
    host_says,
    hosts_report,
    judged,
    out_of_service,
    queued,
    stored,
)

from ioplan import TargetFault
from ioplan.records import Drive
from ioplan.runner import Identity
from ioplan.runner.guard import Surveyed
from ioplan_lab import Desk, Drives, Runner

LAB = """
scheduler = "tls://127.0.0.1:8786"
[hosts.h1]
[hosts.h2]
[hosts.h3]
[targets.a]
host = "h1"
serial = "S1"
[targets.b]
host = "h1"
serial = "S2"
[targets.c]
host = "h2"
path = "/dev/nvme0n1"
[targets.d]
host = "h2"
path = "/srv/file"
[targets.e]
host = "h3"
path = "/srv/file"
"""
GONE = Surveyed(name="a", id="S1", verdict="refused", kind=TargetFault.NOT_FOUND)
GOOD = {"critical_warning": 0.0, "media_errors": 0.0}
TWO = GOOD | {"media_errors": 2.0}
BAD = [
    (GOOD | {"critical_warning": 4}, "critical warning 4"),
    (TWO, "2 media errors"),
    ({"critical_warning": 1, "media_errors": 3}, "critical warning 1, 3 media errors"),
]
FINE = [
    *(GOOD, None, {}, {"percent_used": 250, "avail_spare": 0}),
    GOOD | {"percent_used": 250, "warning_temp_time": 9},
]


def known(name: str, serial: str, firmware: str = "1.0", **smart: float) -> Surveyed:
    of_host = Identity(kernel="nvme0n1", serial=serial, model="ACME")
    more: dict[str, Any] = {"size_bytes": 10**12, "verdict": "writable", "smart": smart}
    return Surveyed(name=name, id=serial, identity=of_host, firmware=firmware, **more)


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    lab = tmp_path / "lab.toml"
    lab.write_text(LAB)
    with desk_in(tmp_path, lab) as made:
        yield made


def test_a_drive_that_is_gone_keeps_what_was_known(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    viewer = by_token(desk, "viewer")

    def page(at: str, *rows: Surveyed) -> str:
        monkeypatch.setattr("ioplan_lab.desk.surveyed.stamp", lambda: at)
        hosts_report(desk, "h1", *rows)
        return viewer.get("/drives/a").text

    there, missing = "2026-11-21T05:00:00Z", "2026-11-21T05:10:00Z"
    assert "gone since 2026-11-21 05:00" in page(there, GONE), "never there"
    shown = page(there, known("a", "S1"))
    assert all(one in shown for one in ("S1", "1.0", "ACME")) and "gone" not in shown
    for at in (missing, "2026-11-21T05:20:00Z"):
        shown = page(at, GONE, known("b", "S2"))
        assert all(one in shown for one in ("S1", "1.0", "ACME")), shown
        assert "gone since 2026-11-21 05:10 UTC" in shown
    for path in ("/drives", "/hosts/h1"):
        assert "gone since 2026-11-21 05:10 UTC" in viewer.get(path).text, path
    shown = page("2026-11-21T06:00:00Z", known("a", "S1", "2.0"))
    assert "2.0" in shown and "ACME" in shown and "gone since" not in shown


def test_hosts_with_devices_are_asked_every_ten_minutes_but_not_while_they_measure(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    hosts = Hosts(desk, monkeypatch)
    hosts.busy, hosts.drives = {"h2"}, [known("a", "S1")]
    assert hosts.after(1000) == [["h1"]]
    assert "ACME" in by_token(desk, "viewer").get("/hosts/h1").text
    assert hosts.after(2) == hosts.after(61) == []
    hosts.busy = set()
    assert hosts.after(61) == [["h2"]]
    assert hosts.after(400) == []
    assert hosts.after(100) == [["h1"]]
    assert desk.lab_file
    desk.lab_file.write_text('[targets.a]\npath = "/dev/nvme0n1"\n')
    assert hosts.after(1000) == [[""]], "this host, without a lab of others"


def test_a_host_that_does_not_answer_is_told_of_once(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    hosts = Hosts(desk, monkeypatch)
    hosts.away, hosts.drives = {"h1"}, [known("c", "S3")]
    with pytest.raises(Exception, match="no answer"):
        hosts.after(1000)
    assert "ACME" in by_token(desk, "viewer").get("/hosts/h2").text
    assert hosts.after(601) == [["h1", "h2"]]
    hosts.away = set()
    hosts.after(601)
    hosts.away = {"h1"}
    with pytest.raises(Exception, match="no answer"):
        hosts.after(601)


def test_a_report_of_bad_health_closes_the_drive_until_somebody_opens_it(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    hosts = Hosts(desk, monkeypatch)

    def out(smart: dict[str, float]) -> dict[str, str]:
        hosts.drives = [known("a", "S1", **smart)]
        hosts.after(1000)
        return out_of_service(desk)

    assert not out({}) and not out(GOOD)
    text = out(TWO)["a"]
    assert text.startswith("out of service: 2 media errors (health check on h")
    assert "2 media errors" in by_token(desk, "viewer").get("/hosts/h1").text
    Drives(desk.database).put_back(["a"])
    assert not out(TWO)
    ran(desk, 1, TWO | {"media_errors": 1})
    assert not judged(desk), "older than the last check"
    assert set(out(TWO | {"critical_warning": 8})) == {"a"}


def test_named_nvme_drives_are_reported_with_their_log() -> None:
    drive = known("a", "S1").model_copy(update={"path": "/dev/nvme0n1"})
    disk = Identity(kernel="sda", serial="S3")
    changes: list[dict[str, Any]] = [{}, {"name": ""}, {"identity": disk}]
    rows = [GONE, *(drive.model_copy(update=one) for one in changes)]
    logs = {"/dev/nvme0n1": {"media_errors": 1.0}}
    assert host_says(rows, logs) == [{}, {"media_errors": 1.0}, {}, {}]


# ---- by what the SMART log says after a run


def ran(
    desk: Desk, number: int, log: dict[str, float] | None, serial: str = "S1"
) -> None:
    id, at = f"20261121-05{number:02}00-aaaa", f"2026-11-21T05:{number:02}:00Z"
    drive = Drive(serial=serial, model="Quick", lab_name="")
    stored(desk, id, at, drive, log, host_name="h1")


def test_failed_checks_close_drives_before_anything_is_started(desk: Desk) -> None:
    viewer, drives = by_token(desk, "viewer"), Drives(desk.database)
    number = queued(desk, "a")
    for at, (log, reason) in enumerate(BAD, 1):
        assert not judged(desk)
        ran(desk, at, log)
        out = judged(desk)
        assert list(out) == ["a"]
        assert out["a"].startswith(f"out of service: {reason} (health check on h1, 20")
        assert desk.queue.take("desk") is None
        (waits,) = desk.queue.waiting()
        assert waits.entry.number == number and f"a is {out['a']}" in waits.text
        for page in ("/drives", "/drives/a", "/queue"):
            assert reason in viewer.get(page).text, page
        drives.put_back(["a"])
    starts = Starts()
    ran(desk, 9, GOOD | {"media_errors": 9})
    queued(desk, "b")
    Runner(desk.queue, starts, "desk", checks=lambda: judged(desk)).turn()  # type: ignore[arg-type,return-value]
    assert list(starts.jobs) == [2]


@pytest.mark.parametrize("log", FINE)
def test_a_drive_is_left_in_service(desk: Desk, log: dict[str, float] | None) -> None:
    ran(desk, 1, log)
    ran(desk, 2, TWO, serial="of no target")
    assert not judged(desk)


def test_a_person_puts_it_back_until_it_fails_anew(desk: Desk) -> None:
    drives = Drives(desk.database)
    ran(desk, 1, TWO)
    assert judged(desk)
    drives.put_back(["a"])
    for number, log, out in (
        *((2, TWO, False), (3, {}, False), (4, TWO, False)),
        (5, GOOD | {"media_errors": 3}, True),
    ):
        ran(desk, number, log)  # type: ignore[arg-type]
        assert bool(judged(desk)) == out, number
    drives.put_back(["a"])
    drives.take_out(["a"], "ada", "firmware")
    ran(desk, 6, GOOD | {"media_errors": 7})
    assert "firmware (ada" in judged(desk)["a"], "a person's reason stays"
