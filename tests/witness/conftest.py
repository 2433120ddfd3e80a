"""What is known of a device is the test's own; the engine's two ways to do I/O."""

import pytest
from without_io_uring import engine_without_io_uring


@pytest.fixture(autouse=True)
def own_state(tmp_path, monkeypatch) -> None:
    """A later device may get the inode of an earlier one, and is another one."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture(params=["io_uring", "sync"])
def mode(request, tmp_path, monkeypatch) -> str:
    """How the engine does its I/O: by a ring, or by blocking calls."""
    found: str = request.param
    if found == "sync":
        monkeypatch.setenv("IOPLAN_ENGINE", engine_without_io_uring(tmp_path))
    return found
