"""The suite of clauses: what our own engine does with each is as asked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command import ioplan
from paths import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.long]
DOCUMENT = (ROOT / "docs" / "witnessed.md").read_text()


def test_each_clause_is_as_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the page in the documents has a row for each."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    done = ioplan("witness", "witness/clauses", "--backend", "io_uring", "--json")
    found = [json.loads(line) for line in done.out.splitlines()]
    judged = [one for one in found if "verdict" in one]
    differ = [one for one in judged if one["verdict"] == "differs"]
    assert not differ and done.code == 0, differ
    titles = {one["test"].partition(" ")[2] for one in judged}
    assert len(titles) == 24
    assert all(f"| {title} | as asked" in DOCUMENT for title in titles)
