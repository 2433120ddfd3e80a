"""Sessions and drives on the desk's pages: found, filtered, and never believed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from desks import by_token, desk_in, stored
from sessions import session
from starlette.testclient import TestClient

from ioplan.records import Drive
from ioplan_lab import Desk, Job, JobNow, LaneState

EVIL = '"><script>alert(1)</script><img src=x onerror=alert(2)>{{6*7777}}\x1b[2J'
COUNT = 60


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """Sessions on three drives, and one whose every name is an attack."""
    folder = tmp_path_factory.mktemp("sessions")
    lab = folder / "lab.toml"
    lab.write_text(
        '[targets.fast]\nserial = "S2"\n[targets.new]\npath = "/dev/nvme9n1"\n'
    )
    worn = {"percent_used": 7, "avail_spare": 98}
    worn |= {"critical_warning": 0, "media_errors": 2}
    with desk_in(folder, lab) as made:
        for at in range(COUNT):
            drive = Drive(serial=f"S{at % 3}", model="Quick", lab_name="")
            more = {"plan": f"plan {at}", "host_name": f"h{at % 3}"}
            tags = ("nightly",) if at % 2 else ()
            id, began = f"20261121-05{at:02}00-aaaa", f"2026-11-21T05:{at:02}:00Z"
            stored(made, id, began, drive, worn, tags=tags, **more)
        made.store.begin(
            session(
                "20261120-000000-evil",
                plan=EVIL,
                target=EVIL,
                person=EVIL,
                host_name=EVIL,
                note=EVIL,
                tags=("evil",),
                started_at="2026-11-20T00:00:00Z",
                drive=Drive(serial=EVIL, model=EVIL, firmware=EVIL, lab_name=EVIL),
            )
        )
        yield made


@pytest.fixture(scope="module")
def viewer(desk: Desk) -> TestClient:
    return by_token(desk, "viewer")


def ids(viewer: TestClient, **asked: str) -> list[str]:
    found = viewer.get("/sessions.json", params=asked)
    assert found.status_code == 200, found.text
    return [one["id"] for one in found.json()["sessions"]]


def test_all_are_reached_page_by_page_each_once(viewer: TestClient) -> None:
    seen: list[str] = []
    address = "/sessions"
    while address:
        page = viewer.get(address).text
        seen += re.findall(r'name="session" value="([^"]+)"', page)
        older = re.search(r'rel="next" href="([^"]+)"', page)
        address = older[1].replace("&amp;", "&") if older else ""
    assert len(seen) == len(set(seen)) == COUNT + 1
    assert seen == sorted(seen, reverse=True)


def test_filters_are_those_of_ls_and_stay_from_page_to_page(viewer: TestClient) -> None:
    assert len(ids(viewer, drive="S2")) == 20
    assert ids(viewer, drive="S2", plan="plan 5") == [
        "20261121-055900-aaaa", "20261121-055600-aaaa", "20261121-055300-aaaa",
        "20261121-055000-aaaa", "20261121-050500-aaaa",
    ]  # fmt: skip
    assert len(ids(viewer, tag="nightly", host="h1")) == 10
    assert len(ids(viewer, status="running")) == 1
    assert ids(viewer, since="2026-11-21T05:59") == ["20261121-055900-aaaa"]
    page = viewer.get("/sessions", params={"tag": "nightly", "plan": "a&b=<"}).text
    assert 'value="nightly"' in page and 'value="a&amp;b=&lt;"' in page


def test_no_word_is_more_than_a_word(viewer: TestClient) -> None:
    """Neither SQL nor a wildcard of LIKE's; only * stands for something."""
    for word in ("%", "_", "' OR '1'='1", "!", "\\", "*'--"):
        for name in ("text", "plan", "drive", "tag", "status"):
            assert ids(viewer, **{name: word}) in ([], ["20261120-000000-evil"])


