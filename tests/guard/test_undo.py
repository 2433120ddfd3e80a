"""`ioplan undo` after the worst mistake."""

import shutil

import pytest
from command import ioplan, plan_file, succeed
from kinds_of_data import database, put

from targets import MIB, lab_of_file, loop_device, needs_root, sparse, tell

PLAN = 'test "T" { run sequential 1MiB 0/100, 1 pass }'
SIZE = 24 * MIB
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("store_path")]


@pytest.fixture
def disk(tmp_path):
    return sparse(tmp_path / "disk.img", SIZE)


def ends(path):
    content = path.read_bytes()
    return content[:MIB], content[-MIB:]


@needs_root
@pytest.mark.promise("undo.table")
def test_a_partition_table_comes_back(disk, tmp_path):
    put(disk, 0, database(tmp_path))
    put(disk, SIZE - MIB, database(tmp_path))
    before, lab = ends(disk), lab_of_file(tmp_path, disk)
    plan = plan_file(tmp_path, PLAN)
    with loop_device(disk) as device:
        words = ("--target", device, "--lab", lab, "--overwrite-data", disk)
        succeed("run", plan, *words)
        tell("blockdev", "--flushbufs", device)
        assert ends(disk) != before
        asked = ioplan("undo", "last")
        assert asked.code == 2, asked.err
        assert (
            "Everything that the session overwrote between them is lost." in asked.out
        )
        assert f"to restore, add --overwrite {disk}" in asked.out
        assert ends(disk) != before
        succeed("undo", "last", "--overwrite", disk)
        tell("blockdev", "--flushbufs", device)
        assert ends(disk) == before
        again = ioplan("run", plan, *words[:4], "--overwrite", disk)
        assert (again.code, "add --overwrite-data" in again.err) == (2, True)


@pytest.mark.skipif(
    not shutil.which("mkfs.ext4"), reason="LEFT OUT: mkfs.ext4 is not installed"
)
@pytest.mark.promise("undo.checks")
def test_what_was_there_is_named(disk, tmp_path):
    tell("mkfs.ext4", "-q", "-L", "photos", disk)
    before = ends(disk)
    plan = plan_file(tmp_path, PLAN)
    succeed("run", plan, "--target", disk, "--overwrite-data", disk)
    done = ioplan("undo", "last", "--overwrite", disk)
    assert (done.code, "ext4 'photos'" in done.out) == (0, True), done.err
    assert ends(disk) == before
    assert "ext4" in tell("wipefs", disk)


def test_a_resumed_session_keeps_what_was_first(disk, tmp_path):
    put(disk, 0, database(tmp_path))
    before = ends(disk)
    plan = plan_file(tmp_path, PLAN)
    ioplan("run", plan, "--target", disk, "--overwrite-data", disk)
    longer = plan_file(tmp_path, PLAN + PLAN.replace('"T"', '"U"'), "longer.ioplan")
    succeed("resume", "last", "--plan", longer)
    assert ioplan("undo", "last", "--overwrite", disk).code == 0
    assert ends(disk) == before


@pytest.mark.promise("undo.checks")
def test_another_file_is_not_the_target(disk, tmp_path):
    plan = plan_file(tmp_path, PLAN)
    ioplan("run", plan, "--target", disk, "--overwrite", disk)
    disk.rename(tmp_path / "moved.img")
    disk.write_bytes(bytes(SIZE))
    done = ioplan("undo", "last", "--overwrite", disk)
    assert (done.code, "is not the target of that session" in done.err) == (2, True)
    assert not any(disk.read_bytes())


def test_nothing_is_kept_of_a_scratch_file(tmp_path):
    plan = plan_file(tmp_path, PLAN)
    ioplan("run", plan, "--target", tmp_path / "s", "--create", "8MiB")
    (folder,) = (tmp_path / "sessions").iterdir()
    shutil.rmtree(folder)
    done = ioplan("undo", "last")
    assert not folder.exists()
    assert (done.code, "saved nothing of its target" in done.err) == (2, True)
