"""What a seek found and tried, in the table, in charts, and as a curve of its probes."""

from __future__ import annotations

from pathlib import Path

import pytest
import scripted
from command import ioplan, plan_file

from ioplan.cli import plan_of
from ioplan.results.report import ChartSpec, Section, session_sections
from ioplan.results.store import Store

CELLS = """test "Capacity" {
  run  random 4KiB 100/0, qd 64 for 30s
  vary size in 4KiB, 16KiB
  seek highest rate in 1_000 iops..100_000 iops where p99 <= 1ms and errors == 0
}
"""
KNEE = """test "Knee" {
  run  random 4KiB 100/0, qd 8 for 30s
  seek knee rate in 1_000 iops..8_000 iops, within 50%
}
"""
COMMAND = ("--backend", "scripted", "--option", "target=cliff", "--option", "seed=1")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(str(scripted.install(tmp_path / "installed")))
    return tmp_path


def section(folder: Path, text: str) -> tuple[Section, str]:
    """A session on a target that bears 20 000 IOPS: as data, and as it is printed."""
    store = folder / "results.db"
    done = ioplan("run", plan_file(folder, text), *COMMAND, "--store", store)
    assert done.code == 0, done.err
    with Store.open(store) as opened:
        session = opened.session("last")
        records = list(opened.records(session.id))
        (found,) = session_sections(opened, session, records, plan_of(session))
    return found, done.out


def probes_of(section: Section) -> ChartSpec:
    (found,) = (one for one in section.pictures if one.kind == "probes")
    return found


@pytest.mark.long
def test_what_was_found_and_what_was_tried(folder: Path) -> None:
    found, printed = section(folder, CELLS)
    rows = list(found.runs.records())
    assert [(row["found"], row["found_no"]) for row in rows] == [(19_240, 20_200)] * 2
    titles = [one.title for one in found.pictures]
    assert titles[0] == "Rate by block size" and "IOPS by block size" not in titles
    assert "4KiB 19.2k 20.2k 19.2k" in " ".join(printed.split())

    picture = probes_of(found)
    assert picture.title == "Probes: p99 latency by rate, p99 <= 1ms"
    rows = list(picture.frame.records())
    answer = picture.channels.color
    for row in rows:
        yes = row["x"] < 20_000
        assert row[answer] == ("yes" if yes else "no")
        assert row["y"] == pytest.approx(500_000 if yes else 2_000_000, rel=0.01)
    assert len(rows) == sum("rate=" in line for line in printed.splitlines())
    assert picture.overlay
    assert {row["limit"] for row in picture.overlay.records()} == {1_000_000}
    assert picture.notes[0].startswith("size=4KiB: rate = 19_240 iops: no at 20_200")
    drawn = printed.partition(picture.title)[2]
    assert "a answer yes   b answer no" in drawn and "1 ms┤─" in drawn


def test_a_knee_has_no_limit_and_no_answers(folder: Path) -> None:
    picture = probes_of(section(folder, KNEE)[0])
    assert picture.title == "Probes: IOPS by rate"
    assert picture.overlay is None and not picture.channels.color
    assert [row["x"] for row in picture.frame.records()][-1] == 8_000