def test_what_is_no_word_or_no_page_is_refused(viewer: TestClient) -> None:
    asked = [{"text": word} for word in ("\x00", "a\x1b[2J", "\u202e")]
    pages = ("0", "-1", "x", "1e9", "99999999999999999999", "\u00b2")
    for one in (*asked, *({"page": page} for page in pages)):
        assert viewer.get("/sessions", params=one).status_code == 400, one


EVIL_ID = "20261120-000000-evil"
ATTACKED = (
    *("/sessions", "/drives", f"/report?session={EVIL_ID}", f"/history/{EVIL_ID}"),
    *(f"/compare?session={EVIL_ID}&session={EVIL_ID}", "/drives?text=%3Cscript%3E"),
    "/sessions?text=%22%3E%3Cscript%3E",
)


def test_names_that_attack_are_text(viewer: TestClient) -> None:
    for path in ATTACKED:
        text = viewer.get(path).text
        assert "<script>" not in text and "<img" not in text and "\x1b" not in text
        assert "46662" not in text, "a template of ours was made of it"


def test_drives_have_state_last_plan_health_and_wear(viewer: TestClient) -> None:
    page = viewer.get("/drives").text
    row = re.search(r"<tr>\s*<th[^>]*><a[^>]*>fast.*?</tr>", page, re.DOTALL)
    assert row and "free" in row[0] and "plan 59" in row[0] and "7 %" in row[0]
    assert "2 media errors" in row[0] and "spare 98 %" in row[0] and ">20</a>" in row[0]
    assert "/history/20261121-055900-aaaa" in row[0]
    assert "not in the lab file" in page and "new" in page
    assert "fast" in viewer.get("/drives?text=s2").text
    assert "fast" not in viewer.get("/drives?text=s1").text


def test_a_page_has_fifty_drives_of_however_many(tmp_path: Path) -> None:
    lab = tmp_path / "lab.toml"
    lab.write_text("".join(f'[targets.d{n:03}]\nserial = "S{n}"\n' for n in range(120)))
    with desk_in(tmp_path, lab) as desk:
        for number, serial in enumerate(("S119", "S7", "Other")):
            drive = Drive(serial=serial, model="Quick")
            desk.store.begin(session(f"20261121-05000{number}-aaaa", drive=drive))
        viewer = by_token(desk, "viewer")
        first = viewer.get("/drives").text
        assert "121 drives, 1 to 50" in first and 'rel="prev"' not in first
        assert drives_in(first) == [f"d{n:03}" for n in range(50)]
        following = re.search(r'rel="next" href="([^"]+)"', first)
        assert following and following[1] == "/drives?text=&amp;page=2"
        last = viewer.get("/drives?page=3").text
        assert drives_in(last) == [f"d{n:03}" for n in range(100, 120)] + ["Other"]
        assert 'rel="next"' not in last and "121 drives, 101 to 121" in last
        assert drives_in(viewer.get("/drives?text=quick+s7").text) == ["d007"]
        assert drives_in(viewer.get("/drives?text=D11+free").text)[-1] == "d119"
        assert viewer.get("/drives?page=0").status_code == 400
        assert viewer.get("/drives?page=x").status_code == 400


def drives_in(page: str) -> list[str]:
    return re.findall(r'data-label="Drive"><a href="[^"]*">(\w+)', page)


def test_what_runs_beside_the_queue_keeps_a_drive(
    desk: Desk, viewer: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    lane = LaneState(job="j", session="j-1", target="fast", status="running")
    job = Job(id="j", plan="By hand", where="fast", calls=())
    monkeypatch.setattr(type(desk.running), "now", lambda _: [JobNow(job, (lane,))])
    page = viewer.get("/drives?text=fast").text
    assert "busy" in page and "By hand, job j" in page


def test_what_is_not_there_is_said(viewer: TestClient) -> None:
    for path in ("/report?session=none", "/history/none", "/report?session=../../x"):
        assert viewer.get(path).status_code == 404
    for path in ("/report", "/compare?session=20261120-000000-evil"):
        found = viewer.get(path)
        assert found.status_code == 400 and "select at least" in found.text
    many = "&".join(f"session={at}" for at in range(51))
    assert viewer.get(f"/report?{many}").status_code == 400
