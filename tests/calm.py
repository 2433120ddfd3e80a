"""Measurements that other programs may disturb: a defect spoils each of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

TIMES = 3


def in_a_calm_moment(test: Callable[..., None]) -> Callable[..., None]:
    """Measure up to three times; each has a folder of its own if it has any."""

    @wraps(test)
    def measured(**fixtures: Any) -> None:
        for number in range(TIMES):
            own = dict(fixtures)
            if "tmp_path" in own:
                own["tmp_path"] = _folder(own["tmp_path"], number)
            try:
                return test(**own)
            except AssertionError:
                if number == TIMES - 1:
                    raise
        return None

    return measured


def _folder(whole: Path, number: int) -> Path:
    folder = whole / str(number)
    folder.mkdir()
    return folder
