"""Whether a target is the one that a session began on, or that ioplan made."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from refused import refused

from ioplan import TargetFault
from ioplan.backends import TargetFacts, TargetRequest
from ioplan.records import Resolved, Session
from ioplan.runner import target_key
from ioplan.runner.devices import file_id
from ioplan.runner.devices.facts import file_facts
from ioplan.runner.devices.file_id import birth
from ioplan.runner.guard import make_scratch, open_target
from ioplan.runner.state.state_ledger import is_session_target
from targets import MIB, loop_device, mounted, needs_root, sparse, tell


def facts(path: str, kind: str = "block", **identity: str) -> TargetFacts:
    return TargetFacts(
        path=path, kind=kind, capacity_bytes=MIB, block_bytes=512, identity=identity
    )


def session(target: str, target_key: str) -> Session:
    return Session(
        id="s",
        plan="p",
        plan_file="p.ioplan",
        plan_text="",
        started_at="2026-01-01T00:00:00",
        backend="io_uring",
        target=target,
        resolved=Resolved(target_key=target_key),
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


@pytest.mark.promise("resume.same_target")
def test_a_session_goes_on_only_on_the_target_of_its_key() -> None:
    nameless = facts("/dev/vdb1", partition="1")
    begun = session("/dev/vdb1", target_key(nameless))
    assert is_session_target(begun, nameless)
    assert not is_session_target(begun, facts("/dev/vdc1", partition="1"))


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
        assert not is_session_target(session(str(path), target_key(before)), after)

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
        monkeypatch.setattr(file_id, "_birth_time", lambda _: "")
        path = folder / "data"
        before = kept(path).identity
        path.unlink()
        after = kept(path).identity
        assert before["inode"] == after["inode"]
        assert before["born"].startswith("generation-")
        assert before["born"] != after["born"]


def kept(path: Path) -> TargetFacts:
    """A new file's facts."""
    with sparse(path, MIB).open("rb") as file:
        return file_facts(path, file.fileno())


def test_a_birth_does_not_change(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"x")
    with path.open("r+b") as file:
        born = birth(file.fileno())
        assert born
        file.write(b"y")
        path.chmod(0o600)
        assert birth(file.fileno()) == born


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
