"""One desk for a test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from desks import desk_in

from ioplan_lab import Desk


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    """A desk without a lab file."""
    with desk_in(tmp_path) as made:
        yield made
