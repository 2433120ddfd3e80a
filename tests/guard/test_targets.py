"""`ioplan targets`, and which device a lab's words mean."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from command import ioplan, program, succeed
from refused import refused

from ioplan import TargetFault
from ioplan.backends import FileDrive, JoinedDrive, TargetFacts, TargetRequest
from ioplan.runner import Device, Host, Identity, id_of, read_lab
from ioplan.runner.devices.device import NoDevice
from ioplan.runner.devices.identity import differences, entry_lines, unstable_reason
from ioplan.runner.devices.inventory import Inventory
from ioplan.runner.guard.bare_drive import check_drive, check_lab
from ioplan.runner.guard.consent import check_device_consent
from ioplan.runner.guard.data_check import GIVEN_UP
from ioplan.runner.guard.survey import IN_USE
from ioplan.target_entry import LabTarget
from targets import MIB, lab_file, lab_of_file, loop_device, mounted, needs_root, tell

FIRST = Identity(
    kernel="nvme0n1", serial="S1", nsid=1, wwid="eui.0025385b71b01", model="SSD 980"
)
SECOND = FIRST.model_copy(
    update={"kernel": "nvme0n2", "nsid": 2, "wwid": "eui.0025385b71b02"}
)
PART = FIRST.model_copy(update={"kernel": "nvme0n1p3", "partition": 3})
BARE = Identity(kernel="zram0")


@pytest.mark.promise("safety.id")
def test_the_id_is_the_shortest_that_no_other_device_has():
    assert id_of(FIRST, [FIRST, BARE]) == "S1"
    assert id_of(FIRST, [FIRST, SECOND]) == "S1/1"
    assert id_of(PART, [FIRST, SECOND, PART]) == "S1/1-part3"
    assert id_of(BARE, [FIRST, BARE]) == "zram0"
    twin = FIRST.model_copy(update={"kernel": "nvme1n1"})
    assert id_of(FIRST, [FIRST, twin]) == "nvme0n1"
    other = twin.model_copy(update={"wwid": "eui.7"})
    assert id_of(FIRST, [FIRST, other]) == "eui.0025385b71b01"


ENTRIES: list[dict[str, Any]] = [
    {"serial": "S1", "nsid": 1},
    {"serial": "S1", "nsid": 1, "model": "SSD  980 "},
    {"wwid": "0x0025385B71B01"},
    {"wwid": "eui.0025385b71b01"},
]


@pytest.mark.promise("safety.all_keys")
def test_an_entry_fits_one_namespace_and_not_the_next():
    for said in ENTRIES:
        entry = LabTarget(**said)
        assert differences(FIRST, entry) == []
        assert differences(SECOND, entry) and differences(BARE, entry)
        text = "its partition is 3, in the lab file the whole disk"
        assert differences(PART, entry) == [text]
        assert differences(PART, entry.model_copy(update={"partition": 3})) == []
    assert differences(BARE, LabTarget(wwid="eui.")), "without a digit it is nobody's"


@pytest.mark.promise("safety.all_keys")
def test_each_key_that_is_given_must_fit():
    entry = LabTarget(serial="S1", nsid=2, model="SSD 990", wwid="eui.1")
    assert differences(FIRST, entry) == [
        "its model is SSD 980, in the lab file SSD 990",
        "its wwid is eui.0025385b71b01, in the lab file eui.1",
        "its nsid is 1, in the lab file 2",
    ]


@pytest.mark.promise("safety.kernel_name")
def test_a_path_that_names_no_device_for_good_is_refused():
    both, link = [FIRST, SECOND], "/dev/disk/by-id/nvme-SSD_980_S1"
    for path, said in (
        ("/dev/nvme0n1", "/dev/nvme0n1 may be another"),
        ("/dev/sda", 'serial = "S1"'),
        ("/dev/disk/by-path/pci-1", "by-path"),
        (link, "several namespaces"),
    ):
        assert said in (unstable_reason(FIRST, LabTarget(path=path), both) or "")
    for identity, entry, devices in (
        (FIRST, LabTarget(path=link), [FIRST]),
        (FIRST, LabTarget(path=f"{link}_1"), both),
        (FIRST, LabTarget(path=link, serial="S1"), both),
        (BARE, LabTarget(path="/dev/zram0"), [BARE]),
    ):
        assert unstable_reason(identity, entry, devices) is None


@pytest.mark.parametrize("identity", [FIRST, PART, BARE], ids=lambda one: one.kernel)
def test_the_proposed_lines_are_a_lab_that_fits(identity, tmp_path):
    path = tmp_path / "lab.toml"
    path.write_text(entry_lines(identity))
    (entry,) = read_lab(path).targets.values()
    assert entry.writable
    if identity.lasting:
        assert differences(identity, entry) == []


def shown(*words):
    done = succeed("targets", "--json", *words)
    return {row["path"] or row["name"]: row for row in json.loads(done.out)}


@needs_root
class TestList:
    """What is listed of a real device."""

    def test_a_device_from_unknown_to_writable(self, tmp_path):
        backing = tmp_path / "disk"
        backing.write_bytes(os.urandom(16 * MIB))
        with loop_device(backing) as device:
            row = shown("--lab", lab_file(tmp_path, serial="none"))[str(device)]
            assert (row["id"], row["size_bytes"]) == (str(backing), 16 * MIB)
            assert (row["verdict"], row["kind"]) == ("readable", "no-entry")
            assert row["reason"] == "the lab does not name it"
            lab = lab_of_file(tmp_path, backing)
            row = shown("--lab", lab)[str(device)]
            assert (row["name"], row["holds"]) == ("fast", [])
            assert (row["verdict"], row["kind"]) == ("writable", None)
            tell("mkfs.ext4", "-q", device)
            row = shown("--lab", lab)[str(device)]
            assert (row["verdict"], row["holds"]) == ("readable", ["ext4"])
            assert row["kind"] == "signature"
            with mounted(device, tmp_path / "mnt"):
                row = shown("--lab", lab)[str(device)]
            assert row["reason"] == f"is mounted on {tmp_path}/mnt"
            assert row["kind"] == "mounted"

    def test_one_that_the_kernel_uses_in_a_way_unknown_here(self, tmp_path):
        backing = tmp_path / "disk"
        backing.write_bytes(bytes(16 * MIB))
        lab = lab_of_file(tmp_path, backing)
        with loop_device(backing) as device:
            assert shown("--lab", lab)[str(device)]["verdict"] == "writable"
            held = os.open(device, os.O_RDONLY | os.O_EXCL)
            row = shown("--lab", lab)[str(device)]
            os.close(held)
            assert (row["verdict"], row["kind"]) == ("readable", IN_USE.kind)
            assert row["reason"].startswith("is in use")

    def test_a_target_of_the_lab_that_is_not_here(self, tmp_path):
        lab = lab_file(tmp_path, serial="S9", nsid=1)
        row = shown("--lab", lab)["fast"]
        assert (row["verdict"], row["reason"]) == ("refused", "it is not present")
        assert row["kind"] == "not-found"
        plan = tmp_path / "p.ioplan"
        plan.write_text('test "R" { run random 4KiB 100/0 for 1MiB }')
        done = ioplan("run", plan, "--lab", lab, "--target", "fast")
        assert (
            done.code == 2 and "is not present: no device has serial 'S9'" in done.err
        )
        near = ioplan("run", plan, "--lab", lab, "--target", "fats")
        assert "did you mean 'fast'" in near.err

    def test_two_devices_that_fit_one_entry(self, tmp_path):
        backing = tmp_path / "disk"
        backing.write_bytes(bytes(MIB))
        lab = lab_of_file(tmp_path, backing)
        with loop_device(backing) as one, loop_device(backing) as other:
            plan = tmp_path / "p.ioplan"
            plan.write_text('test "R" { run random 4KiB 100/0 for 1MiB }')
            done = ioplan("plan", plan, "--lab", lab, "--target", "fast")
        both = ", ".join(sorted(map(str, (one, other))))
        assert done.code == 2 and f"matches several devices: {both}" in done.err

    def test_the_table_fits_80_columns(self, tmp_path):
        backing = tmp_path / ("a-long-name" * 8)
        backing.write_bytes(bytes(MIB))
        with loop_device(backing):
            done = ioplan("targets", "--lab", lab_of_file(tmp_path, backing))
        assert done.code == 0 and max(map(len, done.out.splitlines())) <= 80
        assert "writable" in done.out and "fast" in done.out

    def test_an_ordinary_user_is_told_what_could_not_be_seen(self, tmp_path):
        backing = tmp_path / "disk"
        backing.write_bytes(bytes(MIB))
        # Whose Python he cannot read: all modules are imported by a call before.
        code = (
            "import contextlib, io, os, sys, _lzma, _sqlite3\n"
            "from ioplan.cli import main\n"
            "sys.argv = ['ioplan', 'targets']\n"
            "with contextlib.redirect_stdout(io.StringIO()): \n"
            "  with contextlib.suppress(SystemExit): main()\n"
            "os.setgroups([]); os.setgid(65534); os.setuid(65534); main()"
        )
        with loop_device(backing) as device:
            device.chmod(0o660)
            done = program(
                sys.executable,
                "-c",
                code,
                env={**os.environ, "XDG_CONFIG_HOME": "/nonexistent"},
            )
        assert done.returncode == 0, done.stderr
        said = " ".join(done.stdout.split())
        assert device.name in said and "refused" in said
        assert "cannot see all mounts and programs" in said


class TestBareDrive:
    """A drive that SPDK took from the kernel: its own words are all there is."""

    ADDRESS = "nvme:pcie:0000:01:00.0"
    FACTS = TargetFacts(
        path=ADDRESS,
        kind="nvme",
        capacity_bytes=1 << 30,
        block_bytes=512,
        identity={"serial": "S1", "nsid": "2", "model": "SSD"},
    )

    def asked(self, *overwrite, **said):
        entry = LabTarget(path=self.ADDRESS, **said) if said else None
        return TargetRequest(
            path=self.ADDRESS, entry=entry, overwrite_data=overwrite, writes=True
        )

    def test_it_is_not_even_attached_without_the_lab(self):
        for said in ({}, {"writable": True}):
            with refused(TargetFault.NO_ENTRY, r'serial = "its serial number"'):
                check_lab(self.asked("S1/2", **said))
        with refused(TargetFault.NOT_WRITABLE, "set writable = true"):
            check_lab(self.asked("S1/2", serial="S1"))
        check_lab(self.asked(serial="S1", writable=True))

    def test_it_must_be_the_labs_drive(self):
        with refused(TargetFault.IDENTITY_MISMATCH, "serial is S1, in the lab file S2"):
            check_drive(self.FACTS, self.asked("S1/2", serial="S2", writable=True))
        with refused(TargetFault.IDENTITY_MISMATCH, "nsid is 2, in the lab file 1"):
            check_drive(self.FACTS, self.asked("S1/2", serial="S1", nsid=1))

    def test_it_is_named_with_its_namespace(self):
        said = {"serial": "S1", "writable": True}
        for words in ((), ("S1",), ("S1/1",), (self.ADDRESS,)):
            with refused(TargetFault.DATA, "add --overwrite-data S1/2"):
                check_drive(self.FACTS, self.asked(*words, **said))
        assert check_drive(self.FACTS, self.asked("S1/2", **said)) == GIVEN_UP

    def test_its_name_alone_does_not_give_up_what_nobody_can_see(self):
        asked = self.asked(serial="S1", writable=True)
        named = asked.model_copy(update={"overwrite": ("S1/2",)})
        with refused(TargetFault.DATA, "content cannot be read while the kernel"):
            check_drive(self.FACTS, named)

    def test_what_is_only_read_needs_no_consent(self):
        asked = self.asked(serial="S1").model_copy(update={"writes": False})
        assert not check_drive(self.FACTS, asked)


def said(*words):
    return TargetRequest(overwrite=words)


@pytest.mark.promise("safety.id")
def test_the_serial_of_several_namespaces_is_no_consent():
    inventory = Inventory()
    device = Device(Path("/sys/devices/none/nvme0n1"))
    other = Device(Path("/sys/devices/none/nvme0n2"))
    inventory.identities = {device: FIRST, other: SECOND}
    with refused(TargetFault.AMBIGUOUS, r"several devices: nvme0n1, nvme0n2; .*S1/1"):
        check_device_consent(device, inventory, said("S1"))
    for word in ("S1/2", "nvme0n1", "/dev/nvme0n1", ""):
        with refused(TargetFault.NO_CONSENT, "add --overwrite S1/1"):
            check_device_consent(device, inventory, said(word))
    for word in ("S1/1", "eui.0025385b71b01", "0x0025385b71b01"):
        check_device_consent(device, inventory, said("other", word))


def test_a_device_without_a_serial_is_named_by_any_path_to_it(tmp_path):
    inventory = Inventory()
    device = Device(Path("/sys/devices/none/zram0"))
    inventory.identities = {device: BARE}
    link, elsewhere = tmp_path / "scratch", tmp_path / "other"
    link.symlink_to("/dev/zram0")
    elsewhere.symlink_to("/dev/zram1")
    for word in ("zram0", "/dev/zram0", "/dev/../dev/zram0", str(link)):
        check_device_consent(device, inventory, said(word))
    for word in ("dev/zram0", str(elsewhere), "/dev/zram"):
        with refused(TargetFault.NO_CONSENT, "add --overwrite zram0"):
            check_device_consent(device, inventory, said(word))


def test_a_world_wide_name_that_two_drives_have_is_no_consent():
    """Some makers give every drive the same, or leave it at zeros."""
    inventory = Inventory()
    device = Device(Path("/sys/devices/none/nvme0n1"))
    other = Device(Path("/sys/devices/none/nvme1n1"))
    twin = FIRST.model_copy(update={"kernel": "nvme1n1", "serial": "S2"})
    inventory.identities = {device: FIRST, other: twin}
    for word in ("eui.0025385b71b01", "0x0025385B71B01"):
        with refused(TargetFault.AMBIGUOUS, "several devices: nvme0n1, nvme1n1; .*S1"):
            check_device_consent(device, inventory, said(word))
    check_device_consent(device, inventory, said("S1"))


def test_a_device_that_is_removed_meanwhile_is_left_out():
    """A partition ends with its table; sysfs then has no number of it."""
    gone = Device(Path("/sys/devices/none/sdz/sdz1"))
    inventory = Inventory()
    inventory.host.devices = [gone, *inventory.host.devices]
    assert list(inventory.identities) == inventory.host.devices[1:]
    with pytest.raises(NoDevice, match="no block device sdz1 any more"):
        list(inventory.host.obstacles(gone))


def test_a_partition_that_is_removed_meanwhile_is_no_obstacle(tmp_path):
    disk = tmp_path / "sdz"
    (disk / "sdz1").mkdir(parents=True)
    (disk / "sdz1" / "partition").write_text("1")
    (disk / "dev").write_text("8:400")
    assert list(Device(disk).partitions) and not list(Host().obstacles(Device(disk)))


def test_of_joined_drives_each_is_looked_at_and_closed():
    """Whatever becomes of the others."""
    seen = list[str]()

    class Drive(FileDrive):
        def __init__(self, name):
            self.name = name
            self.facts = TargetFacts(
                path=f"/dev/{name}", kind="block", capacity_bytes=MIB, block_bytes=512
            )

        def check_use(self):
            seen.append(self.name)

        def close(self):
            seen.append(f"close {self.name}")
            raise OSError(self.name)

    joined = JoinedDrive({name: Drive(name) for name in ("a", "b")})
    joined.check_use()
    assert seen == ["a", "b"]
    with pytest.raises(OSError, match="a"):
        joined.close()
    assert sorted(seen[2:]) == ["close a", "close b"]
