"""Jobs with charts that grow, the log of a lane, and the pages of drives and hosts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from desks import by_token, desk_in, form_token, signed_in
from postgres import needs_postgres, postgres
from run_data import run, session
from test_inventory import call_of, state_of

from ioplan.records import Drive, Telemetry
from ioplan_lab import TABLES, Desk, DeskDatabase, DeskError, LaneState
from ioplan_lab.desk.samples import Samples
from ioplan_lab.desk.tags import DriveTags
from ioplan_lab.desk.web.live_chart import chart

EVIL = '"><script>alert(1)</script>'
BEGAN_S = 1_795_000_000.0
LAB = """[hosts.h1]
address = "10.0.0.1"
[targets.d1]
host = "h1"
serial = "SERIAL1"
model = "ACME 9100"
[targets.d2]
host = "h1"
serial = "SERIAL2"
"""


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    lab = tmp_path / "lab.toml"
    lab.write_text(LAB)
    with desk_in(tmp_path, lab) as made:
        yield made


def running(at: int, number: int = 1, iops: float = 1000.0) -> LaneState:
    return state_of(
        call_of(number),
        status="running",
        step="1  random 4KiB",
        done=0.5,
        iops=iops,
        p99_ns=iops * 100,
        at_s=BEGAN_S + at,
    )


def numbers_of(svg: str) -> list[list[tuple[float, float]]]:
    """The points of each line."""
    found = re.findall(r'points="([^"]+)"', svg)
    pairs = [[pair.split(",") for pair in one.split()] for one in found]
    return [[(float(x), float(y)) for x, y in one] for one in pairs]


def test_a_chart_places_its_values() -> None:
    drawn = chart("IOPS", {"d1": [(0, 0.0), (5, 10.0), (10, 5.0)]}, str)
    ((first, second, third),) = numbers_of(drawn)
    assert (first[0], second[0], third[0]) == (64.0, 352.0, 640.0)
    assert first[1] > third[1] > second[1]
    assert third[1] == pytest.approx((first[1] + second[1]) / 2)
    assert 'aria-label="IOPS, now: d1 5.0"' in drawn


def test_a_line_is_broken_where_nothing_was_seen() -> None:
    points = [(at, 1.0) for at in (0.0, 2.0, 4.0, 6.0, 8.0, 60.0, 62.0)]
    assert [len(one) for one in numbers_of(chart("x", {"a": points}, str))] == [5, 2]
    assert len(numbers_of(chart("x", {"a": points}, str, days=True))) == 1


def test_a_chart_of_nothing_and_of_zeros() -> None:
    assert chart("x", {"a": []}, str) == ""
    assert len(numbers_of(chart("x", {"a": [(1, 0.0)]}, str))) == 1
    assert "<script>" not in chart(EVIL, {EVIL: [(1, 1.0)]}, str)


def sampled(database: DeskDatabase) -> None:
    samples = Samples(database)
    for at in (0, 2, 2, 4):
        samples.add([running(at, iops=1000.0 + at), running(at, number=2)])
    ended = state_of(call_of(1), status="ok", iops=7.0, at_s=BEGAN_S + 6)
    waits = state_of(call_of(2), status="waiting", at_s=BEGAN_S + 6)
    samples.add([ended, waits])
    found = samples.of(call_of(1).job)
    assert list(found) == [call_of(1).session, call_of(2).session]
    one = found[call_of(1).session]
    assert [(s.at_s - BEGAN_S, s.iops) for s in one] == [
        (0, 1000),
        (2, 1002),
        (4, 1004),
    ]
    for at in range(0, 20_000, 10):
        samples.add([running(at, iops=float(at))])
    long = samples.of(call_of(1).job)[call_of(1).session]
    assert 200 < len(long) < 260
    assert long[-1].iops > 19_000 and long[-1].p99_ns == 1_999_000
    assert samples.of("another") == {}


def test_samples_are_kept_once_and_thinned(tmp_path: Path) -> None:
    with DeskDatabase.at(None, tmp_path / "desk", TABLES) as database:
        sampled(database)


@needs_postgres
@pytest.mark.slow
@pytest.mark.long
def test_samples_in_postgres(tmp_path: Path) -> None:
    with (
        postgres() as server,
        DeskDatabase.at(server, tmp_path / "desk", TABLES) as database,
    ):
        sampled(database)


def test_a_job_has_charts_that_grow_without_a_reload(desk: Desk) -> None:
    viewer = by_token(desk, "viewer")
    job = call_of(1).job
    assert viewer.get(f"/jobs/{job}").status_code == 404
    desk.inventory.report([(call_of(1), running(0)), (call_of(2), running(0, 2))])
    page = viewer.get(f"/jobs/{job}").text
    assert f'data-refresh="/jobs/{job}/now"' in page
    before = numbers_of(viewer.get(f"/jobs/{job}/now").text)
    desk.inventory.report([(call_of(1), running(3)), (call_of(2), running(3, 2))])
    after = numbers_of(viewer.get(f"/jobs/{job}/now").text)
    assert len(before) == len(after) == 4, "IOPS and p99 of two lanes"
    assert [len(one) for one in after] == [2, 2, 2, 2]
    ended = [(one, state_of(one, status="ok")) for one in (call_of(1), call_of(2))]
    desk.inventory.report(ended)
    page = viewer.get(f"/jobs/{job}").text
    assert "data-refresh" not in page and len(numbers_of(page)) == 4


def test_many_lanes_are_drawn_together(desk: Desk) -> None:
    lanes = [(call_of(n), running(0, n, iops=100.0)) for n in range(1, 21)]
    desk.inventory.report(lanes)
    page = by_token(desk, "viewer").get(f"/jobs/{call_of(1).job}").text
    assert len(numbers_of(page)) == 2 and "all lanes 2.00k" in page


def test_what_was_started_here_is_sampled_by_the_desk(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ioplan_lab import Job, JobNow

    one = JobNow(Job(id=call_of(1).job, plan="P", where="d1", calls=()), (running(0),))
    monkeypatch.setattr(type(desk.running), "now", lambda _: [one])
    desk.sample()
    desk.sample()
    (found,) = Samples(desk.database).of(call_of(1).job).values()
    assert [sample.iops for sample in found] == [1000.0]


def stored(desk: Desk, id: str, at: str, used: float, **more: object) -> None:
    drive = Drive(serial="SERIAL1", model="ACME 9100", firmware="2.1", lab_name="d1")
    one = session(id, started_at=at, drive=drive, host_name="h1", plan=f"plan {id}")
    desk.store.begin(one)
    log = {"percent_used": used, "critical_warning": 0, "media_errors": 0}
    worn = Telemetry(covered_s=1, intervals=1, smart_after=log)
    record, detail = run(1, session=id, telemetry=worn, **more)
    desk.store.add(record, detail)
    desk.store.finish(id, "ok", at)


def test_the_log_of_a_lane(desk: Desk) -> None:
    viewer, call = by_token(desk, "viewer"), call_of(1)
    stored(desk, call.session, "2026-11-20T05:00:00Z", 3.0)
    state = state_of(call, status="failed", runs=1, message=f"note: x\nerror: {EVIL}")
    desk.inventory.report([(call, state)])
    page = viewer.get(f"/jobs/{call.job}/log/{call.session}").text
    assert "error: " in page and "<script>alert" not in page
    assert re.search(r"demo.*IOPS", page), "the run, with its figure"
    assert viewer.get(f"/jobs/{call.job}/log/another").status_code == 404
    assert (
        f"/jobs/{call.job}/log/{call.session}"
        in viewer.get("/").text + viewer.get(f"/jobs/{call.job}").text
    )


def test_the_page_of_a_drive(desk: Desk) -> None:
    viewer = by_token(desk, "viewer")
    for day, used in ((20, 3.0), (21, 4.0), (22, 6.0)):
        stored(desk, f"202611{day}-050000-aaaa", f"2026-11-{day}T05:00:00Z", used)
    page = viewer.get("/drives/d1").text
    for text in ("ACME 9100", "SERIAL1", "2.1", "6 %", "/hosts/h1", "plan 20261121"):
        assert text in page
    (line,) = numbers_of(page)
    assert len(line) == 3 and line[2][1] < line[0][1], "worn more each day"
    assert viewer.get("/drives/SERIAL1").status_code == 200
    assert "Nothing has run on it" in viewer.get("/drives/d2").text
    assert viewer.get("/drives/d3").status_code == 404
    assert viewer.get(f"/drives/{EVIL}").status_code == 404
    assert "<form" not in page.split("Identity")[1].split("Sessions")[0].replace(
        '<form class="line"', ""
    ), "a viewer reserves nothing"


def test_a_drive_is_tagged_and_reserved_on_its_page(desk: Desk) -> None:
    operator = signed_in(desk, "operator")

    def sent(path: str, **fields: str) -> int:
        token = form_token(operator.get("/").text)
        return operator.post(path, data={"form_token": token, **fields}).status_code

    assert sent("/drives/d1/tags", add="qual gen5") == 303
    assert DriveTags(desk.database).all() == {"d1": ("gen5", "qual")}
    assert sent("/drives/d1/tags", remove="gen5") == 303
    assert sent("/drives/d1/tags", add=EVIL) == 400
    assert sent("/drives/d1/tags") == 400
    assert sent("/drives/unknown/tags", add="x") == 404
    reserved = {"drive": "d1", "since": "2099-01-01T00:00", "until": "2099-01-02T00:00"}
    assert sent("/reservations", **reserved, why="firmware") == 303
    page = operator.get("/drives/d1").text
    assert '<span class="tag">qual</span>' in page and "gen5" not in page
    assert "From 2099-01-01 00:00" in page and "firmware" in page
    assert ">qual</a>" in operator.get("/drives?text=qual").text
    assert "/drives/d2" not in operator.get("/drives?text=qual").text


@pytest.mark.parametrize("tag", ["", "a b", "-x", "x" * 33, "ä", "a'b", "tag:x"])
def test_no_other_word_is_a_tag(desk: Desk, tag: str) -> None:
    with pytest.raises(DeskError, match="no tag"):
        DriveTags(desk.database).change(["d1"], [tag])
    assert DriveTags(desk.database).all() == {}


def test_the_page_of_a_host(desk: Desk) -> None:
    viewer = by_token(desk, "viewer")
    desk.inventory.report([(call_of(1), running(0))])
    stored(desk, "20261120-050000-aaaa", "2026-11-20T05:00:00Z", 3.0)
    page = viewer.get("/hosts/h1").text
    for text in ("10.0.0.1", "/drives/d1", "/drives/d2", "random 4KiB", "busy"):
        assert text in page
    assert f"/jobs/{call_of(1).job}" in page and "plan 20261120" in page
    assert viewer.get("/hosts/h9").status_code == 404


def test_sessions_have_a_key_figure(desk: Desk) -> None:
    stored(desk, "20261120-050000-aaaa", "2026-11-20T05:00:00Z", 3.0)
    (row,) = desk.store.records("20261120-050000-aaaa")
    page = by_token(desk, "viewer").get("/sessions").text
    found = re.search(r'data-label="Most">([^<]+)<', page)
    assert found and row.total.iops > 0
    from ioplan import iops_text
    from ioplan.core.units import bytes_text

    moved = bytes_text(row.total.bandwidth_bytes_per_s)
    assert found[1] == f"{iops_text(row.total.iops)}, {moved}/s"
