"""What hosts report of their drives: renewed, kept while gone, and asked for in time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from desks import by_token, desk_in

from ioplan import ClusterFault, TargetFault
from ioplan.runner import Identity, Lab, read_lab
from ioplan.runner.guard import Surveyed
from ioplan.runner.host import reported as module
from ioplan_lab import Desk, Drives
from ioplan_lab.cluster.errors import ClusterError
from ioplan_lab.commands.desk import working
from ioplan_lab.commands.desk.working import HostDrives, hosts_with_drives
from ioplan_lab.desk import surveyed
from ioplan_lab.desk.drives import health_of
from ioplan_lab.desk.inventory import Busy
from ioplan_lab.desk.queue.health_checks import Checked, judge
from ioplan_lab.desk.selection import targets_on
from ioplan_lab.desk.surveyed import found_on, keep_surveys

LAB = """
scheduler = "tls://127.0.0.1:8786"
[hosts.h1]
[hosts.h2]
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
"""
GONE = Surveyed(name="a", id="S1", verdict="refused", kind=TargetFault.NOT_FOUND)


def found(name: str, serial: str, firmware: str = "1.0", **smart: float) -> Surveyed:
    known = Identity(kernel="nvme0n1", serial=serial, model="ACME")
    more: dict[str, Any] = {"size_bytes": 10**12, "verdict": "writable", "smart": smart}
    return Surveyed(name=name, id=serial, identity=known, firmware=firmware, **more)


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    lab = tmp_path / "lab.toml"
    lab.write_text(LAB)
    with desk_in(tmp_path, lab) as made:
        yield made


def test_a_drive_that_is_gone_keeps_what_was_known(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def report(at: str, *rows: Surveyed) -> dict[str, Any]:
        monkeypatch.setattr(surveyed, "stamp", lambda: at)
        keep_surveys(desk.database, {"h1": rows})
        return dict(found_on(desk.database, "h1")["a"])

    there, missing = "2026-11-21T05:00:00Z", "2026-11-21T05:10:00Z"
    one = report(there, found("a", "S1"))
    assert (one["serial"], one["firmware"], one["model"]) == ("S1", "1.0", "ACME")
    assert (one["seen_at"], one["gone_since"]) == (there, "")
    for at in (missing, "2026-11-21T05:20:00Z"):
        gone = report(at, GONE, found("b", "S2"))
        assert gone["gone_since"] == missing and gone["verdict"] == "refused"
        same = ("serial", "firmware", "model", "size_bytes", "seen_at")
        assert {key: gone[key] for key in same} == {key: one[key] for key in same}
    (row, *_) = desk.drives()
    assert (row.drive, row.why) == ("a", "gone since 2026-11-21 05:10 UTC")
    viewer = by_token(desk, "viewer")
    for page in ("/drives", "/drives/a", "/hosts/h1"):
        assert "gone since 2026-11-21 05:10 UTC" in viewer.get(page).text, page
    back = report("2026-11-21T06:00:00Z", found("a", "S1", "2.0"))
    assert (back["firmware"], back["gone_since"]) == ("2.0", "")
    page = viewer.get("/drives/a").text
    assert "2.0" in page and "ACME" in page and "gone since" not in page


def test_a_drive_that_was_never_there_is_gone_since_it_was_looked_for(
    desk: Desk,
) -> None:
    keep_surveys(desk.database, {"h1": [GONE]})
    one = found_on(desk.database, "h1")["a"]
    assert one["gone_since"] and not one["seen_at"]


def test_drives_are_chosen_by_what_their_hosts_report(desk: Desk) -> None:
    rows = [found("a", "S1", "1.0"), found("b", "S2", "2.7")]
    keep_surveys(desk.database, {"h1": rows})
    lab = read_lab(desk.lab_file)
    asked = (lab, desk.store, desk.database, Busy([]), "ada")
    assert targets_on("firmware 2.*", *asked) == ["b"]


class Hosts:
    """Hosts that answer, but for those in `away`; `busy` have a lane."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked: list[list[str]] = []
        self.away: set[str] = set()
        self.busy: set[str] = set()
        self.smart: dict[str, float] = {}
        self.now_s = 0.0
        monkeypatch.setattr(working, "surveys", self._surveys)
        monkeypatch.setattr(working.time, "monotonic", lambda: self.now_s)
        monkeypatch.setattr(working, "lanes_now", self._lanes)

    def _surveys(self, lab: Lab, programs: object, hosts: list[str]) -> Any:
        self.asked.append(list(hosts))
        fault = ClusterError("no answer", ClusterFault.HOST_UNREACHABLE)
        answers = {
            one: [found("a", "S1", **self.smart)]
            for one in hosts
            if one not in self.away
        }
        return answers, {one: fault for one in hosts if one in self.away}

    def _lanes(self, database: object) -> list[Any]:
        class State:
            def __init__(self, host: str) -> None:
                self.host, self.state = host, self

        return [State(one) for one in self.busy]

    def after(self, turns: HostDrives, seconds: float) -> list[list[str]]:
        self.asked, self.now_s = [], self.now_s + seconds
        turns.turn()
        return self.asked


