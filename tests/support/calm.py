"""Tests that are measurements, which other programs may disturb."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

from ioplan.testing.subject import calmly


def in_a_calm_moment(test: Callable[..., None]) -> Callable[..., None]:
    """Each attempt has a folder of its own, if the test has any."""

    @wraps(test)
    def measured(**fixtures: Any) -> None:
        calmly(lambda number: test(**_own(fixtures, number)))

    return measured


def _own(fixtures: dict[str, Any], number: int) -> dict[str, Any]:
    whole: Path | None = fixtures.get("tmp_path")
    if whole is None:
        return fixtures
    folder = whole / str(number)
    folder.mkdir()
    return fixtures | {"tmp_path": folder}
