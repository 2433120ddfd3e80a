"""What comes back after a power cut is the same drive, or it is not used."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec import Struct

from ioplan import Cause
from ioplan.backends import TargetFacts
from ioplan.runner import Device, identity_of
from ioplan.runner.events.power_cut import PowerCut, PowerSupply
from ioplan.runner.execute.outcome import TargetUnusable
from ioplan.target_entry import PowerControl

pytestmark = pytest.mark.slow
SERIAL = {"device/serial": "S4EV1", "device/model": "ACME 980", "wwid": "eui.1"}
NUMBER = {"dev": "4095:1048575"}
"""No device of this machine has it."""


class Opened(Struct):
    """A drive that is as sysfs has it."""

    facts: TargetFacts
    closed: int = 0

    def close(self) -> None:
        self.closed += 1


def drive(folder: Path, capacity_bytes: int = 1 << 30, **texts: str) -> Opened:
    for name, text in (texts | NUMBER).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n")
    known = identity_of(Device(folder)).facts()
    path = "/dev/nvme0n1"
    fields = {"path": path, "kind": "block", "block_bytes": 512, "identity": known}
    return Opened(TargetFacts(capacity_bytes=capacity_bytes, **fields))


def cut(opened: Opened) -> PowerCut:
    control = PowerControl(off=("true",), on=("true",))
    return PowerCut(PowerSupply(control, lambda: opened), 1.0)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"device/serial": "S4EV2"}, "its serial was S4EV1, and is S4EV2"),
        ({"device/serial": ""}, "its serial was S4EV1, and is unknown"),
        ({"wwid": "eui.2"}, "its wwid was eui.1, and is eui.2"),
        ({"device/model": "ACME 970"}, "its model was ACME 980, and is ACME 970"),
    ],
)
@pytest.mark.promise("durability.same_drive")
def test_what_has_another_identity_is_refused(
    change: dict[str, str], says: str, tmp_path: Path
) -> None:
    old = drive(tmp_path / "old", **SERIAL)
    other = drive(tmp_path / "new", **SERIAL | change)
    with pytest.raises(TargetUnusable, match=f"target is another one: {says}") as error:
        cut(other).back(old.facts, old)
    assert error.value.kind == Cause.TARGET_LOST
    assert (old.closed, other.closed) == (1, 1), "nothing can write to it"


def test_the_same_drive_is_used(tmp_path: Path) -> None:
    old, same = (drive(tmp_path / name, **SERIAL) for name in ("old", "same"))
    assert cut(same).back(old.facts, old) is same
    assert (old.closed, same.closed) == (1, 0)
