"""What is read of installed packages is what Python's own module says."""

from __future__ import annotations

import sys
from importlib import metadata
from pathlib import Path

import pytest

from ioplan.core.version import entry_value, version_of


def test_versions_and_entry_points_are_those_of_importlib() -> None:
    assert version_of("ioplan") == metadata.version("ioplan")
    found = {
        one.name: one.value for one in metadata.entry_points(group="ioplan.backends")
    }
    assert {"sim", "fio"} <= set(found)
    for name, value in found.items():
        assert entry_value("ioplan.backends", name) == value


def test_what_is_not_there_is_not_found() -> None:
    assert version_of("ioplan-that-nobody-has") == ""
    assert entry_value("ioplan.backends", "that-nobody-has") == ""
    assert entry_value("console_scripts", "sim") == ""


def test_the_first_package_on_the_path_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place, module in (("a", "one"), ("b", "two")):
        info = tmp_path / place / f"x{place}-1.0.dist-info"
        info.mkdir(parents=True)
        text = f"[other]\nn = no\n\n[ioplan.backends]\n# n = no\nn={module}:Backend\n"
        (info / "entry_points.txt").write_text(text)
    places = [str(tmp_path / "missing"), str(tmp_path / "a"), str(tmp_path / "b")]
    monkeypatch.setattr(sys, "path", places)
    assert entry_value("ioplan.backends", "n") == "one:Backend"
    assert version_of("xb") == "1.0"
