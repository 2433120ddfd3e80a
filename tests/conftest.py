"""Options and fixtures of all tests; see `tests/support` for its plug-ins."""

import os
import sys
from pathlib import Path

import pytest

OF_ALL = "again drawn earlier_programs few_samples frozen_heap golden left_out parts"
OF_THESE = "closing markers no_power_cuts own_environment schedule sight sim_batches"
pytest_plugins = [*OF_ALL.split(), *OF_THESE.split(), "targets", "time_limits"]
"""`closing` imports the two before."""

# Modules are compiled once, and not by each of the many processes that tests start.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False


@pytest.fixture
def store_path(tmp_path, monkeypatch) -> Path:
    """A results store of the test's own, which the command line finds by itself."""
    path = tmp_path / "results.db"
    monkeypatch.setenv("IOPLAN_STORE", str(path))
    return path
