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

from ioplan.language.metric import Metric
from ioplan.records.record import Interval, RunRecord
from ioplan.records.session import Session
from ioplan.report.terminal.charts import CIVIDIS, Heat, heat_table
from ioplan.report.terminal.show import BARS, WIDTH, show_records, sparkline
from ioplan.report.terminal.tables import session_table
from ioplan.report.verdicts import remarks, remarks_of
from ioplan.store.store import Store

TWO = """test "Two axes" {
  run random 4KiB 100/0, qd 4 for 1s
  vary qd in 1, 2, 16
  vary size in 4KiB, 64KiB, 8KiB
}
"""
IOPS = Metric(name="iops")


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


def rendered(heat: Heat, terminal: bool) -> str:
    out = io.StringIO()
    color = "truecolor" if terminal else None
    Console(file=out, width=80, force_terminal=terminal, color_system=color).print(  # type: ignore[arg-type]
        heat_table(heat)
    )
    return out.getvalue()


# heatmaps


def test_two_axes_are_a_heatmap(tmp_path: Path, store_path: Path) -> None:
    """Values in numeric order on both axes, whatever the plan's order."""
    found = shown(tmp_path, TWO)
    lines = found[found.index("iops by size and qd") :].splitlines()
    assert re.split(r" {2,}", lines[2].strip()) == [
        "qd \\ size",
        "4KiB",
        "8KiB",
        "64KiB",
    ]
    assert [line.split()[0] for line in lines[4:7]] == ["1", "2", "16"]
    table = ioplan("export", "--format", "jsonl").lines
    cells = {
        (r["asked"]["cell"]["qd"], r["asked"]["cell"]["size"]): r["total"]["iops"]
        for r in table
    }
    for line in lines[4:7]:
        qd, *texts = line.split()
        for size, text in zip(("4KiB", "8KiB", "64KiB"), texts, strict=True):
            iops = float(text.rstrip("k")) * (1000 if "k" in text else 1)
            assert iops == pytest.approx(cells[qd, size], rel=0.006)


def test_a_plan_chooses_its_heatmap(tmp_path: Path, store_path: Path) -> None:
    text = TWO.replace("\n}", "\n  chart heatmap read.p99 by qd, size\n}")
    found = shown(tmp_path, text)
    assert "read.p99 by qd and size" in found and "iops by" not in found
    bandwidth = shown(tmp_path, text.replace("read.p99", "bandwidth"))
    after = bandwidth[bandwidth.index("bandwidth in MB/s by qd and size") :]
    assert "MB/s" not in after.partition("\n")[2]


def test_what_was_left_out_is_empty(tmp_path: Path, store_path: Path) -> None:
    found = shown(
        tmp_path, TWO.replace("\n}", "\n  skip when qd == 2 and size == 8KiB\n}")
    )
    after = found[found.index("iops by size and qd") :].splitlines()
    assert [len(line.split()) for line in after[4:7]] == [4, 3, 4]


def test_one_that_is_too_wide_is_turned(tmp_path: Path, store_path: Path) -> None:
    wide = TWO.replace("in 1, 2, 16", "in 1..20 step 1").replace(
        ", 64KiB, 8KiB", ", 8KiB"
    )
    found = shown(
        tmp_path, wide.replace("\n}", "\n  chart heatmap iops by qd, size\n}")
    )
    assert "iops by size and qd" in found


def test_lines_where_no_table_has_room(tmp_path: Path, store_path: Path) -> None:
    wide = TWO.replace("in 1, 2, 16", "in 1..13 step 1")
    sizes = ", ".join(f"{4 * n}KiB" for n in range(1, 14))
    found = shown(tmp_path, re.sub(r"size in .*", f"size in {sizes}", wide))
    assert "iops by size per qd" in found


def test_colours_are_in_a_terminal_only() -> None:
    values = {("1", "a"): 1.0, ("2", "a"): 50.0, ("1", "b"): 100.0, ("2", "b"): None}
    heat = Heat(IOPS, ("qd", "name"), values)
    styled = rendered(heat, True)
    for color in (CIVIDIS[0], CIVIDIS[-1]):
        assert "48;2;{};{};{}".format(*color) in styled
    bare = rendered(heat, False)
    assert "\x1b" not in bare and "–" in bare
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
    styled = rendered(Heat(IOPS, ("x", "y"), values), True)
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
    assert " ! " in found and "! failed or stopped: the figures" in found
    assert "!" not in printed(three, store_path)


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
