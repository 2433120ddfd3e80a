"""Inside the machine: drives that must not be written, and those that may be."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from command import Done, ioplan
from guest import lab_file, namespace, plan_file, refused_row, sh

SERIAL = "VMLAB-PLAIN"
WRITES = "run random 4KiB 0/100 for 50ms"
READS = "run random 4KiB 100/0 for 50ms"
FIRST = '[targets.drive]\nserial = "VMLAB-PLAIN"\nnsid = 1\nwritable = true\n'
SECOND = FIRST.replace("nsid = 1", "nsid = 2")
SMALL = '[targets.drive]\nserial = "VMLAB-SMALL"\nwritable = true\n'
ZONED = '[targets.drive]\nserial = "VMLAB-ZONED"\nwritable = true\n'


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("IOPLAN_STORE", str(tmp_path / "results.db"))
    return tmp_path


def run(folder: Path, lab: str, *words: str, plan: str = WRITES) -> Done:
    file = plan_file(folder, plan)
    return ioplan("run", file, "--lab", lab_file(folder, lab), *words)


def refused(folder: Path, what: str, how: str, lab: str, id: str) -> str:
    """Refused with exit code 2; what a person sees."""
    done = run(folder, lab, "--json", "--target", "drive", "--overwrite", id)
    print(done)
    return refused_row(done, what, how, folder)


def check_done(folder: Path, lab: str, *words: str, plan: str = WRITES) -> None:
    done = run(folder, lab, "--quiet", "--target", "drive", *words, plan=plan)
    assert (done.code, done.err) == (0, "")


def written(folder: Path, lab: str, id: str) -> None:
    """Not refused: so it was the use that was refused, and nothing else.

    wipefs leaves most of what a file system or an array had written.
    """
    check_done(folder, lab, "--overwrite-data", id)


@contextmanager
def mapped(node: Path, table: str) -> Iterator[Path]:
    """A device-mapper device."""
    sh("dmsetup", "create", "lab", "--table", table.format(node=node))
    try:
        yield Path("/dev/mapper/lab")
    finally:
        sh("dmsetup", "remove", "--retry", "lab")


@contextmanager
def mounted(node: Path, where: Path) -> Iterator[None]:
    where.mkdir()
    sh("mount", node, where)
    try:
        yield
    finally:
        sh("umount", where)


def clean(*nodes: Path) -> None:
    """As after a purge."""
    for node in nodes:
        sh("wipefs", "--all", "--quiet", node)
        sh("blkdiscard", "--zeroout", node)
    sh("udevadm", "settle")


def test_under_device_mapper(folder):
    node = namespace(SERIAL)
    with mapped(node, "0 131072 flakey {node} 0 60 0"):
        how = "`dmsetup create`, dm-flakey"
        said = refused(folder, "under device-mapper", how, FIRST, f"{SERIAL}/1")
        assert "is held by the device-mapper device lab" in said
    written(folder, FIRST, f"{SERIAL}/1")


def test_under_a_mounted_mapping(folder):
    node = namespace(SERIAL)
    with mapped(node, "0 131072 linear {node} 0") as mapping:
        sh("mkfs.ext4", "-q", mapping)
        with mounted(mapping, folder / "mnt"):
            how = "`dmsetup create lab; mount /dev/mapper/lab /data/mnt`"
            refused(folder, "under a mounted mapping", how, FIRST, f"{SERIAL}/1")
            uuid = sh("dmsetup", "info", "-c", "--noheadings", "-o", "name", "lab")
            entry = '[targets.drive]\npath = "/dev/mapper/lab"\nwritable = true\n'
            said = refused(folder, "mounted mapping", how, entry, uuid.strip())
            assert "is mounted on" in said
    clean(node)


def test_member_of_an_array(folder):
    first, other = namespace(SERIAL), namespace("VMLAB-SMALL")
    words = ("--level=1", "--raid-devices=2", "--run", "--assume-clean", "--quiet")
    sh("mdadm", "--create", "/dev/md0", *words, first, other)
    sh("udevadm", "settle")
    said = refused(
        folder, "member of an array", "`mdadm --create`", FIRST, f"{SERIAL}/1"
    )
    assert "is held by the array md" in said
    sh("udevadm", "control", "--stop-exec-queue")  # it would put it together again
    try:
        sh("mdadm", "--stop", "/dev/md0")
        how = "`mdadm --stop`"
        said = refused(folder, "member of a stopped array", how, SMALL, "VMLAB-SMALL")
        assert "linux_raid_member" in said
        sh("wipefs", "--all", "--quiet", first, other)
    finally:
        sh("udevadm", "control", "--start-exec-queue")
    sh("udevadm", "settle")
    written(folder, FIRST, f"{SERIAL}/1")


def test_in_a_volume_group(folder):
    node = namespace("VMLAB-SMALL")
    sh("pvcreate", "--quiet", node)
    sh("vgcreate", "--quiet", "group", node)
    sh("lvcreate", "--quiet", "--yes", "--extents", "4", "--name", "volume", "group")
    try:
        how = "`pvcreate; vgcreate; lvcreate`"
        said = refused(folder, "in a volume group", how, SMALL, "VMLAB-SMALL")
        assert "is held by the LVM volume group-volume" in said
    finally:
        sh("vgremove", "--quiet", "--yes", "group")
        sh("pvremove", "--quiet", node)
    written(folder, SMALL, "VMLAB-SMALL")


def test_a_mounted_namespace_and_its_free_neighbour(folder):
    node = namespace(SERIAL)
    sh("mkfs.ext4", "-q", node)
    with mounted(node, folder / "mnt"):
        how = "`mount /dev/nvme0n1 /data/mnt`; namespace 2 is free"
        said = refused(folder, "mounted namespace", how, FIRST, f"{SERIAL}/1")
        assert "is mounted on" in said
        written(folder, SECOND, f"{SERIAL}/2")
        assert list((folder / "mnt").iterdir())
        with (folder / "mnt" / "file").open("wb") as file:
            file.write(b"still there")
    clean(node)


def test_a_controller_of_several_namespaces(folder):
    lab = f'[targets.drive]\nserial = "{SERIAL}"\nwritable = true\n'
    how = "`serial` without `nsid`, and it has two"
    said = refused(folder, "controller, not a namespace", how, lab, f"{SERIAL}/1")
    assert "matches several devices" in said
    how = "`--overwrite SERIAL`, and it has two namespaces"
    said = refused(folder, "namespace called by the serial", how, FIRST, SERIAL)
    assert f"--overwrite {SERIAL}/1" in said


def test_a_link_that_names_one_of_several_namespaces(folder):
    link = f"/dev/disk/by-id/nvme-QEMU_NVMe_Ctrl_{SERIAL}"
    sh("ln", "-sf", namespace(SERIAL), link)  # udev gives it to one of the two
    lab = f'[targets.drive]\npath = "{link}"\nwritable = true\n'
    how = "udev's link without a number, of several namespaces"
    said = refused(folder, "link that names a controller", how, lab, f"{SERIAL}/1")
    assert "has several namespaces" in said
    written(folder, lab.replace(link, f"{link}_1"), f"{SERIAL}/1")


def test_a_kernel_name(folder):
    node = namespace("VMLAB-SMALL")
    lab = f'[targets.drive]\npath = "{node}"\nwritable = true\n'
    how = '`path = "/dev/nvme0n1"`'
    said = refused(folder, "drive by its kernel name", how, lab, "VMLAB-SMALL")
    assert 'serial = "VMLAB-SMALL"' in said


def test_zones(folder):
    """The kernel takes no write but at a zone's write pointer."""
    said = refused(folder, "drive with zones", "ZNS", ZONED, "VMLAB-ZONED")
    assert "has zones (host-managed)" in said
    check_done(folder, ZONED, plan=READS)


def test_a_drive_of_two_paths(folder):
    """The kernel shows one device for both, and hides the paths."""
    lab = '[targets.drive]\nserial = "VMLAB-MULTI"\nwritable = true\n'
    written(folder, lab, "VMLAB-MULTI")
    listed = json.loads(ioplan("targets", "--json").out)
    print(listed)
    assert sum("VMLAB-MULTI" in json.dumps(one) for one in listed) == 1


def test_protection_information(folder):
    lab = '[targets.drive]\nserial = "VMLAB-PI"\nwritable = true\n'
    written(folder, lab, "VMLAB-PI")


def test_the_list_of_targets(folder):
    lab = lab_file(folder, FIRST + '[targets.gone]\nserial = "S1"\n')
    done = ioplan("targets", "--lab", lab)
    print(done.out)
    assert done.code == 0
    assert max(map(len, done.out.splitlines())) <= 80
    for word in (f"{SERIAL}/1", f"{SERIAL}/2", "VMLAB-ZONED", "drive", "gone"):
        assert word in done.out


def test_nothing_was_left_behind():
    """Or what was refused later would have been refused for the wrong reason."""
    assert sh("dmsetup", "ls") in ("No devices found\n", "")
