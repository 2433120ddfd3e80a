"""Measurements that other programs may disturb: a defect spoils each of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

TIMES = 3


def in_a_calm_moment(test: Callable[..., None]) -> Callable[..., None]:
    """Measure up to three times; each has a folder of its own."""

    @wraps(test)
    def measured(tmp_path: Path, **fixtures: Any) -> None:
        for number in range(TIMES):
            folder = tmp_path / str(number)
            folder.mkdir()
            try:
                return test(tmp_path=folder, **fixtures)
            except AssertionError:
                if number == TIMES - 1:
                    raise
        return None

    return measured
