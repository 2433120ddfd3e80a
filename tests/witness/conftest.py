"""Devices for tests: stopped whatever happens."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ioplan_witness import Device, Script
from ioplan_witness.device import can_mount, is_mounted, start

MayStart = Callable[..., Device]


@pytest.fixture(name="can_mount")
def _can_mount() -> None:
    """Leaves out what needs FUSE where there is none."""
    if not can_mount():
        pytest.skip("LEFT OUT: there is no FUSE for this user")


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A later device may get the inode of an earlier one, and is another one."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def device(tmp_path: Path, can_mount: None) -> Iterator[MayStart]:
    """Starts a device of 4 MiB, but for what is given."""
    started: list[Device] = []

    def begin(**script: Any) -> Device:
        values = {"size": "4MiB", **script}
        made = start(Script.model_validate(values), tmp_path / f"device{len(started)}")
        started.append(made)
        return made

    yield begin
    for one in started:
        if is_mounted(one.folder):
            one.stop()
