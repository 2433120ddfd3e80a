"""What is known of a device is the test's own."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A later device may get the inode of an earlier one, and is another one."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
