"""Options and fixtures of all tests; see `tests/support` for its plug-ins."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

pytest_plugins = [
    "again",
    "left_out",
    "markers",
    "no_power_cuts",
    "schedule",
    "sim_batches",
    "time_limits",
]

# Modules are compiled once, and not by each of the many processes that tests start.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# How long one example takes says more about the machine than about the code.
hypothesis.settings.register_profile("ioplan", deadline=None)
hypothesis.settings.load_profile("ioplan")


def pytest_addoption(parser: pytest.Parser) -> None:
    """`pytest --renew` writes what golden tests compare; read the diff."""
    parser.addoption("--renew", action="store_true", help="write golden files anew")


@pytest.fixture(autouse=True, scope="session")
def _state_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The user's own key, lab and results are left alone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        patch.setenv("XDG_DATA_HOME", str(tmp_path_factory.mktemp("data")))
        yield


@pytest.fixture
def renew(request: pytest.FixtureRequest) -> bool:
    """Whether golden files are written instead of compared."""
    return bool(request.config.getoption("--renew"))


@pytest.fixture
def store_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A results store of the test's own, which the command line finds by itself."""
    path = tmp_path / "results.db"
    monkeypatch.setenv("IOPLAN_STORE", str(path))
    return path
