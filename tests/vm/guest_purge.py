"""Inside the machine: what a purge does to NVMe drives, and what it says of them."""

from __future__ import annotations

import grp
import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from guest import namespace, sh, until

from ioplan.backends import BackendError, TargetFacts, TargetRequest
from ioplan.runner.devices.nvme import Nvme
from ioplan.runner.guard import Target, open_target
from ioplan.runner.guard.purge.purge import purge
from ioplan.target_entry import LabTarget, PurgeMethod

PLAIN, PI = "VMLAB-PLAIN", "VMLAB-PI"
PLACES = (0, 1 << 20, 32 << 20)
DATA = os.urandom(4096)


@contextmanager
def opened(node: Path, way: PurgeMethod, identity: str) -> Iterator[Target]:
    """Opened by the guard, as a session does it: held exclusively."""
    serial, _, nsid = identity.partition("/")
    number = int(nsid) if nsid else None
    entry = LabTarget(serial=serial, nsid=number, writable=True, purge=way)
    request = TargetRequest(
        path=str(node), writes=True, overwrite_data=(identity, str(node)), entry=entry
    )
    target = open_target(request)
    try:
        yield target
    finally:
        target.close()


def purged(node: Path, way: PurgeMethod, identity: str) -> str:
    with opened(node, way, identity) as target:
        return purge(target)


def refused(node: Path, way: PurgeMethod, identity: str) -> str:
    with pytest.raises(BackendError) as caught:
        purged(node, way, identity)
    return str(caught.value)


def fill(node: Path) -> None:
    """A MiB at each place and at the end: QEMU cannot read what was not written and
    shares a block of protection information with what was."""
    with node.open("r+b", buffering=0) as device:
        os.pwrite(device.fileno(), DATA * 256, device.seek(0, os.SEEK_END) - (1 << 20))
        for place in PLACES:
            os.pwrite(device.fileno(), DATA * 256, place)
        os.fsync(device.fileno())


def kept(node: Path) -> list[bool]:
    """Whether the data is there, read past the page cache."""
    sh("blockdev", "--flushbufs", node)
    with node.open("rb", buffering=0) as device:
        return [os.pread(device.fileno(), 4096, place) == DATA for place in PLACES]


def id_ns(node: Path) -> dict[str, int]:
    shown = json.loads(sh("nvme", "id-ns", node, "-o", "json"))
    return {name: shown[name] for name in ("nsze", "flbas", "dps")}


@pytest.mark.parametrize(("nsid", "other"), [(1, 2), (2, 1)])
def test_a_format_takes_its_namespace_alone(nsid, other):
    mine, neighbour = namespace(PLAIN, nsid), namespace(PLAIN, other)
    fill(mine)
    fill(neighbour)
    before = id_ns(mine)
    how = purged(mine, "format", f"{PLAIN}/{nsid}")
    assert how.startswith(f"formatted, namespace {nsid} ")
    assert how.endswith("128 marks read back as zeros")
    assert kept(mine) == [False] * 3
    assert kept(neighbour) == [True] * 3
    assert id_ns(mine) == before  # 512 and 4096 bytes, each as it was


def test_a_format_keeps_the_protection_information():
    node = namespace(PI)
    before = id_ns(node)
    assert before["dps"]
    fill(node)
    how = purged(node, "format", PI)
    assert "128 marks" in how
    assert id_ns(node) == before
    assert kept(node) == [False] * 3


def test_what_the_drive_says_of_itself_is_what_nvme_cli_reads():
    node = namespace(PLAIN)
    shown = json.loads(sh("nvme", "id-ctrl", node, "-o", "json"))
    listed = json.loads(sh("nvme", "list-ns", node, "-o", "json"))
    with node.open("rb", buffering=0) as device:
        nvme = Nvme(device.fileno())
        controller = nvme.controller()
        others = nvme.other_namespaces(controller)
    assert controller.formats == bool(shown["oacs"] & 2)
    assert controller.manages_namespaces == bool(shown["oacs"] & 8)
    assert controller.formats_all == bool(shown["fna"] & 3)
    assert controller.block_erase == bool(shown["sanicap"] & 2)
    assert sorted([nvme.nsid, *others]) == [one["nsid"] for one in listed["nsid_list"]]


