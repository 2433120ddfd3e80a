"""The page of a drive: its sessions, wear and place are those of the store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from command import ioplan
from run_data import record

from ioplan.cli.commands.ls import listed
from ioplan.cli.commands.report import drive_page
from ioplan.records.telemetry import Telemetry
from ioplan.results.history.drive_page import _wear_table, smart_at_end
from ioplan.results.report.document import Document
from ioplan.results.report.headlines.headlines import by_test
from ioplan.results.store.overview import SessionFilter, SessionOverview
from ioplan.results.store.store import Store

pytestmark = pytest.mark.slow
PLAN = """plan "Depths"
test "mix" {
  run  random 4KiB 70/30 for 500ms
  vary qd in 1, 16
}
"""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """Two sessions of a drive, one of another, one of a file without a label."""
    folder = tmp_path_factory.mktemp("drives")
    plan = folder / "p.ioplan"
    plan.write_text(PLAN)
    where = ("--store", folder / "s.db", "-q")
    for name, size in (("a", "64MiB"), ("a", "64MiB"), ("b", "128MiB")):
        sim = ("--backend", "sim", "--target", f"sim:{name}", "--create", size)
        done = ioplan("run", plan, *sim, *where)
        assert done.code == 0, done.err
    with Store.open(folder / "s.db") as opened:
        yield opened


def told(**more: Any) -> Telemetry:
    return Telemetry(covered_s=1.0, intervals=1, **more)


def of_drive(store: Store) -> tuple[list[SessionOverview], Document]:
    every = listed(store, SessionFilter())
    names = [one.drive_name for one in every]
    name = max(names, key=names.count)
    own = [one for one in every if one.drive_name == name]
    return own, drive_page(store, name)


def rows(found: Document, title: str) -> list[dict[str, object]]:
    (section,) = (one for one in found.sections if one.title.startswith(title))
    return list(section.runs.records())


@pytest.mark.long
def test_it_has_all_sessions_of_the_drive_and_no_other(store: Store) -> None:
    own, found = of_drive(store)
    assert len(own) == 2
    assert [row["session"] for row in rows(found, "Sessions")] == [o.id for o in own]
    assert found.simulated == "SIMULATED"
    assert found.verdict.sentence.startswith("2 sessions, 0 with a failed")
    assert "1 other drive ran Depths" in found.verdict.sentence


def test_its_wear_is_what_the_records_have(store: Store) -> None:
    own, found = of_drive(store)
    for row, one in zip(rows(found, "Wear"), own, strict=True):
        wear = [run.wear for run in store.records(one.id) if run.wear]
        host = sum(each.host_written_bytes for each in wear)
        assert row["host"] == host > 0
        media = sum(each.media_written_bytes or 0 for each in wear)
        assert row["waf"] == pytest.approx(media / host)


def test_its_health_is_that_of_the_last_log(store: Store) -> None:
    """The newest log of a session; a drive without one has no such column."""
    logs: list[dict[str, float]] = [{"percent_used": 3}, {"percent_used": 4}, {}]
    runs = [
        record(n, telemetry=told(smart_after=log, temperature_max_celsius=40 + n))
        for n, log in enumerate(logs, 1)
    ]
    assert smart_at_end(runs) == {"percent_used": 4}
    assert smart_at_end([record(9)]) == {}
    (one,) = listed(store, SessionFilter())[:1]
    frame = _wear_table([one], [runs])
    (row,) = frame.records()
    assert (row["percent_used"], row["hottest"]) == (4, 43)
    assert "media_errors" not in row


def test_its_place_is_that_of_its_figures(store: Store) -> None:
    own, found = of_drive(store)
    other = next(
        one
        for one in listed(store, SessionFilter())
        if one.id not in {o.id for o in own}
    )
    mine, theirs = (
        by_test(store, list(store.records(one.id)))["mix"] for one in (own[0], other)
    )
    places = rows(found, "Place in the fleet: Depths")
    assert len(places) == len(mine) > 2
    for row, one, another in zip(places, mine, theirs, strict=True):
        assert one.value and another.value
        ahead = another.value > one.value
        if not one.more_is_better:
            ahead = another.value < one.value
        assert row["rank"] == f"{1 + ahead} of 2"
        assert row["mine"] == one.figure


def test_its_history_is_of_its_sessions_only(store: Store) -> None:
    own, found = of_drive(store)
    pictures = [one for section in found.sections for one in section.pictures]
    assert pictures
    ids = {row["session"] for one in pictures for row in one.frame.records()}
    assert ids == {one.id for one in own}


def test_what_is_no_drive_is_refused(store: Store, tmp_path: Path) -> None:
    where = ("--store", store.where, "-o", tmp_path / "d.html")
    none = ioplan("report", "--drive", "nothing", *where)
    assert none.code == 2 and "'nothing'" in none.err
    several = ioplan("report", "--drive", "SIM*", *where)
    assert several.code == 2 and "name one of them" in several.err
    both = ioplan("report", "last", "--drive", "x", *where)
    assert both.code == 2 and "name no other" in both.err
    assert not (tmp_path / "d.html").exists()
