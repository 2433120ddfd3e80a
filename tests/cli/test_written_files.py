"""What `-o` and `fmt` must not overwrite, as a user calls them."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from command import ioplan, plan_file
from labs import MIB, loop_device, mounted, needs_root, tell
from paths import ROOT

from ioplan.cli.app import run

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
def test_the_store_survives(call: tuple[str, ...], session: Path) -> None:
    before = session.read_bytes()
    for more in ((), ("--force",)):
        assert ioplan(*call, "-o", session, *more).code == 2
    assert session.read_bytes() == before
    assert ioplan("show", "last").code == 0


@needs_root
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
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
def test_fmt_on_a_full_disk_leaves_the_whole_plan(tmp_path: Path) -> None:
    folder = tmp_path / "full"
    folder.mkdir()
    tell("mount", "-t", "tmpfs", "-o", "size=64k", "none", folder)
    try:
        plan = plan_file(folder, READS)
        before = plan.read_bytes()
        room = os.statvfs(folder)
        (folder / "filler").write_bytes(bytes(room.f_bavail * room.f_frsize))
        done = ioplan("fmt", plan)
        assert done.code == 2 and "No space left" in done.err
        assert plan.read_bytes() == before
        assert sorted(one.name for one in folder.iterdir()) == ["filler", plan.name]
    finally:
        tell("umount", folder)


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
    folder = tmp_path / "full"
    folder.mkdir()
    tell("mount", "-t", "tmpfs", "-o", "size=64k", "none", folder)
    try:
        plan = plan_file(
            folder,
            "".join(
                f'test "{n}" {{\nrun random 4KiB 100/0 for 1s\n}}\n' for n in range(90)
            ),
        )
        (folder / "other.ioplan").hardlink_to(plan)
        before = plan.read_bytes()
        assert len(before) < 4096, "and with blanks it takes another page"
        room = os.statvfs(folder)
        (folder / "filler").write_bytes(bytes(room.f_bavail * room.f_frsize))
        done = ioplan("fmt", plan)
        assert done.code == 2 and "No space left" in done.err
        assert plan.read_bytes() == before
    finally:
        tell("umount", folder)


OPENS = re.compile(
    r"""write_text\(|write_bytes\(|\.open\(\s*["'][wax+]|open\([^)]*["'][wax]b?["']"""
    r"""|O_CREAT|O_WRONLY|O_RDWR|TemporaryFile\("""
)
OWN = {
    "dsl/ioplan/runner/guard/output.py": "the gate",
    "dsl/ioplan/runner/guard/target.py": "targets, behind the guard",
    "dsl/ioplan/runner/guard/heartbeat.py": "how much was written, in the state folder",
    "dsl/ioplan/runner/prepare/witnessed.py": "what was witnessed, in the state folder",
    "dsl/ioplan/runner/guard/scratch_file.py": "scratch files and their marks",
    "dsl/ioplan/runner/guard/purge/purge.py": "the target, to prove a purge; a pipe to a purge's program",
    "dsl/ioplan/results/store/session_folder.py": "the lock of a session's own folder",
    "dsl/ioplan/results/store/sqlite.py": "a new file for a store that was removed",
    "plugins/lab/ioplan_lab/desk/queue/runner.py": "the lock of the desk's own folder",
    "plugins/lab/ioplan_lab/desk/start/consents.py": "the desk's own folder",
    "plugins/lab/ioplan_lab/desk/database.py": "the desk's own database",
    "dsl/ioplan/results/store/delivery/outbox.py": "the outbox, beside the store",
    "dsl/ioplan/results/store/delivery/sender.py": "the outbox, beside the store",
    "dsl/ioplan/results/store/database.py": "the store's reserve, beside it",
    "dsl/ioplan/runner/journal/receiver.py": "the receiver's own folder",
    "dsl/ioplan/runner/journal/client.py": "what the journal knows, in the state folder",
    "dsl/ioplan/runner/state/stamps.py": "what is known of stamps, in the state folder",
    "dsl/ioplan/records/session_id.py": "the last id, in the state folder",
    "dsl/ioplan/runner/session/signature.py": "the user's key, in the state folder",
    "dsl/ioplan/runner/host/ledger.py": "the known settings of the kernel; the lock of what was set, in the state folder",
    "plugins/lab/ioplan_lab/cluster/adopt/adoption.py": "a tar in memory",
    "plugins/lab/ioplan_lab/cluster/jobs/locks.py": "locks in the folder of lanes",
    "plugins/lab/ioplan_lab/cluster/jobs/clock_file.py": "beside the lanes",
    "plugins/lab/ioplan_lab/workers/lane.py": "a temporary folder, for a rehearsal",
    "plugins/lab/ioplan_lab/cluster/jobs/lane_folder.py": "a lane's own folder",
    "plugins/lab/ioplan_lab/cluster/jobs/job.py": "a job's own folder",
    "plugins/lab/ioplan_lab/cluster/jobs/reporting.py": "in the folder of lanes",
    "plugins/lab/ioplan_lab/cluster/hosts/own_postgres.py": "its own data folder",
    "plugins/lab/ioplan_lab/commands/lab_hosts.py": "a new lab file, never another's",
    "plugins/lab/ioplan_lab/cluster/hosts/service.py": "lock and log of a service",
    "dsl/ioplan/runner/guard/consent_list/signed.py": "an admin's key, made once",
    "plugins/lab/ioplan_lab/cluster/sync/messages.py": "a pipe",
    "plugins/lab/ioplan_lab/cluster/sync/participant.py": "the session's own folder",
    "dsl/ioplan/testing/test_words.py": "the kit's own temporary folder",
    "plugins/importer/ioplan_importer/proof/prove.py": "a temporary folder, for fio",
    "plugins/importer/ioplan_importer/trace_model/simulated.py": "a temporary folder",
    "dsl/ioplan/trace/record.py": "the kernel's tracer, and a temporary folder",
    "dsl/ioplan/cli/commands/trace/traces.py": "a temporary folder",
    "dsl/ioplan/trace/prepared.py": "beside the file that is asked for, `_replaced`",
    "dsl/ioplan/results/report/html/browser.py": "a temporary folder, for Chromium",
    "dsl/ioplan/planner/suites/git/fetch.py": "temporary files without a name, for git",
    "plugins/io_uring/engine/stamp.py": "beside an engine that was built",
    "dsl/ioplan/witness/device.py": "the control file of a device",
    "plugins/fio/ioplan_fio/run_files.py": "the session's own folder",
    "plugins/fio/ioplan_fio/replayed.py": "the session's own folder",
    "plugins/lab/ioplan_lab/cluster/jobs/traces.py": "a lane's own folder",
    "plugins/fio/ioplan_fio/execution.py": "a temporary file without a name",
    "plugins/spdk/ioplan_spdk/bdevperf/execution.py": "the session's own folder",
    "plugins/spdk/ioplan_spdk/bdevperf/session.py": "the session's own folder",
    "dsl/ioplan/core/child.py": "a temporary file without a name",
    "dsl/ioplan/runner/devices/open_files.py": "names the flags, and opens nothing",
    "dsl/ioplan/language/syntax/reader.py": "the parser's tables, beside it",
    "dsl/ioplan/cli/shell/shell_scripts.py": "appends a line to the shell's own start file",
}
"""All that opens for writing, and what. A new place goes through the gate, or here."""


def test_every_place_that_opens_for_writing_is_known() -> None:
    found = {
        str(path.relative_to(ROOT))
        for folder in ("dsl/ioplan", "plugins")
        for path in (ROOT / folder).rglob("*.py")
        if OPENS.search(path.read_text("utf-8"))
    }
    assert found == set(OWN)
