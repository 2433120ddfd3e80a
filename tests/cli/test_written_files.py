"""What `-o` and `fmt` must not overwrite, as a user calls them."""

import os
import stat
from pathlib import Path

import pytest
from command import ioplan, plan_file, refuse, succeed

from ioplan.cli import run
from targets import MIB, fill_up, loop_device, mounted, needs_root, tell, tmpfs

pytestmark = pytest.mark.slow

READS = 'test "T" { run random 4KiB 100/0, qd 4 for 1s }'


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    """A store with one session on the simulated drive, which is used if none is named."""
    folder = tmp_path_factory.mktemp("session")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("IOPLAN_STORE", str(folder / "results.db"))
        plan = plan_file(folder, READS)
        succeed("run", plan, "--backend", "sim", "--create", "64MiB", "--quiet")
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
def test_a_dash_is_standard_output(call, session, tmp_path, monkeypatch, capfdbinary):
    """All of the file and nothing else; and its own file is replaced without force."""
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        assert run([*call, "-o", "out"]) == 0
    capfdbinary.readouterr()
    assert run([*call, "-o", "-"]) == 0
    assert [one.name for one in tmp_path.iterdir()] == ["out"]
    assert capfdbinary.readouterr().out == Path("out").read_bytes()


@pytest.fixture
def out(session, tmp_path):
    """A file that ioplan wrote."""
    assert ioplan(*CALLS["export"], "-o", tmp_path / "out").code == 0
    return tmp_path / "out"


def test_its_own_file_keeps_its_mode_and_is_kept_once_somebody_changed_it(out):
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE(out.stat().st_mode) == 0o666 & ~mask
    if not os.listxattr(out):
        pytest.skip("LEFT OUT: no attributes are kept here")
    out.chmod(0o640)
    assert ioplan(*CALLS["export"], "-o", out).code == 0
    assert stat.S_IMODE(out.stat().st_mode) == 0o640
    out.write_text(noted := out.read_text() + "my notes")
    refuse("--force", *CALLS["export"], "-o", out)
    assert out.read_text() == noted


def test_a_file_system_without_hard_links(session, tmp_path, monkeypatch):
    def refuse(*_):
        raise PermissionError(1, "no hard links here")

    monkeypatch.setattr(os, "link", refuse)
    assert ioplan(*CALLS["export"], "-o", tmp_path / "out").code == 0
    (made,) = tmp_path.iterdir()
    assert made.name == "out" and made.stat().st_size


def appears(path):
    path.write_bytes(b"theirs")


def is_replaced(path):
    (path.parent / "other").write_bytes(b"theirs")
    (path.parent / "other").replace(path)


@pytest.mark.parametrize("meanwhile", [appears, is_replaced])
def test_a_name_that_comes_to_mean_another_file(meanwhile, out, monkeypatch):
    """While the file is written."""
    if meanwhile is appears:
        out.unlink()
    mark = os.setxattr

    def marked(*words):
        meanwhile(out)
        mark(*words)

    monkeypatch.setattr(os, "setxattr", marked)
    refuse("in the meantime", *CALLS["export"], "-o", out, "--force")
    assert out.read_bytes() == b"theirs" and list(out.parent.iterdir()) == [out]


@needs_root
@pytest.mark.parametrize("call", [CALLS["report"], CALLS["export"]], ids=lambda c: c[0])
@pytest.mark.promise("output.force")
def test_a_mounted_disk_survives(call, session, tmp_path):
    image = tmp_path / "image"
    image.write_bytes(bytes(16 * MIB))
    tell("mkfs.ext4", "-q", "-F", image)
    with loop_device(image) as device, mounted(device, tmp_path / "mounted"):
        before = image.read_bytes()[:MIB]
        for more in ((), ("--force",)):
            refuse("not a regular file", *call, "-o", device, *more)
        os.sync()
        assert image.read_bytes()[2048:MIB] == before[2048:]


def test_fmt_leaves_a_link_and_what_it_leads_to(tmp_path):
    plan, link = plan_file(tmp_path, READS), tmp_path / "link.ioplan"
    before = plan.read_bytes()
    link.symlink_to(plan)
    refuse("symbolic link", "fmt", link)
    assert plan.read_bytes() == before and link.is_symlink()


SEVERAL = "".join(
    f'test "{n}" {{\nrun random 4KiB 100/0 for 1s\n}}\n' for n in range(90)
)
"""Less than a page, and more with blanks."""


@needs_root
@pytest.mark.parametrize("text", [READS, SEVERAL], ids=["one name", "two names"])
@pytest.mark.promise("output.force")
def test_fmt_on_a_full_disk_leaves_the_whole_plan(text, tmp_path):
    with tmpfs(tmp_path / "full", "64k") as folder:
        plan = plan_file(folder, text)
        if text == SEVERAL:
            (folder / "other.ioplan").hardlink_to(plan)
        fill_up(folder)
        before = {one.name: one.read_bytes() for one in folder.iterdir()}
        assert len(before[plan.name]) < 4096
        refuse("No space left", "fmt", plan)
        assert {one.name: one.read_bytes() for one in folder.iterdir()} == before


@needs_root
def test_fmt_of_root_leaves_the_file_to_its_owner(tmp_path):
    """In a new file, which has its content whole or not at all."""
    plan = plan_file(tmp_path, READS)
    os.chown(plan, 65534, 65533)
    plan.chmod(0o640)
    before = plan.stat()
    assert ioplan("fmt", plan).code == 0
    found = plan.stat()
    assert (found.st_uid, found.st_gid) == (65534, 65533)
    assert found.st_mode & 0o777 == 0o640 and found.st_ino != before.st_ino


def test_fmt_leaves_a_file_its_other_names(tmp_path):
    plan = plan_file(tmp_path, READS)
    other = tmp_path / "other.ioplan"
    other.hardlink_to(plan)
    before = plan.read_bytes()
    assert ioplan("fmt", plan).code == 0
    assert other.samefile(plan) and plan.stat().st_nlink == 2
    assert plan.read_bytes() != before and ioplan("fmt", "--check", other).code == 0
    assert sorted(one.name for one in tmp_path.iterdir()) == [other.name, plan.name]
