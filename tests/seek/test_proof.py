"""The tables of docs/seek.md are what the benchmark found, and that is good enough."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt

import pytest
from generated import check_part
from paths import ROOT
from seek_proof import PARTS, file_table, proof, table

DOCUMENT = ROOT / "docs/seek.md"


@pytest.mark.parametrize(("name", "made"), [("proof", table), ("file", file_table)])
def test_the_document_has_the_tables(
    name: str, made: Callable[[], str], renew: bool
) -> None:
    check_part(DOCUMENT, name, made(), renew)


@pytest.mark.promise("seek.interval")
def test_what_is_stated_is_as_true_as_it_says() -> None:
    """Each row as far as so few seeks can tell, at 5 %."""
    rows = [row for part in PARTS for row in proof()[part]]
    seeks = sum(row["seeks"] for row in rows)
    assert seeks >= 300
    assert sum(row["held"] for row in rows) >= 0.95 * seeks
    for row in rows:
        mean, deviation = 0.95 * row["seeks"], sqrt(0.95 * 0.05 * row["seeks"])
        assert row["held"] >= mean - 1.645 * deviation, row
        assert row["wrong_yes"] <= 0.05 * row["seeks"], row
        assert row["most_probes"] <= row["bound"], row
