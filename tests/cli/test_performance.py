"""docs/performance.md has few rows, each printed by a benchmark."""

from __future__ import annotations

import re
from importlib import import_module
from types import ModuleType

import pytest
from paths import ROOT

FOLDER = ROOT / "tests/benchmarks"
DOCUMENT = ROOT / "docs/performance.md"


@pytest.fixture
def performance(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(FOLDER)
    import performance

    return performance


def test_the_table_is_short_and_of_rows(performance: ModuleType) -> None:
    rows = performance.rows_of(performance.part())
    assert 0 < len(rows) <= performance.MOST_ROWS
    assert performance.table(rows) == performance.part()


def test_each_row_is_of_a_script_that_tells_it(performance: ModuleType) -> None:
    rows = performance.rows_of(performance.part())
    for script in {ROOT / row.command.split()[0] for row in rows}:
        assert re.search(r"\btell\(.*?held=", script.read_text(), re.S), script
        import_module(script.stem)
