"""What comes back after a power cut, or has other firmware, is the same drive or is not used."""

import pytest
from msgspec import Struct

from ioplan import Cause
from ioplan.backends import TargetFacts
from ioplan.records.drive import drive_of
from ioplan.runner import Device, identity_of, target_key
from ioplan.runner.devices.identity import firmware_of
from ioplan.runner.events.power_cut import PowerCut, PowerSupply
from ioplan.runner.execute.outcome import TargetUnusable
from ioplan.target_entry import PowerControl

SERIAL = {"device/serial": "S4EV1", "device/model": "ACME 980", "wwid": "eui.1"}
NUMBER = {"dev": "4095:1048575"}
"""No device of this machine has it."""


class Opened(Struct):
    """A drive that is as sysfs has it."""

    facts: TargetFacts
    closed: int = 0

    def close(self):
        self.closed += 1


def drive(folder, capacity_bytes=1 << 30, **texts):
    for name, text in (texts | NUMBER).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n")
    known = identity_of(Device(folder)).facts()
    path = "/dev/nvme0n1"
    fields = {"path": path, "kind": "block", "block_bytes": 512, "identity": known}
    return Opened(TargetFacts(capacity_bytes=capacity_bytes, **fields))


def cut(opened):
    control = PowerControl(off=("true",), on=("true",))
    return PowerCut(PowerSupply(control, lambda: opened), 1.0)


@pytest.mark.slow
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
def test_what_has_another_identity_is_refused(change, says, tmp_path):
    old = drive(tmp_path / "old", **SERIAL)
    other = drive(tmp_path / "new", **SERIAL | change)
    with pytest.raises(TargetUnusable, match=f"target is another one: {says}") as error:
        cut(other).back(old.facts, old)
    assert error.value.kind == Cause.TARGET_LOST
    assert (old.closed, other.closed) == (1, 1), "nothing can write to it"


@pytest.mark.slow
def test_the_same_drive_is_used(tmp_path):
    old, same = (drive(tmp_path / name, **SERIAL) for name in ("old", "same"))
    assert cut(same).back(old.facts, old) is same
    assert (old.closed, same.closed) == (1, 0)


# a drive with other firmware is another condition, and the same target


def facts(**identity):
    return TargetFacts(
        path="/dev/nvme0n1",
        kind="block",
        capacity_bytes=1 << 30,
        block_bytes=512,
        identity={"serial": "S4EV", "model": "ACME"} | identity,
    )


def test_it_stays_the_same_target():
    before, after, unknown = facts(firmware="1.0"), facts(firmware="1.1"), facts()
    assert target_key(before) == target_key(after) == target_key(unknown)


def test_the_drive_of_a_session_has_it():
    found = drive_of(facts(firmware="1.1").model_dump(), "fast")
    assert found and (found.firmware, found.name) == ("1.1", "fast")


@pytest.mark.parametrize("name", ["firmware_rev", "rev"])
def test_it_is_where_the_kernel_has_it(tmp_path, name):
    (tmp_path / "device").mkdir()
    (tmp_path / "device" / name).write_text("  1.1 \n")
    disk = Device(tmp_path)
    assert firmware_of(disk) == "1.1"
