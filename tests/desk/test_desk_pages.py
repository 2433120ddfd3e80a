"""The pages of the queue, of drives, schedules, consents and hooks, by their forms."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from desks import desk_in, form_token, signed_in
from starlette.testclient import TestClient

from ioplan.runner import read_lab
from ioplan.runner.guard import drives_of, make_key, sign
from ioplan_lab import Desk, Queue, QueueEntry
from ioplan_lab.desk.hooks.hooks import Hooks, announce
from ioplan_lab.desk.schedules.schedule import Schedules

EVIL = '<script>alert("x")</script>'
LAB = """name = "attic"
backend = "sim"
plans = ["plans"]
[admins]
ada = "{key}"
[groups]
all = ["d*"]
[targets.d1]
path = "/sim/d1"
[targets.d2]
path = "/sim/d2"
"""


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    lab = tmp_path / "lab.toml"
    lab.write_text(LAB.format(key=make_key(tmp_path / "admin.key")))
    (tmp_path / "plans").mkdir()
    plan = 'test "T" { run random 4KiB 0/100 for 1s }'
    (tmp_path / "plans" / "night.ioplan").write_text(plan)
    with desk_in(tmp_path, lab) as made:
        yield made


def sent(browser: TestClient, path: str, **fields: Any) -> str:
    """A form of the page of that path, as a browser sends it; the page after it."""
    token = form_token(browser.get("/").text)
    answer = browser.post(path, data={"form_token": token, **fields})
    if answer.status_code == 303:
        return browser.get(answer.headers["location"]).text
    return answer.text


def queued(desk: Desk, *drives: str, person: str = "ada", plan: str = "plan") -> int:
    wanted = QueueEntry(person, plan, {"p": ""}, drives[0], drives)
    return desk.queue.add(wanted)


def test_the_queue_is_read_by_all_and_changed_by_operators(desk: Desk) -> None:
    one, two = queued(desk, "d1", plan=EVIL), queued(desk, "d1", person="bob")
    taken = desk.queue.take("desk")
    assert taken
    desk.queue.started(taken)
    viewer, operator = signed_in(desk, "viewer"), signed_in(desk, "operator")
    page = viewer.get("/queue").text
    assert EVIL not in page and "&lt;script&gt;" in page
    assert f"d1: #{one} runs on it" in page and "<button class=" not in page
    three = queued(desk, "d2", person="bob")
    sent(operator, f"/queue/{three}/move", priority="urgent", first="1")
    assert [w.entry.number for w in desk.queue.waiting()] == [three, two]
    assert "cancelled" in sent(operator, f"/queue/{two}/cancel")
    assert "being ended for operator" in sent(operator, f"/queue/{one}/cancel")
    assert "there is no priority" in sent(
        operator, f"/queue/{three}/move", priority="x"
    )
    assert "is cancelled already" in sent(operator, f"/queue/{two}/cancel")
    deeds = [(one.person, one.deed) for one in desk.audit.newest()]
    assert ("operator", f"cancel #{one} of the queue") in deeds


def test_drives_are_reserved_and_taken_out_of_service(desk: Desk) -> None:
    viewer, operator, admin = (
        signed_in(desk, role) for role in ("viewer", "operator", "admin")
    )
    page = sent(operator, "/reservations", drive=["all"], until="3d", why=EVIL)
    assert page.count("Release d") == 2 and EVIL not in page
    assert 'aria-label="Release' not in viewer.get("/reservations").text
    text = sent(admin, "/reservations", drive="d1", until="1h")
    assert "reserved by operator" in text
    assert "Release d1" in admin.get("/reservations").text
    assert "d2" in sent(admin, "/reservations/release", drive="d1")
    browser_field = {"since": "2099-01-01T10:00", "until": "2099-01-02"}
    assert "2099-01-01 10:00 (later)" in sent(
        operator, "/reservations", drive="d1", **browser_field
    )
    assert "is no moment" in sent(operator, "/reservations", drive="d1", until="x")
    assert "no target" in sent(operator, "/reservations", drive="d9", until="1h")
    sent(admin, "/drives/out-of-service", drive="d2", reason=EVIL)
    page = viewer.get("/drives").text
    assert "out of service" in page and EVIL not in page
    assert "All drives are in service" in sent(admin, "/drives/in-service", drive="d2")


def test_a_schedule_takes_a_plan_of_the_lab(desk: Desk) -> None:
    operator = signed_in(desk, "operator")
    form = {"name": "nightly", "target": "all", "cron": "0 2 * * *", "zone": "UTC"}
    plan = re.findall(
        r'<option value="([^"]*night[^"]*)">', operator.get("/schedules").text
    )
    page = sent(operator, "/schedules", plan=plan[0], missed="once", **form)
    assert "missed: run once" in page and "Remove nightly" in page
    (made,) = Schedules(desk.database).all()
    assert (made.wanted.drives, made.wanted.person) == (("d1", "d2"), "operator")
    wrong = {"cron": "x", "name": "other"}
    assert "not a valid cron expression" in sent(
        operator, "/schedules", plan=plan[0], **form | wrong
    )
    assert "There is no schedule" in sent(operator, "/schedules/nightly/remove")


@pytest.mark.promise("desk.consent")
def test_only_a_list_that_an_admin_signed_is_taken(desk: Desk, tmp_path: Path) -> None:
    assert desk.lab_file
    lab = read_lab(desk.lab_file)
    row = {"verdict": "writable", "id": "S1", "name": "d1"}
    row |= {"identity": {"kernel": "x", "serial": "S1", "model": EVIL}}
    until = datetime.now(UTC) + timedelta(hours=1)
    made = sign(drives_of([row]), lab, until, None, tmp_path / "admin.key")
    text = made.model_dump_json()
    admin, viewer = signed_in(desk, "admin"), signed_in(desk, "viewer")
    altered = text.replace('"S1"', '"S2"')
    for wrong in (altered, json.dumps([row]), "x", ""):
        page = sent(admin, "/consents", name="mine", text=wrong)
        assert not list(tmp_path.rglob("consents/*")), page
    assert "letters, digits" in sent(admin, "/consents", name="../../x", text=text)
    page = sent(admin, "/consents", name="mine", text=text)
    assert "Remove mine" in page and EVIL not in page
    assert "already" in sent(admin, "/consents", name="mine", text=text)
    (kept,) = tmp_path.rglob("consents/mine.json")
    assert kept.stat().st_mode & 0o777 == 0o600
    kept.write_text(altered)
    page = viewer.get("/consents").text
    assert "does not hold" in page and "Remove mine" not in page
    assert "There is no list" in sent(admin, "/consents/mine/remove")


def test_an_admin_adds_hooks_and_sees_the_secret_once(desk: Desk) -> None:
    admin = signed_in(desk, "admin")
    page = sent(admin, "/hooks", url="http://127.0.0.1:9/", event=["failed"])
    assert "the desk&#39;s own host" in page and not Hooks(desk.database).all()
    page = sent(admin, "/hooks", url="http://127.0.0.1:9/", event=["ended"], inside="1")
    (made,) = Hooks(desk.database).all()
    assert made.secret in page and made.secret not in admin.get("/hooks").text
    queue = Queue(desk.database, announce)
    queue.add(QueueEntry("ada", "p", {"p": ""}, "d1", ("d1",)))
    taken = queue.take("desk")
    assert taken
    queue.end(taken, "ok")
    assert 'class="status waiting"' in admin.get("/hooks").text
    assert "Nobody is told" in sent(admin, f"/hooks/{made.number}/remove")
