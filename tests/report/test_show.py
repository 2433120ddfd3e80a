"""`ioplan show` in a terminal: tables, sparklines, and what went wrong."""

from __future__ import annotations

import io
import itertools
from collections.abc import Sequence
from pathlib import Path

import pytest
from figures import changed, interval, measurement, record
from report_charts import ID, composed
from rich.console import Console
from sessions import overview, put
from shown import shown

from ioplan.records import RunDetail, RunRecord
from ioplan.results.report import FAILED, session_lines, show_records
from ioplan.results.store import Store

BUSY = "stream main: the load generator waited for a CPU {} % of the time"


@pytest.fixture(scope="module")
def three() -> list[RunRecord]:
    """The runs of a test with three cells."""
    made = measurement()
    return [record(n, made, cell={"qd": str(2 ** (n - 1))}) for n in (1, 2, 3)]


def printed(store: Store, records: Sequence[RunRecord], width: int = 80) -> str:
    """As if these were the records of the session that is there."""
    there = {one.seq for one in store.records(ID)}
    for one in records:
        if one.seq not in there:
            store.add(one, RunDetail())
    out = io.StringIO()
    show_records(Console(file=out, width=width), store, store.session("last"), records)
    return out.getvalue()


def told(store: Store, records: Sequence[RunRecord]) -> str:
    """On one line."""
    return " ".join(printed(store, records).split())


@pytest.mark.parametrize(
    ("ios", "line"),
    [
        ([100] * 4, "████"),
        ([0, 1, 50, 100], " ▁▄█"),
        ([1000] * 40 + [250] * 40, "████▂▂▂▂"),
        ([100] * 2, ""),
        ([0] * 9, ""),
    ],
)
def test_each_row_has_its_series(store: Store, ios: list[int], line: str) -> None:
    """It begins at nothing, and is a few characters however long it is."""
    one = record(1, measurement(), cell={"qd": "1"})
    series = tuple(interval(n, some) for n, some in enumerate(ios, 1))
    store.add(one, RunDetail(series=series))
    text = printed(store, [one])
    assert line in text and ("in time" in text) == bool(line)
    assert bool(line) == ("█" in text)


@pytest.mark.long
def test_where_there_is_no_room_there_is_no_series(
    tmp_path: Path, store_path: Path
) -> None:
    text = """test "T" {
  run random 4KiB 70/30, qd 1 each for 1s
  vary qd in 1, 2
  vary size in 4KiB, 8KiB
  vary threads in 1, 2
  vary region in 0%..50%, 0%..100%
}"""
    found = shown(tmp_path, text)
    assert "in time" not in found and "…" not in found


@pytest.mark.parametrize("width", [80, 100])
def test_a_session_can_be_copied_from_the_list(width: int) -> None:
    found = overview(
        plan="PTS IOPS, short, with a title that does not fit at all",
        target="/tmp/a/folder/with/a/long/name/and/then/scratch.bin",
        status="interrupted",
        runs=12345,
    )
    _, row = session_lines([found], {}, width)
    assert found.id in row and "12345" in row and "interrupted" in row
    assert "scratch.bin" in row and len(row) <= width


@pytest.mark.parametrize(
    ("width", "lacking"),
    [(200, ()), (80, ()), (60, ("max",)), (45, ("max", "p99.9", "MB/s"))],
)
def test_a_narrow_table_leaves_figures_out_and_breaks_no_word(
    store: Store, width: int, lacking: tuple[str, ...]
) -> None:
    """And points of a column stand below one another."""
    made = [measurement(n, ios=20**n) for n in (1, 2, 3)]
    cells = [{"qd": str(n), "read": f"{n}0%"} for n in (1, 2, 3)]
    records = [record(n, m, cell=cells[n - 1]) for n, m in enumerate(made, 1)]
    lines = printed(store, records, width).splitlines()
    assert max(map(len, lines)) <= width
    at = next(n for n, line in enumerate(lines) if "IOPS" in line and "qd" in line)
    wanted = ["qd", "read", "scope", "IOPS", "MB/s", "mean", "p99", "p99.9", "max"]
    assert [word for word in lines[at].split() if word in wanted] == [
        word for word in wanted if word not in lacking
    ]
    assert {"10%", "30%"} <= {word for line in lines for word in line.split()}
    table = itertools.takewhile(str.strip, lines[at + 1 :])
    assert len({line.index("µs") for line in table if "µs" in line}) == 1


def test_warnings_of_one_kind_are_one_line_with_the_worst(
    store: Store, three: list[RunRecord]
) -> None:
    shares = (46, 50.5, 9)
    found = told(
        store,
        [
            changed(one, warnings=(BUSY.format(share),))
            for one, share in zip(three, shares, strict=True)
        ],
    )
    assert found.count("warning") == 1
    assert f"warning in 3 of 3 runs, worst at qd=2: {BUSY.format(50.5)}" in found


def test_a_warning_names_its_cell(store: Store, three: list[RunRecord]) -> None:
    hot = changed(three[1], warnings=("hot",), round=2)
    assert "warning at qd=2 round 2: hot" in printed(store, [three[0], hot])


def test_other_kinds_and_failures_stay_apart(
    store: Store, three: list[RunRecord]
) -> None:
    texts = ("hot", "lost 3 I/Os", "hot")
    found = printed(
        store,
        [
            changed(one, warnings=(text,), status="failed", message=f"EIO at {n}")
            for n, (one, text) in enumerate(zip(three, texts, strict=True))
        ],
    )
    lines = [line.strip() for line in found.splitlines()]
    assert [line for line in lines if line.startswith(("failed at", "warning"))] == [
        "failed at qd=1: EIO at 0",
        "warning in 2 of 3 runs: hot",
        "failed at qd=2: EIO at 1",
        "warning at qd=2: lost 3 I/Os",
        "failed at qd=4: EIO at 2",
    ]


def test_a_stopped_run_names_its_cell_and_the_mark_is_explained(
    store: Store, three: list[RunRecord]
) -> None:
    stopped = changed(three[2], status="interrupted", message="stopped by the user")
    found = printed(store, [*three[:2], stopped])
    assert "interrupted at qd=4: stopped by the user" in found
    assert f" {FAILED} " in found
    assert f"{FAILED} failed or stopped: the figures are of what was done" in found
    assert FAILED not in printed(store, three)


def test_a_report_folds_them_alike(tmp_path: Path, three: list[RunRecord]) -> None:
    """By session; of many sessions, over all of them."""
    hot = [changed(one, warnings=(BUSY.format(one.seq),)) for one in three]
    line = f"warning in 3 of 3 runs, worst at qd=4: {BUSY.format(3)}"
    with Store.open(tmp_path / "many.db") as store:
        ids = [put(store, *hot, id=f"20261122-054512-a{n:03}") for n in range(20)]
        (one,), (two,), (many,) = (
            composed(store, *some).sections for some in (ids[:1], ids[:2], ids)
        )
    assert line in [found.text for found in one.remarks]
    assert [found.text.partition(": ")[2] for found in two.remarks].count(line) == 2
    (whole,) = [found for found in many.remarks if "warning" in found.text]
    assert whole.text.startswith("warning in 60 of 60 runs, worst at qd=4: stream main")
