"""Plans that people start from the pages, as they would at a shell."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from desks import by_token, desk_in, form_token, signed_in, start_what_waits
from starlette.testclient import TestClient

from ioplan_lab import Desk

PLAN = """plan "Quick <b>look</b>"
test "T" {
  run    random 4KiB 100/0 for 200ms
  vary   qd in 1, 2
  expect errors == 0
}
"""


@pytest.fixture(scope="module")
def lab_desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """A desk with a lab of two simulated drives and a folder of plans."""
    folder = tmp_path_factory.mktemp("desk")
    (folder / "plans").mkdir()
    (folder / "plans" / "look.ioplan").write_text(PLAN)
    lab = folder / "lab.toml"
    lab.write_text(
        f'backend = "sim"\nplans = ["{folder}/plans"]\n[targets.a]\npath = "/sim/a"\n'
        f'[targets.b]\npath = "/sim/b"\n[groups]\nboth = ["*"]\n'
    )
    with desk_in(folder, lab) as made:
        yield made


def sent(browser: TestClient, path: str, **form: object) -> tuple[int, str]:
    token = form_token(browser.get("/start").text)
    done = browser.post(path, data={"form_token": token, **form})
    return done.status_code, done.text


@pytest.mark.slow
@pytest.mark.long
def test_mistakes_are_shown_at_their_lines(lab_desk: Desk) -> None:
    browser = signed_in(lab_desk, "operator")
    wrong = PLAN.replace("run    random", "run    randum").replace(
        "qd in", "</textarea> in"
    )
    code, page = sent(browser, "/start/check", text=wrong, target="a")
    assert code == 400 and "line 3" in page and '<li class="here">' in page
    assert "randum" in page and page.count("</textarea>") == 1


@pytest.mark.long
def test_a_plan_is_checked_shown_started_watched_and_reported(lab_desk: Desk) -> None:
    browser = signed_in(lab_desk, "operator")
    form = browser.get("/start", params={"plan": "lab/look"}).text
    assert '<option value="lab/look" selected>' in form and "quick/datasheet" in form
    code, page = sent(
        browser, "/start/check", plan="lab/look", target=["both"], scale_time="0.5"
    )
    assert code == 200, page
    assert "Quick &lt;b&gt;look&lt;/b&gt;" in page and "<b>" not in page
    assert "0.200 s" in page and "no consent is given" in page
    hidden = dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', page))
    done = browser.post("/start/run", data=hidden)
    assert done.status_code == 303, done.text
    assert "Quick &lt;b&gt;look&lt;/b&gt;" in browser.get("/now/jobs").text, "it waits"
    start_what_waits(lab_desk)
    deadline_s = time.monotonic() + 60
    while not (jobs := browser.get("/now.json").json()["jobs"]) or not jobs[0]["ended"]:
        assert time.monotonic() < deadline_s
        time.sleep(0.05)
    assert [lane["status"] for lane in jobs[0]["lanes"]] == ["ok", "ok"]
    deed = lab_desk.audit.newest()[0]
    assert (deed.person, deed.deed) == ("operator", "start Quick <b>look</b> on both")
    assert deed.outcome == "#1"
    shown = browser.get("/report", params={"job": jobs[0]["id"]}).text
    frame = re.search(r'<iframe[^>]* src="([^"]+)" sandbox="([^"]+)"', shown)
    assert frame and "allow-same-origin" not in frame[2]
    found = browser.get(frame[1].replace("&amp;", "&"))
    policy = found.headers["content-security-policy"]
    assert "sandbox allow-scripts" in policy and "allow-same-origin" not in policy
    assert "script-src 'sha256-" in policy and "frame-ancestors 'self'" in policy
    assert found.headers["x-frame-options"] == "SAMEORIGIN"
    assert "Quick &lt;b&gt;look&lt;/b&gt;" in found.text
    sessions = [lane["session"] for lane in jobs[0]["lanes"]]
    compared = browser.get("/compare", params={"session": sessions, "all": "1"}).text
    assert "95 % interval" in compared and "counts as equal" in compared
    gone = browser.post(
        f"/jobs/{jobs[0]['id']}x/cancel", data={"form_token": hidden["form_token"]}
    )
    assert gone.status_code == 404 and "no job" in gone.text


LOOK = {"plan": "lab/look", "target": "a"}
REFUSED: dict[str, list[dict[str, str]]] = {
    "the lab has no target": [LOOK | {"target": o} for o in ("/dev/sda", "--lab=x")],
    "there is no plan": [
        LOOK | {"plan": o} for o in ("../../etc/passwd", "/etc/passwd")
    ],
    "choose a plan": [LOOK | {"plan": ""}],
    "choose at least one target": [{"plan": "lab/look"}],
    "cannot be shown": [
        LOOK | one for one in ({"profile": "a\x00b"}, {"settings": "a\x1b=1"})
    ],
    "no list of consents": [LOOK | {"consent": "../x"}],
}


def test_what_can_be_no_word_of_a_call_never_is_one(lab_desk: Desk) -> None:
    program = by_token(lab_desk, "operator")
    for said, forms in REFUSED.items():
        for form in forms:
            answer = program.post("/start/run", data=form)
            assert answer.status_code in (400, 404) and said in answer.text, form


def test_no_unsigned_list_is_offered_or_taken(lab_desk: Desk) -> None:
    lists = lab_desk.starter.consents
    lists.mkdir(parents=True, exist_ok=True)
    (lists / "mine.json").write_text('[{"id": "S1", "identity": {"serial": "S1"}}]')
    program = by_token(lab_desk, "operator")
    assert "mine" not in program.get("/start").text
    form = {"plan": "lab/look", "target": "a", "consent": "mine"}
    found = program.post("/start/run", data=form)
    assert found.status_code == 400 and "not signed" in found.text


def test_the_text_of_a_plan_can_be_changed_without_leaving_the_page(
    lab_desk: Desk,
) -> None:
    browser = signed_in(lab_desk, "operator")
    code, page = sent(browser, "/start/edit", plan="lab/look", load="1", target="b")
    assert code == 200 and "run    random 4KiB" in page and 'value="b" checked' in page


def test_texts_are_kept_once_and_for_this_user_only(tmp_path: Path) -> None:
    with desk_in(tmp_path) as desk:
        library = desk.starter.library
        one, other = library.keep(PLAN), library.keep(PLAN)
        assert one == other and one.read_text() == PLAN
        assert library.folder.stat().st_mode & 0o077 == 0
        one.write_text("changed")
        assert library.keep(PLAN).read_text() == PLAN
