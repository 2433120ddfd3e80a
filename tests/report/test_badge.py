"""A report's outcome as a badge."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest
from command import ioplan

HELD = "\n  expect errors == 0"
FAILS = "\n  expect p99 < 1ns"
OPEN = "\n  expect p99.9 < 1s"
SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.promise("verdicts.everywhere")
def test_a_badge_says_what_the_first_screen_says(
    tmp_path: Path, store_path: Path
) -> None:
    plan, out, colors = tmp_path / "a.ioplan", tmp_path / "badge.svg", set()
    for lines, text in (
        (HELD, "1 held, simulated"),
        (HELD + FAILS, "1 failed, 1 held, simulated"),
        (HELD + OPEN, "1 undecided, 1 held, simulated"),
        ("", "measured, simulated"),
    ):
        plan.write_text(f'test "A" {{\n  run random 4KiB 100/0 for 20ms{lines}\n}}\n')
        ioplan("run", plan, "--backend", "sim", "--create", "16MiB")
        done = ioplan("report", "last", "--badge", "-o", out)
        assert done.code == 0, done.err
        badge = ElementTree.parse(out).getroot()
        assert badge.get("aria-label") == f"ioplan: {text}"
        assert [one.text for one in badge.iter(f"{SVG}text")] == ["ioplan", text]
        colors.add([one.get("fill") for one in badge.iter(f"{SVG}rect")][1])
    assert len(colors) == 4, "each outcome has a colour of its own"


def test_a_badge_is_an_svg_alone() -> None:
    for words, said in (
        (("-o", "x.png"), "a badge is an SVG"),
        (("--chart", "x"), "choose"),
    ):
        done = ioplan("report", "last", "--badge", *words)
        assert done.code == 2 and said in done.err
