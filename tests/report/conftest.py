"""A store with one session that has begun."""

import pytest
from sessions import session

from ioplan.results.store import Store


@pytest.fixture
def store(tmp_path):
    with Store.open(tmp_path / "results.db") as opened:
        opened.begin(session())
        yield opened
