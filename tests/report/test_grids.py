"""Heatmaps and tables in a terminal: in 80 columns, with colours that can be read."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from command import ioplan
from hypothesis import given
from hypothesis import strategies as st
from report_charts import printed
from shown import shown

from ioplan import iops_text
from ioplan.results.report import FAILED, ChartSpec, Column, Frame

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
        Column("status", "status"),
    )
    rows = [(*p, v, "failed" if v is None else "ok") for p, v in cells.items()]
    frame = Frame(columns, rows)
    return ChartSpec("heatmap", "IOPS", "", frame, "x", "row")


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


def test_each_metric_has_its_heatmap_and_what_is_left_out_is_empty(
    tmp_path: Path, store_path: Path
) -> None:
    """What `when` excludes is in no figure of a chart."""
    lines = """
  skip when qd == 2 and size == 8KiB
  chart heatmap read.p99, bandwidth by qd, size
  chart heatmap iops by size, qd
  chart bars iops by qd when size == 64KiB
}"""
    found = shown(tmp_path, TWO.replace("\n}", lines))
    assert "Read p99 latency by queue depth and block size" in found
    _, after = found.split("Throughput by queue depth and block size, MB/s")
    grid, rest = after.split("IOPS by block size and queue depth")
    assert "MB/s" not in grid
    assert [len(line.split()) for line in rest.splitlines()[5:8]] == [4, 3, 4]
    bars_of = rest[rest.index("IOPS by queue depth (size == 64KiB)") :]
    cells = {
        r["asked"]["cell"]["qd"]: r["total"]["iops"]
        for r in ioplan("export", "--format", "jsonl").lines
        if r["asked"]["cell"]["size"] == "64KiB"
    }
    lines_of = (line.split() for line in bars_of.splitlines() if "█" in line)
    bars = {words[0]: words[-1] for words in lines_of}
    assert bars == {qd: iops_text(iops) for qd, iops in cells.items()}


def test_one_that_is_too_wide_is_turned() -> None:
    """Twenty columns have no room; as twenty rows they have."""
    cells = {(f"{n}", name): float(n) for n in range(1, 21) for name in ("a", "b")}
    found = printed(heatmap(cells)).splitlines()
    assert ("name →" in found[3], "queue depth ↓" in found[4]) == (True, True)
    assert [line.split()[0] for line in found[6:26]] == [
        str(n) for n in range(20, 0, -1)
    ]


def test_one_that_has_no_room_at_all_goes_on_below() -> None:
    places = [(n, m) for n in range(15) for m in range(14)]
    cells = {(f"{n}", f"row{m}"): 1000.0 * (20 * n + m) for n, m in places}
    lines = printed(heatmap(cells)).splitlines()
    assert max(map(len, lines)) <= 80
    heads = [line.split()[2:] for line in lines if "name ↓" in line]
    assert len(heads) > 1
    assert [name for head in heads for name in head] == [str(n) for n in range(15)]
    rows = [line.split()[1:] for line in lines if line.split()[:1] == ["row13"]]
    texts = [iops_text(1000.0 * (20 * n + 13)) for n in range(15)]
    assert [text for row in rows for text in row] == texts


def test_colours_are_in_a_terminal_only() -> None:
    values = {("1", "a"): 1.0, ("2", "a"): 50.0, ("1", "b"): 100.0, ("2", "b"): None}
    styled = printed(heatmap(values), colors="truecolor")
    assert len({*re.findall(r"48;2;\d+;\d+;\d+", styled)}) == 3
    bare = printed(heatmap(values))
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
    styled = printed(heatmap(values, ""), colors="truecolor")
    found = re.findall(r"\x1b\[38;2;(\d+);\d+;\d+;48;2;(\d+);(\d+);(\d+)m", styled)
    assert len(found) == 3
    for letters, *rgb in found:
        ground = luminance(tuple(map(float, rgb)))
        text = 0.0 if letters == "0" else 1.0
        high, low = max(ground, text) + 0.05, min(ground, text) + 0.05
        assert high / low >= 4.5
    grounds = [luminance(tuple(map(float, rgb))) for _, *rgb in found]
    assert grounds[0] <= grounds[1] + 1e-9 and grounds[1] <= grounds[2] + 1e-9
