"""docs/performance.md has the rows that the benchmarks printed."""

from __future__ import annotations

import re
import sys
from types import ModuleType

import pytest
from generated import check_part
from paths import ROOT

FOLDER = ROOT / "tests/benchmarks"
DOCUMENT = ROOT / "docs/performance.md"


@pytest.fixture
def row(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(FOLDER)
    import benchmark_row

    return benchmark_row


@pytest.fixture
def performance(row: ModuleType) -> ModuleType:
    import performance

    return performance


def test_the_table_is_that_of_the_saved_rows(
    performance: ModuleType, renew: bool
) -> None:
    check_part(DOCUMENT, "rows", performance.table(), renew)


def test_what_the_document_names_prints_rows(performance: ModuleType) -> None:
    made_by = re.findall(r"\| `(\w+)\.py[^`|]*` \|", DOCUMENT.read_text())
    assert made_by and set(made_by) <= set(performance.scripts())
    saved = {file.stem for file in (FOLDER / "rows").glob("*")}
    assert saved == set(made_by), "rows of a script that is gone"


def test_each_script_tells_what_it_has(performance: ModuleType) -> None:
    for script in performance.scripts():
        text = (FOLDER / f"{script}.py").read_text()
        assert re.search(r"\btell\(.*?held=", text, re.S), script


def test_a_row_is_read_as_it_was_told(
    row: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    place = "/somewhere/t/io_uring"
    words = [f"{FOLDER}/startup.py", f"--t-io-uring={place}", place, "/dev/zero", "-r9"]
    monkeypatch.setattr(sys, "argv", words)
    row.tell("a start", "2.6 times Python's", "at most 3", held=True)
    row.tell("another", "3.1 times Python's", "at most 3", held=False)
    lines = capsys.readouterr().out.splitlines()
    told = [row.read(line) for line in lines]
    command = "tests/benchmarks/startup.py --t-io-uring=PATH PATH /dev/zero -r9"
    assert [one.held for one in told] == ["yes", "NO"]
    assert (told[0].what, told[0].command) == ("a start", command)
    assert re.search(r"\d CPUs.*Linux \d.*, (idle|busy)$", told[0].machine)
    with pytest.raises(ValueError, match="no row"):
        row.tell("a | b", "1", "2", held=True)


def test_a_line_of_text_is_no_row(row: ModuleType) -> None:
    assert row.read("took 3 s") is None
    assert row.read("| a | b | c |") is None
