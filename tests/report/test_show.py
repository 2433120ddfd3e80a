"""`ioplan show` in a terminal: heatmaps and sparklines, in 80 columns."""

from __future__ import annotations

import io
import re
from pathlib import Path

import numpy as np
import pytest
from command import ioplan, plan_file
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from ioplan.core.units import iops_text
from ioplan.records.record import Interval, RunRecord
from ioplan.records.session import Session
from ioplan.report.document import FAILED, STATUS, Column, Frame, Picture
from ioplan.report.terminal.charts import drawn
from ioplan.report.terminal.heatmap import CIVIDIS
from ioplan.report.terminal.show import show_records
from ioplan.report.terminal.sparkline import BARS, WIDTH, sparkline
from ioplan.report.terminal.tables import session_table
from ioplan.report.verdicts import remarks, remarks_of
from ioplan.store.store import Store

TWO = """test "Two axes" {
  run random 4KiB 100/0, qd 4 for 1s
  vary qd in 1, 2, 16
  vary size in 4KiB, 64KiB, 8KiB
}
"""


def shown(folder: Path, text: str) -> str:
    done = ioplan("run", plan_file(folder, text), "--backend", "sim", "--quiet")
    assert done.code == 0, done.err
    found = ioplan("show").out
    assert max(map(len, found.splitlines()[1:])) <= 80
    assert "\x1b" not in found
    return found


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


def heatmap(cells: dict[tuple[str, str], float | None], unit: str = "1/s") -> Picture:
    """Values by their place across and down; one without a value has failed."""
    across, down = (tuple(dict.fromkeys(place[n] for place in cells)) for n in (0, 1))
    columns = (
        Column("x", "queue depth", "text", across),
        Column("row", "name", "text", down),
        Column("y", "IOPS", unit),
        STATUS,
    )
    rows = [(*p, v, "failed" if v is None else "ok") for p, v in cells.items()]
    frame = Frame(columns, rows)
    return Picture("heatmap", "IOPS", "", frame, "x", "row")


def rendered(picture: Picture, terminal: bool, width: int = 80) -> str:
    out = io.StringIO()
    color = "truecolor" if terminal else None
    console = Console(
        file=out,
        width=width,
        force_terminal=terminal,
        color_system=color,  # type: ignore[arg-type]
    )
    for part in drawn(picture, console):
        console.print(part)
    return out.getvalue()


# heatmaps


def test_two_axes_are_a_heatmap(tmp_path: Path, store_path: Path) -> None:
    """Values in numeric order on both axes, upwards as in the page."""
    found = shown(tmp_path, TWO.replace("\n}", "\n  chart heatmap iops by size, qd\n}"))
    lines = found[found.index("IOPS by block size and queue depth") :].splitlines()
    assert lines[2].strip() == "block size →"
    heads = re.split(r" {2,}", lines[3].strip())
    assert heads == ["queue depth ↓", "4KiB", "8KiB", "64KiB"]
    assert [line.split()[0] for line in lines[5:8]] == ["16", "2", "1"]
    table = ioplan("export", "--format", "jsonl").lines
    cells = {
        (r["asked"]["cell"]["qd"], r["asked"]["cell"]["size"]): r["total"]["iops"]
        for r in table
    }
    for line in lines[5:8]:
        qd, *texts = line.split()
        for size, text in zip(("4KiB", "8KiB", "64KiB"), texts, strict=True):
            iops = float(text.rstrip("k")) * (1000 if "k" in text else 1)
            assert iops == pytest.approx(cells[qd, size], rel=0.006)


def test_each_metric_has_its_heatmap(tmp_path: Path, store_path: Path) -> None:
    chart = "chart heatmap read.p99, bandwidth by qd, size"
    found = shown(tmp_path, TWO.replace("\n}", f"\n  {chart}\n}}"))
    assert "Read p99 latency by queue depth and block size" in found
    title = "Throughput by queue depth and block size, MB/s"
    assert "MB/s" not in found[found.index(title) + len(title) :]


def test_what_was_left_out_is_empty(tmp_path: Path, store_path: Path) -> None:
    skip = "skip when qd == 2 and size == 8KiB\n  chart heatmap iops by size, qd"
    found = shown(tmp_path, TWO.replace("\n}", f"\n  {skip}\n}}"))
    after = found[found.index("IOPS by block size and queue depth") :].splitlines()
    assert [len(line.split()) for line in after[5:8]] == [4, 3, 4]


def test_a_condition_leaves_cells_out(tmp_path: Path, store_path: Path) -> None:
    """What `when` excludes is in no figure of the chart."""
    chart = "chart bars iops by qd when size == 8KiB"
    found = shown(tmp_path, TWO.replace("\n}", f"\n  {chart}\n}}"))
    lines = found[found.index("IOPS by queue depth (size == 8KiB)") :].splitlines()[1:]
    cells = {
        r["asked"]["cell"]["qd"]: r["total"]["iops"]
        for r in ioplan("export", "--format", "jsonl").lines
        if r["asked"]["cell"]["size"] == "8KiB"
    }
    bars = {line.split()[0]: line.split()[-1] for line in lines if "█" in line}
    assert bars == {qd: iops_text(iops) for qd, iops in cells.items()}


