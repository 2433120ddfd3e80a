"""A kind of chart is one entry of the language's table."""

from __future__ import annotations

from pathlib import Path

import pytest
from command import ioplan
from shown import shown
from written import hovered, offered

from ioplan.language.output_table import CHARTS, ChartKind
from ioplan.results.report import PICTURE_KINDS
from ioplan.results.report.charts.charts import RENDERERS
from ioplan.results.report.html.layers import MARKS

DOTS = ChartKind("dots", "a dot for each interval", "intervals", "scatter")
SQUARES = ChartKind(
    "squares", "a square a cell", "cells", "heatmap", ("size", "qd"), needs_axes=True
)
PLAN = """test "Of another kind" {{
  run random 4KiB 100/0, qd 4 for 3s
  vary qd in 1, 2
  vary size in 4KiB, 8KiB
  chart {}
}}
"""


@pytest.fixture
def kinds(monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in (DOTS, SQUARES):
        monkeypatch.setitem(CHARTS, kind.name, kind)


@pytest.mark.parametrize("name", CHARTS)
def test_what_an_entry_names_is_there(name: str) -> None:
    kind = CHARTS[name]
    assert kind.name == name
    assert kind.renderer in RENDERERS and kind.marks in PICTURE_KINDS


def test_no_renderer_and_no_marks_are_left_over() -> None:
    assert {kind.renderer for kind in CHARTS.values()} == {*RENDERERS}
    assert {*MARKS} == {*PICTURE_KINDS} - {"table"}


@pytest.mark.usefixtures("kinds")
def test_another_kind_is_drawn(tmp_path: Path, store_path: Path) -> None:
    """It looks as the kind whose renderer and marks it names."""
    for title, rest, words in (
        ("IOPS over time", "over time", ("dots", "scatter")),
        ("IOPS by block size and queue depth", "by size, qd", ("squares", "heatmap")),
    ):
        texts = [shown(tmp_path, PLAN.format(f"{one} iops {rest}")) for one in words]
        charts = [text[text.index(title) :] for text in texts]
        assert charts[0] == charts[1]
    page = tmp_path / "report.html"
    assert ioplan("report", "last", "-o", page).code == 0
    assert 'data-kind="heatmap"' in page.read_text()


@pytest.mark.usefixtures("kinds")
def test_another_kind_is_checked(tmp_path: Path) -> None:
    plan = tmp_path / "plan.ioplan"
    plan.write_text(PLAN.format("squares iops by size"))
    done = ioplan("check", plan)
    assert done.code == 2 and "a squares is drawn over two axes" in done.err
    assert "for example chart squares iops by size, qd" in done.err
    plan.write_text(PLAN.format("squares iops by size, qd"))
    assert ioplan("check", plan).code == 0
    plan.write_text(PLAN.format("circles iops by size"))
    assert "bands dots squares" in ioplan("check", plan).err


@pytest.mark.usefixtures("kinds")
def test_another_kind_is_offered_and_told() -> None:
    found = offered('test "T" { run random 4KiB for 1s\n  chart |')
    assert {"dots", "squares", *CHARTS} <= {*found}
    assert DOTS.meaning in hovered(
        'test "T" {\n run random 4KiB for 1s\n chart do|ts iops\n}'
    )
    assert DOTS.meaning in ioplan("explain", "dots").out
