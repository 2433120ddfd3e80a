"""The pages of the queue, of drives and of consents, by their forms."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from desks import desk_in, page_after, queued, signed_in

from ioplan.runner import read_lab
from ioplan.runner.guard import drives_of, make_key, sign
from ioplan_lab import Desk

EVIL = '<script>alert("x")</script>'
LAB = """name = "attic"
backend = "sim"
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
    with desk_in(tmp_path, lab) as made:
        yield made


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
    page_after(operator, f"/queue/{three}/move", priority="urgent", first="1")
    assert [w.entry.number for w in desk.queue.waiting()] == [three, two]
    assert "cancelled" in page_after(operator, f"/queue/{two}/cancel")
    assert "being ended for operator" in page_after(operator, f"/queue/{one}/cancel")
    assert "there is no priority" in page_after(
        operator, f"/queue/{three}/move", priority="x"
    )
    assert "is cancelled already" in page_after(operator, f"/queue/{two}/cancel")
    deeds = [(one.person, one.deed) for one in desk.audit.newest()]
    assert ("operator", f"cancel #{one} of the queue") in deeds


def test_drives_are_reserved_and_taken_out_of_service(desk: Desk) -> None:
    viewer, operator, admin = (
        signed_in(desk, role) for role in ("viewer", "operator", "admin")
    )
    page = page_after(operator, "/reservations", drive=["all"], until="3d", why=EVIL)
    assert page.count("Release d") == 2 and EVIL not in page
    assert 'aria-label="Release' not in viewer.get("/reservations").text
    text = page_after(admin, "/reservations", drive="d1", until="1h")
    assert "reserved by operator" in text
    assert "Release d1" in admin.get("/reservations").text
    assert "d2" in page_after(admin, "/reservations/release", drive="d1")
    browser_field = {"since": "2099-01-01T10:00", "until": "2099-01-02"}
    assert "2099-01-01 10:00 (later)" in page_after(
        operator, "/reservations", drive="d1", **browser_field
    )
    assert "is no moment" in page_after(
        operator, "/reservations", drive="d1", until="x"
    )
    assert "no target" in page_after(operator, "/reservations", drive="d9", until="1h")
    page_after(admin, "/drives/out-of-service", drive="d2", reason=EVIL)
    page = viewer.get("/drives").text
    assert "out of service" in page and EVIL not in page
    assert "All drives are in service" in page_after(
        admin, "/drives/in-service", drive="d2"
    )


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
        page = page_after(admin, "/consents", name="mine", text=wrong)
        assert not list(tmp_path.rglob("consents/*")), page
    assert "letters, digits" in page_after(
        admin, "/consents", name="../../x", text=text
    )
    page = page_after(admin, "/consents", name="mine", text=text)
    assert "Remove mine" in page and EVIL not in page
    assert "already" in page_after(admin, "/consents", name="mine", text=text)
    (kept,) = tmp_path.rglob("consents/mine.json")
    assert kept.stat().st_mode & 0o777 == 0o600
    kept.write_text(altered)
    page = viewer.get("/consents").text
    assert "does not hold" in page and "Remove mine" not in page
    assert "There is no list" in page_after(admin, "/consents/mine/remove")
