"""Heatmaps and tables in a terminal: in 80 columns, with colours that can be read."""

from __future__ import annotations

import io
import re
from pathlib import Path

import numpy as np
import pytest
from command import ioplan
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from shown import shown

from ioplan import iops_text
from ioplan.results.report import FAILED, ChartSpec, Column, Frame, drawn
from ioplan.results.report.documents import STATUS
from ioplan.results.report.terminal.heatmap import CIVIDIS

TWO = """test "Two axes" {
  run random 4KiB 100/0, qd 4 for 1s
  vary qd in 1, 2, 16
  vary size in 4KiB, 64KiB, 8KiB
}
"""


def heatmap(cells: dict[tuple[str, str], float | None], unit: str = "1/s") -> ChartSpec:
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
    return ChartSpec("heatmap", "IOPS", "", frame, "x", "row")


def rendered(picture: ChartSpec, terminal: bool, width: int = 80) -> str:
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
    grid = found[found.index(title) + len(title) : found.index("Headlines ─")]
    assert "MB/s" not in grid


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