def test_hosts_are_asked_every_ten_minutes_and_never_while_they_measure(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    hosts, turns = Hosts(monkeypatch), HostDrives(desk.database, desk.lab_file)
    hosts.busy = {"h2"}
    assert hosts.after(turns, 1000) == [["h1"]]
    assert list(found_on(desk.database, "h1")) == ["a"]
    assert hosts.after(turns, 2) == hosts.after(turns, 61) == []
    hosts.busy = set()
    assert hosts.after(turns, 61) == [["h2"]]
    assert hosts.after(turns, 400) == []
    assert hosts.after(turns, 100) == [["h1"]]


def test_a_host_that_does_not_answer_is_told_of_once(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    hosts, turns = Hosts(monkeypatch), HostDrives(desk.database, desk.lab_file)
    hosts.away = {"h1"}
    with pytest.raises(ClusterError, match="no answer"):
        hosts.after(turns, 1000)
    assert list(found_on(desk.database, "h2")) == ["a"], "the others' are kept"
    assert hosts.after(turns, 601) == [["h1", "h2"]]
    hosts.away = set()
    hosts.after(turns, 601)
    hosts.away = {"h1"}
    with pytest.raises(ClusterError):
        hosts.after(turns, 601)


def test_a_report_of_bad_health_closes_the_drive_until_somebody_opens_it(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    hosts, drives = Hosts(monkeypatch), Drives(desk.database)
    turns = HostDrives(desk.database, desk.lab_file)

    def out(**smart: float) -> dict[str, str]:
        hosts.smart = smart
        hosts.after(turns, 1000)
        return {name: one.text for name, one in drives.states().out.items()}

    assert not out() and not out(critical_warning=0, media_errors=0)
    told = out(critical_warning=0, media_errors=2)
    assert told["a"].startswith("out of service: 2 media errors (health check on h")
    assert "2 media errors" in by_token(desk, "viewer").get("/hosts/h1").text
    drives.put_back(["a"])
    assert not out(critical_warning=0, media_errors=2)
    assert set(out(critical_warning=8, media_errors=2)) == {"a"}


def test_what_is_older_than_the_last_check_is_not_judged(desk: Desk) -> None:
    def out(errors: int, at: str) -> bool:
        log = {"critical_warning": 0, "media_errors": errors}
        judge(desk.database, {"a": Checked(health_of(log), "h1", at)})
        return "a" in Drives(desk.database).states().out

    assert out(3, "2026-11-21T06:00:00Z")
    Drives(desk.database).put_back(["a"])
    assert not out(2, "2026-11-21T05:00:00+00:00")
    assert not out(3, "2026-11-21T07:00:00Z")
    assert out(4, "2026-11-21T07:00:00Z")


def test_named_nvme_drives_are_reported_with_their_log(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Log:
        def __init__(self, node: str) -> None:
            self.node = node

        def smart_log(self) -> dict[str, float]:
            return {"media_errors": 1} if self.node == "/dev/nvme0n1" else {"x": 1}

    plain = found("a", "S1").model_copy(update={"path": "/dev/nvme0n1"})
    disk = {"identity": Identity(kernel="sda", serial="S3")}
    rows = [plain, plain.model_copy(update={"name": ""}), GONE]
    rows.append(plain.model_copy(update=disk))
    monkeypatch.setattr(module, "survey", lambda lab: iter(rows))
    monkeypatch.setattr(module, "Smart", Log)
    told = [one.smart for one in module.reported(Lab())]
    assert told == [{"media_errors": 1}, {}, {}, {}]


def test_only_hosts_with_devices_are_asked() -> None:
    entries = {
        "a": {"path": "/sim/a"},
        "b": {"path": "/srv/file", "host": "h1"},
        "c": {"wwid": "eui.1", "hosts": ["h2", "h3"]},
    }
    lab = Lab.model_validate(
        {"targets": entries, "hosts": {"h1": {}, "h2": {}, "h3": {}}}
    )
    assert hosts_with_drives(lab) == ["h2", "h3"]
    here = Lab.model_validate({"targets": {"a": {"path": "/dev/nvme0n1"}}})
    assert hosts_with_drives(here) == [""]
