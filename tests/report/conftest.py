"""A store with one session that has begun."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sessions import session

from ioplan.results.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Any:
    with Store.open(tmp_path / "results.db") as opened:
        opened.begin(session())
        yield opened
