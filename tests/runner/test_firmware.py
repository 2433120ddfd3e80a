"""A drive with other firmware is another condition, and the same target."""

from __future__ import annotations

from pathlib import Path

import pytest

from ioplan.backends import TargetFacts
from ioplan.records.drive import drive_of
from ioplan.runner import Device, target_key
from ioplan.runner.devices.identity import firmware_of


def facts(**identity: str) -> TargetFacts:
    return TargetFacts(
        path="/dev/nvme0n1",
        kind="block",
        capacity_bytes=1 << 30,
        block_bytes=512,
        identity={"serial": "S4EV", "model": "ACME"} | identity,
    )


def test_it_stays_the_same_target() -> None:
    before, after, unknown = facts(firmware="1.0"), facts(firmware="1.1"), facts()
    assert target_key(before) == target_key(after) == target_key(unknown)


def test_the_drive_of_a_session_has_it() -> None:
    found = drive_of(facts(firmware="1.1").model_dump(), "fast")
    assert found and (found.firmware, found.name) == ("1.1", "fast")


@pytest.mark.parametrize("name", ["firmware_rev", "rev"])
def test_it_is_where_the_kernel_has_it(tmp_path: Path, name: str) -> None:
    (tmp_path / "device").mkdir()
    (tmp_path / "device" / name).write_text("  1.1 \n")
    disk = Device(tmp_path)
    assert firmware_of(disk) == "1.1"