def test_a_drive_that_cannot_sanitize_is_left_alone():
    node = namespace(PLAIN)
    fill(node)
    text = refused(node, "sanitize", f"{PLAIN}/1")
    assert "neither block erase nor crypto erase" in text
    assert kept(node) == [True] * 3


RULE = (
    'SUBSYSTEM=="block", ENV{ID_SERIAL_SHORT}=="VMLAB-PLAIN", ATTR{nsid}=="1", '
    'GROUP="ioplan", MODE="0660"\n'
)
"""As docs/security.md has it."""


def test_a_rule_of_udev_lets_a_group_write_but_not_format():
    sh("groupadd", "--force", "ioplan")
    Path("/run/udev/rules.d").mkdir(exist_ok=True)
    Path("/run/udev/rules.d/90-ioplan.rules").write_text(RULE)
    sh("udevadm", "control", "--reload")
    sh("udevadm", "trigger", "--settle", "--subsystem-match=block")
    group = grp.getgrnam("ioplan").gr_gid
    node, other = namespace(PLAIN, 1), namespace(PLAIN, 2)
    assert (node.stat().st_gid, node.stat().st_mode & 0o777) == (group, 0o660)
    assert other.stat().st_gid != group
    assert as_user(group, node, "discard").endswith("marks read back as zeros")
    assert "this requires root" in as_user(group, node, "format")


def as_user(group: int, node: Path, way: PurgeMethod) -> str:
    """What a purge says to an ordinary user who is in a group."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.setgroups([group])
        os.setgid(65534)
        os.setuid(65534)
        try:
            said = purged(node, way, f"{PLAIN}/1")
        except Exception as error:
            said = str(error)
        os.write(write, said.encode())
        os._exit(0)
    os.close(write)
    os.waitpid(pid, 0)
    with os.fdopen(read) as told:
        return told.read()


def test_a_partition_is_not_formatted():
    """The kernel would take the command, and format the whole namespace."""
    node = namespace(PLAIN)
    fill(node)
    sh("addpart", node, "1", "2048", "32768")
    until(Path(f"{node}p1").exists, 10, "a partition")
    try:
        with held(Path(f"{node}p1"), "format") as target:
            with pytest.raises(BackendError, match="name the whole namespace"):
                purge(target)
            assert Nvme(target.fd).controller().formats  # so it would be taken
        assert kept(node) == [True] * 3
    finally:
        until(lambda: removed(node), 10, "a partition that udev has closed")


def removed(node: Path) -> bool:
    """Remove its first partition; udev opens one whenever a writer closes it."""
    done = subprocess.run(
        ["delpart", node, "1"], check=False, capture_output=True, text=True
    )
    assert done.returncode == 0 or "busy" in done.stderr, done.stderr
    return done.returncode == 0


@contextmanager
def held(node: Path, way: PurgeMethod) -> Iterator[Target]:
    """Past the guard, which would not let it come so far."""
    fd = os.open(node, os.O_RDWR | os.O_EXCL)
    size = os.lseek(fd, 0, os.SEEK_END)
    facts = TargetFacts(
        path=str(node), kind="block", capacity_bytes=size, block_bytes=512
    )
    target = Target(facts, fd, LabTarget(serial=PLAIN, writable=True, purge=way))
    try:
        yield target
    finally:
        target.close()


def test_a_discard_that_leaves_the_data_is_no_purge():
    """A drive that takes the discard, says that it went well, and does nothing."""
    with suppress(AssertionError):
        sh("modprobe", "-r", "scsi_debug")
    sh("modprobe", "scsi_debug", "dev_size_mb=64", "lbpu=1", "lbprz=0")
    sh("udevadm", "settle")
    try:
        node = next(map(_node, Path("/sys/block").glob("sd*")))
        fill(node)
        text = refused(node, "discard", "2000")
        assert "reported success, but" in text
        assert "marks were not erased, the first at byte 0" in text
        assert '"format" or "sanitize" for NVMe, or "zeros"' in text
        assert kept(node)[1:] == [True] * 2
        how = purged(node, "zeros", "2000")
        assert how == "overwritten with zeros; 128 marks read back as zeros"
        assert kept(node) == [False] * 3
        assert "it is not an NVMe namespace" in refused(node, "format", "2000")
    finally:
        with suppress(AssertionError):  # udev may still look at it
            sh("modprobe", "-r", "scsi_debug")


def _node(folder: Path) -> Path:
    return Path("/dev") / folder.name
