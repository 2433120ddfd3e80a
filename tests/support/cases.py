"""Cases of a table, of which some have a mark."""

from collections.abc import Iterable
from typing import Any

import pytest


def marked(cases: Iterable[str], mark: Any, *names: str) -> list[Any]:
    """All of them as parameters; those of these names have the mark."""
    return [pytest.param(one, marks=[mark] * (one in names)) for one in cases]
