"""Tests that are measurements, and name what they need of the machine."""

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

from ioplan_testing import calmly

Test = Callable[..., None]


def needs_idle_cpu(ms: int) -> Callable[[Test], Test]:
    """Each attempt begins once a CPU was idle so long, in a folder of its own."""

    def marked(test: Test) -> Test:
        @wraps(test)
        def measured(**fixtures: Any) -> None:
            calmly(lambda number: test(**_own(fixtures, number)), ms)

        return measured

    return marked


def _own(fixtures: dict[str, Any], number: int) -> dict[str, Any]:
    whole: Path | None = fixtures.get("tmp_path")
    if whole is None:
        return fixtures
    folder = whole / str(number)
    folder.mkdir()
    return fixtures | {"tmp_path": folder}
