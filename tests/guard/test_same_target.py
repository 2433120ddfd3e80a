"""Whether a target is the one that a session began on, or that ioplan made."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from refused import refused

from ioplan import TargetFault
from ioplan.backends import TargetFacts, TargetRequest
from ioplan.runner import target_key
from ioplan.runner.guard import make_scratch, open_target
from targets import MIB, loop_device, mounted, needs_root, sparse, tell


def facts(path: str, kind: str = "block", **identity: str) -> TargetFacts:
    return TargetFacts(
        path=path, kind=kind, capacity_bytes=MIB, block_bytes=512, identity=identity
    )


def test_a_partition_of_another_nameless_disk_is_another_target() -> None:
    first, second = (facts(f"/dev/{name}", partition="1") for name in ("vdb1", "vdc1"))
    assert target_key(first) != target_key(second)
    model = facts("/dev/vdb", model="VIRTUAL-DISK")
    assert target_key(model) != target_key(facts("/dev/vdc", model="VIRTUAL-DISK"))


@pytest.mark.parametrize("name", ["serial", "wwid", "backing_file", "inode"])
def test_a_lasting_name_goes_without_the_path(name: str) -> None:
    first, second = (facts(f"/dev/{one}", **{name: "x"}) for one in ("vdb", "vdc"))
    assert target_key(first) == target_key(second)


@needs_root
class TestInodeThatIsUsedAgain:
    """On a file system of its own, the next file gets the number of the last."""

    @pytest.fixture
    def folder(self, tmp_path: Path) -> Iterator[Path]:
        image = sparse(tmp_path / "image", 160 * MIB)
        with loop_device(image) as device:
            tell("mkfs.ext4", "-q", "-I", "256", device)
            with mounted(device, tmp_path / "mnt") as mount:
                yield mount

    @pytest.mark.promise("resume.same_target")
    def test_the_next_file_is_not_the_sessions_target(self, folder: Path) -> None:
        path = folder / "data"
        before = kept(path)
        path.unlink()
        after = kept(path)
        assert before.identity["inode"] == after.identity["inode"]
        assert target_key(before) != target_key(after)

    def test_nor_a_scratch_file(self, folder: Path) -> None:
        path = folder / "data"
        make_scratch(path, MIB, lambda _: None)
        open_target(TargetRequest(path=str(path), writes=True)).close()
        before = path.stat()
        path.unlink()
        path.write_bytes(bytes(MIB))
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        assert path.stat().st_ino == before.st_ino
        with refused(TargetFault.NO_CONSENT, "did not create"):
            open_target(TargetRequest(path=str(path), writes=True))

    def test_without_a_time_of_birth_the_generation_tells(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("ioplan.runner.devices.file_id._birth_time", lambda _: "")
        path = folder / "data"
        before = kept(path).identity
        path.unlink()
        after = kept(path).identity
        assert before["inode"] == after["inode"]
        assert before["born"].startswith("generation-")
        assert before["born"] != after["born"]


def kept(path: Path) -> TargetFacts:
    """A new file's facts."""
    target = open_target(TargetRequest(path=str(sparse(path, MIB))))
    target.close()
    return target.facts


def test_without_attributes_and_births_a_scratch_file_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on ramfs, and with musl's Python."""
    for name in ("setxattr", "getxattr", "removexattr"):
        monkeypatch.delattr(os, name)
    monkeypatch.setattr("ioplan.runner.devices.facts.birth", lambda _: "")
    path = tmp_path / "s.bin"
    make_scratch(path, MIB, lambda _: None)
    for _ in range(2):
        open_target(TargetRequest(path=str(path), writes=True)).close()
    path.write_bytes(os.urandom(MIB))
    with refused(TargetFault.DATA, "another program has written to"):
        open_target(TargetRequest(path=str(path), writes=True))
