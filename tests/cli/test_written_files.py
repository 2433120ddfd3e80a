"""What `-o` and `fmt` must not overwrite, as a user calls them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from command import ioplan, plan_file

from ioplan.cli import run
from targets import MIB, loop_device, mounted, needs_root, tell

pytestmark = pytest.mark.slow

READS = 'test "T" { run random 4KiB 100/0, qd 4 for 1s }'


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A store with one session on the simulated drive, which is used if none is named."""
    folder = tmp_path_factory.mktemp("session")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("IOPLAN_STORE", str(folder / "results.db"))
        plan = plan_file(folder, READS)
        done = ioplan("run", plan, "--backend", "sim", "--create", "64MiB", "--quiet")
        assert done.code == 0, done.err
        yield folder / "results.db"


CALLS = {
    "report": ("report", "last"),
    "export": ("export", "last", "--format", "csv"),
    "parquet": ("export", "last", "--format", "parquet"),
    "show": ("show", "last", "--format", "json"),
    "ls": ("ls", "--format", "csv"),
    "history": ("history", "--format", "html"),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_dash_is_standard_output(
    call: tuple[str, ...],
    session: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    """All of the file and nothing else; and its own file is replaced without force."""
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        assert run([*call, "-o", "out"]) == 0
    capfdbinary.readouterr()
    assert run([*call, "-o", "-"]) == 0
    assert not Path("-").exists()
    assert capfdbinary.readouterr().out == Path("out").read_bytes()


@pytest.mark.promise("output.force")
def test_the_store_in_use_survives(session: Path) -> None:
    before = session.read_bytes()
    for more in ((), ("--force",)):
        done = ioplan("export", "last", "--format", "csv", "-o", session, *more)
        assert done.code == 2
    assert session.read_bytes() == before


@needs_root
@pytest.mark.parametrize("call", [CALLS["report"], CALLS["export"]], ids=lambda c: c[0])
@pytest.mark.promise("output.force")
def test_a_mounted_disk_survives(
    call: tuple[str, ...], session: Path, tmp_path: Path
) -> None:
    image = tmp_path / "image"
    image.write_bytes(bytes(16 * MIB))
    tell("mkfs.ext4", "-q", "-F", image)
    with loop_device(image) as device, mounted(device, tmp_path / "mounted"):
        before = image.read_bytes()[:MIB]
        for more in ((), ("--force",)):
            done = ioplan(*call, "-o", device, *more)
            assert done.code == 2 and "not a regular file" in done.err
        os.sync()
        assert image.read_bytes()[2048:MIB] == before[2048:]


def test_fmt_leaves_a_link_and_what_it_leads_to(tmp_path: Path) -> None:
    plan, link = plan_file(tmp_path, READS), tmp_path / "link.ioplan"
    before = plan.read_bytes()
    link.symlink_to(plan)
    done = ioplan("fmt", link)
    assert done.code == 2 and "symbolic link" in done.err
    assert plan.read_bytes() == before and link.is_symlink()


@contextmanager
def full_disk(folder: Path, text: str) -> Iterator[Path]:
    """A plan on a file system that has no room for another page."""
    folder.mkdir()
    tell("mount", "-t", "tmpfs", "-o", "size=64k", "none", folder)
    try:
        plan = plan_file(folder, text)
        if text == SEVERAL:
            (folder / "other.ioplan").hardlink_to(plan)
        room = os.statvfs(folder)
        (folder / "filler").write_bytes(bytes(room.f_bavail * room.f_frsize))
        yield plan
    finally:
        tell("umount", folder)


SEVERAL = "".join(
    f'test "{n}" {{\nrun random 4KiB 100/0 for 1s\n}}\n' for n in range(90)
)
"""Less than a page, and more with blanks."""


@needs_root
@pytest.mark.parametrize("text", [READS, SEVERAL], ids=["one name", "two names"])
@pytest.mark.promise("output.force")
def test_fmt_on_a_full_disk_leaves_the_whole_plan(text: str, tmp_path: Path) -> None:
    with full_disk(tmp_path / "full", text) as plan:
        before = {one.name: one.read_bytes() for one in plan.parent.iterdir()}
        assert len(before[plan.name]) < 4096
        done = ioplan("fmt", plan)
        assert done.code == 2 and "No space left" in done.err
        assert {one.name: one.read_bytes() for one in plan.parent.iterdir()} == before


@needs_root
def test_fmt_of_root_leaves_the_file_to_its_owner(tmp_path: Path) -> None:
    plan = plan_file(tmp_path, READS)
    os.chown(plan, 65534, 65533)
    plan.chmod(0o640)
    assert ioplan("fmt", plan).code == 0
    found = plan.stat()
    assert (found.st_uid, found.st_gid) == (65534, 65533)
    assert found.st_mode & 0o777 == 0o640


def test_fmt_leaves_a_file_its_other_names(tmp_path: Path) -> None:
    plan = plan_file(tmp_path, READS)
    other = tmp_path / "other.ioplan"
    other.hardlink_to(plan)
    before = plan.read_bytes()
    assert ioplan("fmt", plan).code == 0
    assert other.samefile(plan) and plan.stat().st_nlink == 2
    assert plan.read_bytes() != before and ioplan("fmt", "--check", other).code == 0
    assert sorted(one.name for one in tmp_path.iterdir()) == [other.name, plan.name]
