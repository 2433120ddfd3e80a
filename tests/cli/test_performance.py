"""docs/performance.md has few rows, each printed by a benchmark."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest
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


def test_the_table_is_short_and_of_rows(performance: ModuleType) -> None:
    rows = performance.rows_of(performance.part())
    assert 0 < len(rows) <= performance.MOST_ROWS
    assert performance.table(rows) == performance.part()


def test_each_row_is_of_a_script_that_tells_it(performance: ModuleType) -> None:
    rows = performance.rows_of(performance.part())
    for script in {row.command.split()[0] for row in rows}:
        assert re.search(r"\btell\(.*?held=", (ROOT / script).read_text(), re.S), script


@pytest.mark.slow
def test_rows_of_the_table_alone_are_renewed(
    performance: ModuleType,
    row: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = performance.rows_of(performance.part())
    faster = row.Row(before[1].what, "1 ms", "at most 20 ms", "yes", "s.py", "here")
    other = row.Row("another", "1 ms", "at most 20 ms", "yes", "s.py", "here")
    script, document = tmp_path / "script.py", tmp_path / "performance.md"
    script.write_text(f"print({str(faster)!r})\nprint({str(other)!r})\n")
    document.write_text(DOCUMENT.read_text())
    monkeypatch.setattr(performance, "DOCUMENT", document)
    monkeypatch.setattr(performance, "HERE", tmp_path)
    monkeypatch.setattr(sys, "argv", ["performance.py", "script"])
    assert performance.main() == 0
    after = performance.rows_of(performance.part())
    assert (after[1].figure, after[1].machine) == ("1 ms", "here")
    assert [*after[:1], *after[2:]] == [*before[:1], *before[2:]]


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
