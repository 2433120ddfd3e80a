"""A module that is imported when it is first used."""

from __future__ import annotations

import sys

import pytest

from ioplan.core.late import Late


def test_it_is_imported_by_its_first_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "this", raising=False)
    monkeypatch.setattr("builtins.print", lambda *_: None)  # importing it prints
    this = Late("this")
    assert "this" not in sys.modules
    assert "R" not in vars(this)
    assert this.d["A"] == "N"
    assert "this" in sys.modules and vars(this)["d"] is this.d


def test_a_name_that_it_lacks_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError):
        _ = Late("json").no_such_name
