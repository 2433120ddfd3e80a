"""A bench for a test."""

import pytest
from bench import Bench


@pytest.fixture
def bench(tmp_path):
    """At the end no run goes on."""
    made = Bench(tmp_path)
    with made.store:
        yield made
        assert not made.drive.open_runs, "a run was left behind"