def test_one_that_is_too_wide_is_turned() -> None:
    """Twenty columns have no room; as twenty rows they have."""
    cells = {(f"{n}", name): float(n) for n in range(1, 21) for name in ("a", "b")}
    found = rendered(heatmap(cells), False).splitlines()
    assert ("name →" in found[3], "queue depth ↓" in found[4]) == (True, True)
    assert [line.split()[0] for line in found[6:26]] == [
        str(n) for n in range(20, 0, -1)
    ]


def test_one_that_has_no_room_at_all_goes_on_below() -> None:
    places = [(n, m) for n in range(15) for m in range(14)]
    cells = {(f"{n}", f"row{m}"): 1000.0 * (20 * n + m) for n, m in places}
    lines = rendered(heatmap(cells), False).splitlines()
    assert max(map(len, lines)) <= 80
    heads = [line.split()[2:] for line in lines if "name ↓" in line]
    assert len(heads) > 1
    assert [name for head in heads for name in head] == [str(n) for n in range(15)]
    rows = [line.split()[1:] for line in lines if line.split()[:1] == ["row13"]]
    texts = [iops_text(1000.0 * (20 * n + 13)) for n in range(15)]
    assert [text for row in rows for text in row] == texts


def test_colours_are_in_a_terminal_only() -> None:
    values = {("1", "a"): 1.0, ("2", "a"): 50.0, ("1", "b"): 100.0, ("2", "b"): None}
    styled = rendered(heatmap(values), True)
    for color in (CIVIDIS[0], CIVIDIS[-1]):
        assert "48;2;{};{};{}".format(*color) in styled
    bare = rendered(heatmap(values), False)
    assert "\x1b" not in bare and FAILED in bare
    assert [
        line.rstrip() for line in re.sub(r"\x1b\[[0-9;]*m", "", styled).splitlines()
    ] == [line.rstrip() for line in bare.splitlines()]


def luminance(rgb: tuple[float, ...]) -> float:
    """Relative luminance as WCAG 2 defines it."""
    parts = [
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4
        for c in (part / 255 for part in rgb)
    ]
    return float(np.dot(parts, (0.2126, 0.7152, 0.0722)))


@given(st.floats(0, 1))
def test_letters_can_be_read_on_every_colour(share: float) -> None:
    """A contrast of 4.5 is what WCAG asks of text; brighter is more, for any eye."""
    values = {("1", "a"): 0.0, ("2", "a"): share, ("3", "a"): 1.0}
    styled = rendered(heatmap(values, ""), True)
    found = re.findall(r"\x1b\[38;2;(\d+);\d+;\d+;48;2;(\d+);(\d+);(\d+)m", styled)
    assert len(found) == 3
    for letters, *rgb in found:
        ground = luminance(tuple(map(float, rgb)))
        text = 0.0 if letters == "0" else 1.0
        high, low = max(ground, text) + 0.05, min(ground, text) + 0.05
        assert high / low >= 4.5
    grounds = [luminance(tuple(map(float, rgb))) for _, *rgb in found]
    assert grounds[0] <= grounds[1] + 1e-9 and grounds[1] <= grounds[2] + 1e-9


# sparklines


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


# sessions


@pytest.mark.parametrize("width", [80, 100])
def test_a_session_can_be_copied_from_the_list(width: int) -> None:
    session = Session(
        plan="PTS IOPS, short, with a title that does not fit at all",
        started_at="2026-11-21T05:45:12Z",
        backend="io_uring",
        target="/tmp/a/folder/with/a/long/name/and/then/scratch.bin",
        status="interrupted",
    )
    console = Console(file=io.StringIO(), width=width)
    console.print(session_table([(session, 12345)]))
    assert isinstance(console.file, io.StringIO)
    (row,) = [line for line in console.file.getvalue().splitlines() if "PTS" in line]
    assert session.id in row and "12345" in row and "interrupted" in row


# what went wrong

BUSY = "stream main: other programs had its CPU for {} % of the time (167 preemptions)"


@pytest.fixture
def three(tmp_path: Path, store_path: Path) -> list[RunRecord]:
    """The runs of a test with three cells."""
    text = 'test "T" { run random 4KiB 100/0 for 1s vary qd in 1, 2, 4 }'
    shown(tmp_path, text)
    with Store.open(store_path) as store:
        return list(store.records(store.session("last").id))


def printed(records: list[RunRecord], store_path: Path) -> str:
    console = Console(file=io.StringIO(), width=80)
    with Store.open(store_path) as store:
        show_records(console, store, records)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


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
