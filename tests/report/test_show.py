"""`ioplan show` in a terminal: tables, sparklines, and what went wrong."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from run_data import measurement, overview, record, session
from shown import shown

from ioplan import latency_text
from ioplan.cli import LiveLines, Terminal
from ioplan.core.text import aligned
from ioplan.records import Interval, RunRecord
from ioplan.results.report import FAILED, session_lines, session_sections, show_records
from ioplan.results.report.terminal.density import BARS, WIDTH, sparkline
from ioplan.results.report.terminal.tables import MOST_CELLS
from ioplan.results.report.verdicts import remarks, remarks_of
from ioplan.results.store import Store

BUSY = "stream main: the load generator waited for a CPU {} % of the time"


def point(ios: int) -> Interval:
    return Interval(
        t_s=1.0,
        length_s=1.0,
        ios={"read": ios},
        bytes={},
        errors=0,
        mean_ns=None,
        p50_ns=None,
        p99_ns=None,
        p99_9_ns=None,
        max_ns=0,
    )


def test_sparklines_begin_at_nothing() -> None:
    assert sparkline([point(100)] * 4) == "████"
    assert sparkline([point(n) for n in (0, 1, 50, 100)]) == " ▁▄█"
    assert sparkline([point(100)] * 2) == "" and sparkline([point(0)] * 9) == ""
    cliff = sparkline([point(1000)] * 40 + [point(250)] * 40)
    assert cliff == "████▂▂▂▂"


@given(st.lists(st.integers(0, 10**6), min_size=3, max_size=300))
def test_any_series_is_a_few_characters(ios: list[int]) -> None:
    found = sparkline([point(n) for n in ios])
    if any(ios):
        assert len(found) == min(WIDTH, len(ios)) and set(found) <= set(BARS)
        assert BARS[-1] in found


def test_each_row_has_its_series(tmp_path: Path, store_path: Path) -> None:
    found = shown(tmp_path, 'test "T" { run random 4KiB 100/0 for 2s vary qd in 1, 2 }')
    assert found.count("█" * WIDTH) == 2 and "in time" in found


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


@pytest.fixture
def three(tmp_path: Path, store_path: Path) -> list[RunRecord]:
    """The runs of a test with three cells."""
    text = 'test "T" { run random 4KiB 100/0 for 1s vary qd in 1, 2, 4 }'
    shown(tmp_path, text)
    with Store.open(store_path) as store:
        return list(store.records(store.session("last").id))


def printed(records: list[RunRecord], store_path: Path, width: int = 80) -> str:
    console = Console(file=io.StringIO(), width=width)
    with Store.open(store_path) as store:
        show_records(console, store, store.session("last"), records)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


@pytest.mark.parametrize(
    ("width", "lacking"),
    [(200, ()), (80, ()), (60, ("max",)), (45, ("max", "p99.9", "MB/s"))],
)
def test_a_narrow_table_leaves_figures_out_and_breaks_no_word(
    tmp_path: Path, store_path: Path, width: int, lacking: tuple[str, ...]
) -> None:
    text = 'test "T" { run random 4KiB for 1s vary qd in 1, 64 vary read in 70%, 100% }'
    shown(tmp_path, text)
    with Store.open(store_path) as store:
        records = list(store.records(store.session("last").id))
    lines = printed(records, store_path, width).splitlines()
    assert max(map(len, lines)) <= width
    head = next(line.split() for line in lines if "IOPS" in line and "qd" in line)
    wanted = ["qd", "read", "scope", "IOPS", "MB/s", "mean", "p99", "p99.9", "max"]
    assert [word for word in head if word in wanted] == [
        word for word in wanted if word not in lacking
    ]
    assert {"100%", "70%"} <= {word for line in lines for word in line.split()}


def test_the_line_of_what_runs_keeps_its_figures() -> None:
    """A long step is cut, not the figures behind it."""
    for width in (60, 80, 200):
        terminal = Terminal(file=io.StringIO(), width=width)
        lines = LiveLines(terminal)
        lines.text = "12  a_name_of_a_step qd=64 threads=16 read=70% size=128KiB"
        found = lines._line(point(1000), warmup=False).plain
        assert len(found) <= width and found.endswith("1.00k IOPS  0 MB/s  p99 –")
        assert ("…" in found) == (width < 90)


def test_warnings_of_one_kind_are_one_line_with_the_worst(
    three: list[RunRecord], store_path: Path
) -> None:
    shares = (46, 50.5, 9)
    changed = [
        record.model_copy(update={"warnings": (BUSY.format(share),)})
        for record, share in zip(three, shares, strict=True)
    ]
    found = " ".join(printed(changed, store_path).split())
    assert found.count("warning") == 1
    assert f"warning in 3 of 3 runs, worst at qd=2: {BUSY.format(50.5)}" in found


def test_a_warning_names_its_cell(three: list[RunRecord], store_path: Path) -> None:
    update = {
        "warnings": ("hot",),
        "asked": three[1].asked.model_copy(update={"round": 2}),
    }
    changed = [three[0], three[1].model_copy(update=update)]
    assert "warning at qd=2 round 2: hot" in printed(changed, store_path)


def test_other_kinds_and_failures_stay_apart(three: list[RunRecord]) -> None:
    texts = ("hot", "lost 3 I/Os", "hot")
    found = remarks_of(
        [
            record.model_copy(
                update={
                    "warnings": (text,),
                    "status": "failed",
                    "message": f"EIO at {n}",
                }
            )
            for n, (record, text) in enumerate(zip(three, texts, strict=True))
        ]
    )
    assert list(map(str, found)) == [
        "failed at qd=1: EIO at 0",
        "warning in 2 of 3 runs: hot",
        "failed at qd=2: EIO at 1",
        "warning at qd=2: lost 3 I/Os",
        "failed at qd=4: EIO at 2",
    ]


def test_a_stopped_run_names_its_cell_and_the_mark_is_explained(
    three: list[RunRecord], store_path: Path
) -> None:
    update = {"status": "interrupted", "message": "stopped by the user"}
    found = printed([*three[:2], three[2].model_copy(update=update)], store_path)
    assert "interrupted at qd=4: stopped by the user" in found
    assert f" {FAILED} " in found
    assert f"{FAILED} failed or stopped: the figures are of what was done" in found
    assert FAILED not in printed(three, store_path)


def test_a_report_folds_them_alike(three: list[RunRecord]) -> None:
    """By session; of many sessions, over all of them."""
    hot = [r.model_copy(update={"warnings": (BUSY.format(r.seq),)}) for r in three]
    told = f"warning in 3 of 3 runs, worst at qd=4: {BUSY.format(hot[2].seq)}"
    assert [one.text for one in remarks({"a": hot})] == [told]
    assert [one.text for one in remarks({"a": hot, "b": hot})] == [
        f"a: {told}",
        f"b: {told}",
    ]
    many = {
        str(n): [r.model_copy(update={"session": str(n)}) for r in hot]
        for n in range(20)
    }
    (line,) = remarks(many)
    assert line.text.startswith("warning in 60 of 60 runs, worst at qd=4: stream main")


def test_points_of_a_column_stand_below_one_another() -> None:
    """Units that are set off stand in one column, too."""
    assert aligned(["13.3 µs", "136 µs", "1.31 ms", "–"]) == [
        " 13.3  µs",
        "136    µs",
        "  1.31 ms",
        "        –",
    ]
    assert aligned(["7.36k", "14.5k", "449k", "950"]) == [
        "  7.36k",
        " 14.5k ",
        "449k   ",
        "950    ",
    ]


@given(st.lists(st.floats(1, 1e9), min_size=1))
def test_aligned_figures_are_the_same_figures(values: list[float]) -> None:
    texts = [latency_text(value) for value in values]
    found = aligned(texts)
    assert [" ".join(text.split()) for text in found] == texts
    assert len(set(map(len, found))) == 1
    wholes = {re.search(r"\d(?=\D|$)", text).start() for text in found}  # type: ignore[union-attr]
    assert len(wholes) == 1


@pytest.mark.long
def test_the_table_has_the_first_cells_and_the_signs_of_those(store_path: Path) -> None:
    made = measurement()
    with Store.open(store_path) as store:
        store.begin(session())
        found = [
            record(seq, made=made, cell={"qd": str(seq)}, status=status)
            for seq, status in enumerate(["ok"] * MOST_CELLS + ["failed"], start=1)
        ]
        for one in found:
            store.add(one, made.detail)
        (short,) = session_sections(store, session(), found, None, MOST_CELLS)
        (whole,) = session_sections(store, session(), found, None)
    assert (len(short.points), len(whole.points)) == (MOST_CELLS + 1, MOST_CELLS + 1)
    assert list(short.runs.rows) == [
        (*row[:-2], row[-1]) for row in whole.runs.rows[: 3 * MOST_CELLS]
    ]
    assert whole.signs[0].startswith(FAILED) and not short.signs[0].startswith(FAILED)
    assert "and 1 cell more: ioplan export" in printed(found, store_path)
