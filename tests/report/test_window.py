"""The measurement window in SNIA's form, and what stands on printed sheets."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from command import ioplan
from figures import run

from ioplan.records import Steady
from ioplan.results.store import Store

VALUES = (100.0, 110.0, 105.0, 115.0, 120.0)
"""On a line of slope 4.5 through 110 in the middle, but for what is left."""


def steady(store: Store) -> None:
    """Rounds 3 to 7 are the window."""
    for number in range(1, 8):
        last = VALUES[: max(1, number - 2)]
        found = Steady(
            metric="iops",
            unit="1/s",
            values=VALUES if number == 7 else last,
            mean=110.0,
            slope=4.5,
            range_percent=18.2,
            slope_percent=16.4,
            range_limit_percent=20.0,
            slope_limit_percent=10.0,
            window=5,
            reached=number == 7,
            why="" if number == 7 else "too few",
        )
        store.add(*run(number, round=number, cell={}, steady=found))


def reported(folder: Path, *words: str) -> str:
    out = folder / "report.html"
    store = ("--store", folder / "results.db")
    assert ioplan("report", *store, "-o", out, *words).code == 0
    return out.read_text()


def test_the_window_is_a_table_with_the_equation_of_its_line(
    store: Store, tmp_path: Path
) -> None:
    steady(store)
    text = reported(tmp_path)
    rows = re.findall(r"<tr>(.*?)</tr>", text, re.DOTALL)
    cells = [re.findall(r"<t[hd][^>]*>([^<]*)</t[hd]>", row) for row in rows]
    at = cells.index(["round", "IOPS", "fit", "from mean"])
    assert [row[0] for row in cells[at + 1 : at + 6]] == ["3", "4", "5", "6", "7"]
    assert cells[at + 1][2] == "101"
    assert cells[at + 5][1:] == ["120", "119", "+9.09 %"]
    assert text.count("IOPS = 4.5 x round + 87.5 IOPS") == 1
    assert "mean 110 IOPS; permitted range 99 to 121 IOPS" in text


def test_a_sheet_names_plan_and_sponsor_whatever_is_in_them(
    store: Store, tmp_path: Path
) -> None:
    """No text leaves its string of CSS, or the style."""
    steady(store)
    text = reported(tmp_path, "--sponsor", 'A"; } </style><script>', "--vendor", "V")
    style = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    assert len(style) == 1
    (right,) = re.findall(r'@top-right \{ content: "([^"]*)"', style[0])
    assert re.sub(r"\\([0-9a-f]+) ", lambda m: chr(int(m[1], 16)), right) == (
        'Test sponsor: A"; } </style><script>, Vendor: V'
    )
    assert "<dt>Vendor</dt><dd>V</dd>" in text


def test_without_a_browser_it_says_what_to_install(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steady(store)
    monkeypatch.setenv("PATH", str(tmp_path))
    out = tmp_path / "x.svg"
    done = ioplan(
        "report",
        "--chart",
        "IOPS over time",
        "-o",
        out,
        "--store",
        tmp_path / "results.db",
    )
    assert done.code == 2
    assert "apt install chromium" in " ".join(done.err.split())
    assert not out.exists()
