"""The gate for files that ioplan writes for people: what it must leave alone."""

from __future__ import annotations

import errno
import os
import shutil
import socket
import sqlite3
import stat
from pathlib import Path

import pytest

from ioplan.runner.guard import make_scratch
from ioplan.runner.guard.output import OutputError, output_file, rewrite
from targets import MIB, loop_device, mounted, needs_root, sparse, tell, tmpfs

pytestmark = pytest.mark.slow

OLD, NEW = b"somebody's data\n", b"a report\n"


def write(path: Path, content: bytes = NEW, *, force: bool = False) -> None:
    with output_file(path, force=force) as file:
        file.write(content)


def refused(path: Path, what: str) -> None:
    """Neither without nor with --force, and nothing is left beside it."""
    beside = sorted(path.parent.iterdir())
    for force in (False, True):
        with pytest.raises(OutputError, match=what):
            write(path, force=force)
    assert sorted(path.parent.iterdir()) == beside


def test_a_new_file(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    write(path)
    assert path.read_bytes() == NEW
    assert [one.name for one in tmp_path.iterdir()] == ["report.html"]
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~mask


def test_its_own_file_is_replaced_until_somebody_changes_it(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    write(path, b"first")
    if not os.listxattr(path):
        pytest.skip("LEFT OUT: no attributes are kept here")
    path.chmod(0o640)
    write(path, b"second")
    assert path.read_bytes() == b"second" and stat.S_IMODE(path.stat().st_mode) == 0o640
    path.write_bytes(b"second, with notes")
    with pytest.raises(OutputError, match="--force"):
        write(path)
    assert path.read_bytes() == b"second, with notes"


@pytest.mark.promise("output.force")
def test_a_file_of_somebody_else_needs_force(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_bytes(OLD)
    with pytest.raises(OutputError, match="--force"):
        write(path)
    assert path.read_bytes() == OLD
    write(path, force=True)
    assert path.read_bytes() == NEW


@pytest.mark.parametrize("leads_to", ["file", "nothing"])
def test_what_a_link_leads_to(tmp_path: Path, leads_to: str) -> None:
    other = tmp_path / "other.txt"
    if leads_to == "file":
        other.write_bytes(OLD)
    path = tmp_path / "link.html"
    path.symlink_to(other)
    refused(path, "symbolic link")
    assert path.is_symlink() and other.exists() == (leads_to == "file")
    assert not other.exists() or other.read_bytes() == OLD


def test_stores_scratch_files_and_what_is_no_file(tmp_path: Path) -> None:
    store, scratch = tmp_path / "results.db", tmp_path / "scratch.bin"
    make_scratch(scratch, 1 * MIB, lambda _: None)
    before = scratch.read_bytes()
    refused(scratch, "scratch file")
    assert scratch.read_bytes() == before
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket"))
        for name in ("pipe", "folder", "socket"):
            refused(tmp_path / name, "not a regular file")
    with sqlite3.connect(store) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE run (seq)")
        refused(store, "database")
        refused(tmp_path / "results.db-wal", "database")
    connection.close()
    assert sqlite3.connect(store).execute("SELECT * FROM run").fetchall() == []


@needs_root
def test_a_mounted_disk(tmp_path: Path) -> None:
    image, folder = tmp_path / "image", tmp_path / "mounted"
    sparse(image, 16 * MIB)
    tell("mkfs.ext4", "-q", image)
    folder.mkdir()
    with loop_device(image) as device, mounted(device, folder):
        head = Path(device).open("rb").read(MIB)  # noqa: SIM115
        for force in (False, True):
            with pytest.raises(OutputError, match="not a regular file"):
                write(Path(device), force=force)
        assert Path(device).open("rb").read(MIB) == head  # noqa: SIM115


def test_a_file_system_without_hard_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(errno.EPERM, "no hard links here")

    monkeypatch.setattr(os, "link", refuse)
    write(tmp_path / "report.html")
    assert [one.name for one in tmp_path.iterdir()] == ["report.html"]
    assert (tmp_path / "report.html").read_bytes() == NEW


def test_a_failure_in_the_middle_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_bytes(OLD)
    with pytest.raises(ZeroDivisionError), output_file(path, force=True) as file:
        file.write(NEW)
        raise ZeroDivisionError
    assert path.read_bytes() == OLD and list(tmp_path.iterdir()) == [path]


@needs_root
def test_a_full_disk_leaves_the_whole_old_plan(tmp_path: Path) -> None:
    if not shutil.which("mount"):
        pytest.skip("LEFT OUT: mount is not installed")
    with tmpfs(tmp_path / "full", "64k") as folder:
        plan = folder / "plan.ioplan"
        plan.write_bytes(OLD)
        with pytest.raises(OSError, match="No space left"):
            rewrite(plan, bytes(1 << 20))
        assert plan.read_bytes() == OLD and list(folder.iterdir()) == [plan]


def test_a_name_that_comes_to_mean_another_file(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    with pytest.raises(OutputError, match="in the meantime"), output_file(path) as file:
        file.write(NEW)
        path.write_bytes(OLD)
    assert path.read_bytes() == OLD
    other = tmp_path / "other"
    other.write_bytes(b"other")
    with (
        pytest.raises(OutputError, match="in the meantime"),
        output_file(path, force=True) as file,
    ):
        other.replace(path)
    assert path.read_bytes() == b"other"
    assert list(tmp_path.iterdir()) == [path]


def test_a_plan_of_one_name_is_replaced_and_one_of_several_rewritten(
    tmp_path: Path,
) -> None:
    """A new file has its content whole or not at all; a second name keeps to the old."""
    plan, other = tmp_path / "plan.ioplan", tmp_path / "same.ioplan"
    plan.write_bytes(OLD)
    before = plan.stat().st_ino
    rewrite(plan, NEW)
    assert plan.read_bytes() == NEW and plan.stat().st_ino != before
    other.hardlink_to(plan)
    rewrite(plan, OLD)
    assert other.read_bytes() == OLD and other.samefile(plan)


@needs_root
def test_root_replaces_a_file_of_another_and_leaves_it_to_them(tmp_path: Path) -> None:
    plan = tmp_path / "plan.ioplan"
    plan.write_bytes(OLD)
    os.chown(plan, 1234, 1234)
    before = plan.stat().st_ino
    rewrite(plan, NEW)
    after = plan.stat()
    assert (after.st_uid, after.st_gid, plan.read_bytes()) == (1234, 1234, NEW)
    assert after.st_ino != before
