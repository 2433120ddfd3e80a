"""Targets: nothing is written but what ioplan made, or was told to overwrite."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from command import ioplan, plan_file
from ioplan.backends import TargetRequest
from ioplan.lab.purge import purge
from ioplan.lab.scratch import MARK
from ioplan.lab.target import TargetError, capacity_of, make_scratch, open_target

MIB = 1 << 20
WRITES = 'test "W" { run random 4KiB 0/100 for 50ms }'
READS = 'test "R" { run random 4KiB 100/0 for 50ms }'


def request(path: Path, writes: bool = True, *overwrite: Path) -> TargetRequest:
    return TargetRequest(
        path=str(path), writes=writes, overwrite=tuple(map(str, overwrite))
    )


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    path = tmp_path / "scratch.bin"
    make_scratch(path, 4 * MIB, lambda _: None)
    return path


@pytest.fixture
def foreign(tmp_path: Path) -> Path:
    path = tmp_path / "thesis.img"
    path.write_bytes(os.urandom(MIB))
    return path


def test_a_scratch_file_is_written_random_and_marked(scratch: Path) -> None:
    data = scratch.read_bytes()
    assert len(data) == 4 * MIB and os.getxattr(scratch, MARK) == b"1"
    blocks = {data[i : i + 4096] for i in range(0, len(data), MIB)}
    assert len(blocks) == 4 and scratch.stat().st_blocks * 512 >= 4 * MIB


def test_a_scratch_file_that_cannot_be_finished_is_removed(tmp_path: Path) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(TargetError, match="No space left"):
        make_scratch(tmp_path / "s.bin", 4 * MIB, full)
    assert list(tmp_path.iterdir()) == []


def test_making_never_replaces_a_file(foreign: Path) -> None:
    before = foreign.read_bytes()
    with pytest.raises(TargetError, match="File exists"):
        make_scratch(foreign, MIB, lambda _: None)
    assert foreign.read_bytes() == before


def test_a_scratch_file_may_be_written(scratch: Path) -> None:
    target = open_target(request(scratch))
    assert (target.facts.kind, target.facts.capacity_bytes) == ("file", 4 * MIB)
    target.close()


def test_a_foreign_file_is_refused_and_named_it_is_not(foreign: Path) -> None:
    with pytest.raises(TargetError, match=f"add --overwrite {foreign}"):
        open_target(request(foreign))
    with pytest.raises(TargetError, match="did not make"):
        open_target(request(foreign, True, foreign.with_name("other")))
    open_target(request(foreign, True, foreign)).close()
    open_target(request(foreign, False)).close()


def test_a_copy_of_a_scratch_file_is_foreign_again(scratch: Path) -> None:
    copy = scratch.with_name("copy.bin")
    copy.write_bytes(scratch.read_bytes())
    with pytest.raises(TargetError, match="did not make"):
        open_target(request(copy))


def test_a_link_does_not_lend_its_mark(scratch: Path, foreign: Path) -> None:
    link = scratch.with_name("link")
    link.symlink_to(foreign)
    with pytest.raises(TargetError, match=r"thesis\.img"):
        open_target(request(link))


def test_the_mark_works_without_extended_attributes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> bytes:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(os, "setxattr", refuse)
    monkeypatch.setattr(os, "getxattr", refuse)
    path = tmp_path / "s.bin"
    make_scratch(path, MIB, lambda _: None)
    open_target(request(path)).close()
    path.unlink()
    path.write_bytes(bytes(MIB))
    other = tmp_path / "keeps-the-inode-busy"
    other.write_bytes(b"x")


def test_a_second_user_of_a_target_is_refused(scratch: Path) -> None:
    first = open_target(request(scratch))
    with pytest.raises(TargetError, match="another ioplan uses"):
        open_target(request(scratch))
    first.close()
    open_target(request(scratch)).close()


def test_purge_leaves_zeros_and_the_size(scratch: Path) -> None:
    target = open_target(request(scratch))
    assert "read back as zeros" in purge(target)
    target.close()
    assert scratch.read_bytes() == bytes(4 * MIB)
    assert scratch.stat().st_blocks == 0


def test_capacity_of(scratch: Path) -> None:
    assert capacity_of(str(scratch)) == 4 * MIB
    with pytest.raises(TargetError, match="there is no target"):
        capacity_of(str(scratch) + "x")


def test_a_reading_plan_cannot_change_a_foreign_file(
    foreign: Path, store_path: Path, tmp_path: Path
) -> None:
    before = foreign.read_bytes()
    done = ioplan("run", plan_file(tmp_path, READS), "--target", foreign)
    assert done.code == 0, done.err
    refused = ioplan("run", plan_file(tmp_path, WRITES), "--target", foreign)
    assert refused.code == 2 and "did not make" in refused.err
    assert foreign.read_bytes() == before
    told = ioplan(
        "run", plan_file(tmp_path, WRITES), "--target", foreign, "--overwrite", foreign
    )
    assert told.code == 0 and foreign.read_bytes() != before


@pytest.mark.skipif(os.geteuid() != 0, reason="LEFT OUT: loop devices need root")
class TestLoopDevice:
    """A real block device on a file."""

    @pytest.fixture
    def loop(self, tmp_path: Path):  # type: ignore[no-untyped-def]
        backing = tmp_path / "backing"
        backing.write_bytes(os.urandom(16 * MIB))
        made = subprocess.run(
            ["losetup", "-f", "--show", str(backing)],
            capture_output=True,
            text=True,
            check=True,
        )
        device = Path(made.stdout.strip())
        yield device
        subprocess.run(["losetup", "-d", str(device)], check=False)

    def test_reading_is_allowed_writing_is_not(self, loop: Path) -> None:
        target = open_target(request(loop, False))
        assert (target.facts.kind, target.facts.capacity_bytes) == ("block", 16 * MIB)
        target.close()
        with pytest.raises(TargetError, match="is a block device"):
            open_target(request(loop))

    def test_told_to_it_is_written(
        self, loop: Path, store_path: Path, tmp_path: Path
    ) -> None:
        path = plan_file(tmp_path, WRITES)
        done = ioplan("run", path, "--target", loop, "--overwrite", loop)
        assert done.code == 0, done.err + done.out

    def test_a_mounted_device_is_refused_even_when_told(
        self, loop: Path, tmp_path: Path
    ) -> None:
        subprocess.run(["mkfs.ext4", "-q", str(loop)], check=True)
        place = tmp_path / "mnt"
        place.mkdir()
        subprocess.run(["mount", str(loop), str(place)], check=True)
        try:
            with pytest.raises(TargetError, match="in use"):
                open_target(request(loop, True, loop))
        finally:
            subprocess.run(["umount", str(place)], check=True)


def test_the_lock_ends_with_the_process(scratch: Path) -> None:
    code = (
        "import sys,os;from ioplan.backends import TargetRequest;"
        "from ioplan.lab.target import open_target;"
        f"t=open_target(TargetRequest(path={str(scratch)!r},writes=True));os._exit(0)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    open_target(request(scratch)).close()
