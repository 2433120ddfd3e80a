"""Jobs with charts that grow, the log of a lane, and the pages of drives and hosts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from desks import by_token, call_of, desk_in, sent, signed_in, state_of, stored

from ioplan import iops_text
from ioplan.records import Drive
from ioplan_lab import Desk, Job, JobNow, LaneState

JOB = call_of(1).job
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


def charts(desk: Desk) -> list[list[tuple[float, float]]]:
    """The lines of the job: IOPS of each lane, then p99 of each."""
    return numbers_of(by_token(desk, "viewer").get(f"/jobs/{JOB}/now").text)


def test_a_job_has_charts_that_grow_without_a_reload(desk: Desk) -> None:
    viewer = by_token(desk, "viewer")
    assert viewer.get(f"/jobs/{JOB}").status_code == 404
    for at, iops in ((0, 0.0), (2, 1000.0), (2, 7.0), (4, 500.0)):
        both = [(call_of(n), running(at, n, iops)) for n in (1, 2)]
        desk.inventory.report(both)
    page = viewer.get(f"/jobs/{JOB}").text
    assert f'data-refresh="/jobs/{JOB}/now"' in page
    assert 'aria-label="IOPS, now: d1 500' in page
    lines = charts(desk)
    assert [len(one) for one in lines] == [3] * 4, "what is told twice is seen once"
    first, second, third = lines[0]
    assert (first[0], second[0], third[0]) == (64.0, 352.0, 640.0)
    assert first[1] > third[1] > second[1]
    assert third[1] == pytest.approx((first[1] + second[1]) / 2)
    for at in (60, 62):
        desk.inventory.report([(call_of(1), running(at))])
    assert [len(one) for one in charts(desk)] == [3, 2, 3, 3, 2, 3], "a gap is one"
    ended = [(one, state_of(one, status="ok")) for one in (call_of(1), call_of(2))]
    desk.inventory.report(ended)
    page = viewer.get(f"/jobs/{JOB}").text
    assert "data-refresh" not in page and len(numbers_of(page)) == 6


def test_long_jobs_are_thinned_and_many_lanes_are_drawn_together(desk: Desk) -> None:
    for at in range(0, 4000, 10):
        desk.inventory.report([(call_of(1), running(at, iops=float(at)))])
    (line, p99) = charts(desk)
    assert 200 < len(line) < 260 and p99[-1][1] <= p99[0][1]
    calls = [call_of(n, job="20261125-130000-abcdef") for n in range(1, 21)]
    now = {"status": "running", "iops": 100.0, "p99_ns": 1.0, "at_s": BEGAN_S}
    desk.inventory.report([(one, state_of(one, **now)) for one in calls])
    page = by_token(desk, "viewer").get(f"/jobs/{calls[0].job}").text
    assert len(numbers_of(page)) == 2 and "all lanes 2.00k" in page


def test_what_was_started_here_is_sampled_by_the_desk(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    lane = running(0)
    one = JobNow(Job(id=JOB, plan="P", where="d1", calls=()), (lane,))
    with monkeypatch.context() as patch:
        patch.setattr(type(desk.running), "now", lambda _: [one])
        desk.sample()
        desk.sample()
    desk.inventory.report([(call_of(1), running(2))])
    assert [len(one) for one in charts(desk)] == [2, 2]


DRIVE = Drive(serial="SERIAL1", model="ACME 9100", firmware="2.1", lab_name="d1")


def worn(desk: Desk, id: str, at: str, used: float) -> None:
    log = {"percent_used": used, "critical_warning": 0, "media_errors": 0}
    stored(desk, id, at, DRIVE, log, host_name="h1", plan=f"plan {id}")


def test_the_log_of_a_lane(desk: Desk) -> None:
    viewer, call = by_token(desk, "viewer"), call_of(1)
    worn(desk, call.session, "2026-11-20T05:00:00Z", 3.0)
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
        worn(desk, f"202611{day}-050000-aaaa", f"2026-11-{day}T05:00:00Z", used)
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

    def code(path: str, **fields: str) -> int:
        return int(sent(operator, path, **fields).status_code)

    assert code("/drives/d1/tags", add="qual gen5") == 303
    assert '<span class="tag">gen5</span>' in operator.get("/drives/d1").text
    assert code("/drives/d1/tags", remove="gen5") == 303
    for wrong in (EVIL, "-x", "x" * 33, "ä", "a'b", "tag:x"):
        assert code("/drives/d1/tags", add=wrong) == 400, wrong
    assert code("/drives/d1/tags") == 400
    assert code("/drives/unknown/tags", add="x") == 404
    reserved = {"drive": "d1", "since": "2099-01-01T00:00", "until": "2099-01-02T00:00"}
    assert code("/reservations", **reserved, why="firmware") == 303
    page = operator.get("/drives/d1").text
    assert page.count('<span class="tag">') == 1 and "gen5" not in page
    assert "From 2099-01-01 00:00" in page and "firmware" in page
    assert ">qual</a>" in operator.get("/drives?text=qual").text
    assert "/drives/d2" not in operator.get("/drives?text=qual").text


def test_the_page_of_a_host(desk: Desk) -> None:
    viewer = by_token(desk, "viewer")
    desk.inventory.report([(call_of(1), running(0))])
    worn(desk, "20261120-050000-aaaa", "2026-11-20T05:00:00Z", 3.0)
    page = viewer.get("/hosts/h1").text
    for text in ("10.0.0.1", "/drives/d1", "/drives/d2", "random 4KiB", "busy"):
        assert text in page
    assert f"/jobs/{call_of(1).job}" in page and "plan 20261120" in page
    assert viewer.get("/hosts/h9").status_code == 404
    (row,) = desk.store.records("20261120-050000-aaaa")
    page = viewer.get("/sessions").text
    assert f'data-label="Most">{iops_text(row.total.iops)}, ' in page
