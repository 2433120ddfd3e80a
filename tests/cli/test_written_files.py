"""What `-o` and `fmt` must not overwrite, as a user calls them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from command import ioplan, plan_file

from ioplan.cli import run
from targets import MIB, fill_up, loop_device, mounted, needs_root, tell, tmpfs

pytestmark = pytest.mark.slow

READS = 'test "T" { run random 4KiB 100/0, qd 4 for 1s }'
OLD = b"somebody's data\n"


@pytest.fixture
def session(tmp_path: Path, store_path: Path) -> Path:
    """A store with one session on the simulated drive."""
    plan = plan_file(tmp_path, READS)
    done = ioplan("run", plan, "--backend", "sim", "--create", "64MiB", "--quiet")
    assert done.code == 0, done.err
    return store_path


CALLS = {
    "report": ("report", "last"),
    "export": ("export", "last", "--format", "csv"),
    "parquet": ("export", "last", "--format", "parquet"),
    "show": ("show", "last", "--format", "json"),
    "ls": ("ls", "--format", "csv"),
    "history": ("history", "--format", "html"),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.promise("output.force")
def test_a_file_is_replaced_only_by_force(
    call: tuple[str, ...], session: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    out.write_bytes(OLD)
    refused = ioplan(*call, "-o", out)
    assert refused.code == 2 and "--force" in refused.err and out.read_bytes() == OLD
    assert ioplan(*call, "-o", out, "--force").code == 0
    assert out.read_bytes() != OLD
    assert ioplan(*call, "-o", out).code == 0, "its own file is replaced"


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_dash_is_standard_output(
    call: tuple[str, ...],
    session: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    """All of the file and nothing else, and no file called so."""
    monkeypatch.chdir(tmp_path)
    assert run([*call, "-o", "out"]) == 0
    capfdbinary.readouterr()
    assert run([*call, "-o", "-"]) == 0
    assert not Path("-").exists()
    assert capfdbinary.readouterr().out == Path("out").read_bytes()


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.promise("output.force")
def test_the_store_survives(call: tuple[str, ...], session: Path) -> None:
    before = session.read_bytes()
    for more in ((), ("--force",)):
        assert ioplan(*call, "-o", session, *more).code == 2
    assert session.read_bytes() == before
    assert ioplan("show", "last").code == 0


@needs_root
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
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


@needs_root
@pytest.mark.promise("output.force")
def test_fmt_on_a_full_disk_leaves_the_whole_plan(tmp_path: Path) -> None:
    with tmpfs(tmp_path / "full", "64k") as folder:
        plan = plan_file(folder, READS)
        before = plan.read_bytes()
        fill_up(folder)
        done = ioplan("fmt", plan)
        assert done.code == 2 and "No space left" in done.err
        assert plan.read_bytes() == before
        assert sorted(one.name for one in folder.iterdir()) == ["filler", plan.name]


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


@needs_root
def test_fmt_of_two_names_on_a_full_disk_leaves_the_whole_plan(tmp_path: Path) -> None:
    with tmpfs(tmp_path / "full", "64k") as folder:
        plan = plan_file(
            folder,
            "".join(
                f'test "{n}" {{\nrun random 4KiB 100/0 for 1s\n}}\n' for n in range(90)
            ),
        )
        (folder / "other.ioplan").hardlink_to(plan)
        before = plan.read_bytes()
        assert len(before) < 4096, "and with blanks it takes another page"
        fill_up(folder)
        done = ioplan("fmt", plan)
        assert done.code == 2 and "No space left" in done.err
        assert plan.read_bytes() == before
