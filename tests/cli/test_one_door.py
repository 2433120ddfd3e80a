"""The one door for what is written: each option and command that writes a file.

The command table says which they are, so that a new one is tried here, or fails.
"""

import ast
import fcntl
import json
import os
import resource
import shutil
import signal
import socket
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO

import pytest
from command import commands, ioplan, plan_file, refuse, succeed
from paths import ROOT

from ioplan.runner.guard import SCRATCH_MARK
from ioplan.trace import Prepared
from ioplan_witness import device
from targets import MIB, loop_device

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

READS = 'test "T" { run random 4KiB 100/0 for 1s }'
MSR = "".join(
    f"{128166372003061629 + 10000 * n},hm,1,Read,{4096 * n},4096,1131\n"
    for n in range(40)
)
JOB = "[j]\nfilename=x\nsize=1m\nrw=read\ndirect=1\nioengine=psync\n"
OLD = b"somebody's data\n"
OUT = "OUT"
"""Stands for the file in a call."""


def written(kind):
    """The command and the key of each parameter of a kind."""
    return {
        (words, one.key)
        for words, command in commands().items()
        for one in command.parameters
        if one.kind == kind
    }


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with what the commands read, and a store with a session."""
    folder = tmp_path_factory.mktemp("made")
    with pytest.MonkeyPatch.context() as patch, ExitStack() as stack:
        patch.setenv("IOPLAN_STORE", str(folder / "store.db"))
        patch.setenv("XDG_STATE_HOME", str(folder / "state"))
        patch.chdir(folder)
        plan = plan_file(folder, READS)
        run = ("run", plan, "--backend", "sim", "--create", "64MiB", "--quiet")
        assert ioplan(*run).code == 0
        assert ioplan("bundle", "last", "-o", "b.ioplan-bundle").code == 0
        assert ioplan(*run).code == 0
        (folder / "tr.csv").write_text(MSR)
        (folder / "job.fio").write_text(JOB)
        (folder / "script.toml").write_text('size = "1MiB"\n')
        (folder / "io.log").write_bytes(device.MAGIC)
        assert ioplan("trace", "convert", "tr.csv", "-o", "t.iotrace").code == 0
        if os.geteuid() == 0:
            _write_lab(folder, stack)
        yield folder


def _write_lab(folder, stack):
    """A lab of this host, with a drive that may be written to."""
    image = folder / "drive.img"
    image.write_bytes(bytes(64 * MIB))
    stack.enter_context(loop_device(image))
    admins = ioplan("lab", "consent", "key", "--name", "ada").out
    target = f"[targets.a]\nbacking_file = {json.dumps(str(image))}\nwritable = true\n"
    (folder / "lab.toml").write_text(f'name = "attic"\n{target}{admins}')
    drives = succeed("targets", "--json", "--lab", "lab.toml").out
    (folder / "d.json").write_text(drives)


LAB = ("--lab", "lab.toml")
CALLS: dict[tuple[str, str], tuple[str, ...]] = {
    ("ls", "output"): ("--format", "csv", "-o", OUT),
    ("show", "output"): ("last", "--format", "json", "-o", OUT),
    ("export", "output"): ("last", "--format", "parquet", "-o", OUT),
    ("report", "output"): ("last", "-o", OUT),
    ("compare", "output"): ("b.ioplan-bundle", "last", "--format", "json", "-o", OUT),
    ("history", "output"): ("--format", "html", "-o", OUT),
    ("bundle", "output"): ("last", "-o", OUT),
    ("new", "file"): (OUT, "--template", "depth"),
    ("trace convert", "output"): ("tr.csv", "-o", OUT),
    ("trace cut", "output"): ("t.iotrace", "1ms..20ms", "-o", OUT),
    ("trace record", "output"): ("/dev/ram0", "-o", OUT, "--for", "1ms"),
    ("import", "output"): ("job.fio", "-o", OUT),
    ("model", "output"): ("tr.csv", "--not-simulated", "-o", OUT),
    ("device log", "parquet"): ("io.log", "--parquet", OUT),
    ("device start", "log"): ("script.toml", "-o", "device", "--log", OUT),
    ("lab consent sign", "output"): (
        *("d.json", "--until", "7d", "--any-plan"),
        *(*LAB, "-o", OUT),
    ),
}
"""A call of each, which but for its file would work."""
FOREIGN = {("fio", "--output"): ("--output=OUT", "job.fio", "--backend", "sim")}
"""What the table cannot know: another program's options."""
ON_ROOT = ("trace record", "lab consent sign")


def test_the_table_says_all_that_is_written():
    assert written("output") == set(CALLS)
    for words, command in commands().items():
        for one in command.options:
            said = f"{words} {one.names[0]}: `output` or `folder`, as it is written"
            if "-o" in one.names or one.key in ("output", "parquet"):
                assert one.kind in ("output", "folder"), said


# What stands where a file is to be written, and must be there afterwards.


def store(path):
    shutil.copy(os.environ["IOPLAN_STORE"], path)


def side_of_a_store(path):
    store(path.with_name(path.name.removesuffix("-wal")))
    path.write_bytes(b"changes")


def open_socket(path):
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(os.path.relpath(path))


def folder(path):
    path.mkdir()
    (path / "file").write_bytes(OLD)


HELD: list[BinaryIO] = []


def locked_file(path):
    """As a target is that a session has open."""
    path.write_bytes(OLD)
    HELD.append(path.open("rb"))
    fcntl.flock(HELD[-1], fcntl.LOCK_EX)


NEVER: dict[str, Callable[[Path], object]] = {
    "store": store,
    "side of a store": side_of_a_store,
    "new side of a store": lambda path: store(path.with_name(path.name.removesuffix("-journal"))),
    "link to a store": lambda path: (store(path.with_name("real.db")), path.symlink_to("real.db")),
    "other name of a store": lambda path: (
        store(path.with_name("real.db")),
        path.hardlink_to(path.with_name("real.db")),
    ),
    "link to a file": lambda path: (
        path.with_name("real").write_bytes(OLD),
        path.symlink_to("real"),
    ),
    "link to nothing": lambda path: path.symlink_to(path.with_name("nothing")),
    # as /dev/stdout, which a defect here would remove for the whole machine
    "link to stdout": lambda path: path.symlink_to("/proc/self/fd/1"),
    "fifo": os.mkfifo,
    "socket": open_socket,
    "folder": folder,
    "scratch file": lambda path: (path.write_bytes(OLD), os.setxattr(path, SCRATCH_MARK, b"1")),
    "locked file": locked_file,
}  # fmt: skip
if os.geteuid() == 0:
    NEVER |= {
        "character device": lambda path: os.mknod(
            path, 0o600 | 0o020000, os.makedev(1, 3)
        ),
        "block device": lambda path: os.mknod(
            path, 0o600 | 0o060000, os.makedev(7, 254)
        ),
    }
NAMES = {"side of a store": "out-wal", "new side of a store": "out-journal"}
"""Of what needs another one than `out`."""


def snapshot(folder):
    """What lies in a folder, down to the content, and as which file."""
    found: dict[str, object] = {}
    for path in sorted(folder.rglob("*")):
        facts = path.lstat()
        content = path.read_bytes() if path.is_file() else None
        target = str(path.readlink()) if path.is_symlink() else ""
        what = (facts.st_ino, facts.st_mode, facts.st_rdev, facts.st_nlink)
        found[str(path.relative_to(folder))] = (*what, content, target)
    return found


def call_of(key, out):
    words, _ = key
    values = (CALLS | FOREIGN)[key]
    return (*words.split(), *(one.replace(OUT, str(out)) for one in values))


def forced(key):
    """Without force, and with it where the command has the word."""
    has = any(one.key == "force" for one in commands()[key[0]].parameters)
    return ((), ("--force",)) if has else ((),)


def needs(key):
    if key[0] in ON_ROOT and os.geteuid():
        pytest.skip("LEFT OUT: needs root")


@pytest.mark.parametrize("key", [*CALLS, *FOREIGN], ids="-".join)
@pytest.mark.promise("output.force")
def test_what_must_stay_stays(key, made, tmp_path):
    """`new` gives a plan its ending, so that it is never beside a store."""
    needs(key)
    for what, build in NEVER.items():
        if key[0] == "new" and what in NAMES:
            continue
        place = tmp_path / what
        place.mkdir()
        name = "out.ioplan" if key[0] == "new" else NAMES.get(what, "out")
        build(place / name)
        before = snapshot(place)
        for more in forced(key):
            done = ioplan(*call_of(key, place / name), *more)
            told = (what, more, done.out, done.err)
            assert done.code == 2 and "error: " in done.err, told
            assert not done.out and snapshot(place) == before, told


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_the_file_of_a_loop_device_and_names_of_devices_stay(made, tmp_path):
    image, missing = tmp_path / "image", Path("/dev/ioplan-no-such-device")
    image.write_bytes(bytes(MIB))
    with loop_device(image):
        before = snapshot(tmp_path)
        for out in (image, missing):
            refuse("error: ", "export", "last", "--format", "csv", "-o", out, "--force")
        assert snapshot(tmp_path) == before and not missing.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_a_file_that_runs_as_its_owner_does_so_no_more(made, tmp_path):
    out = tmp_path / "out"
    out.write_bytes(OLD)
    out.chmod(0o4755)
    done = ioplan("export", "last", "--format", "csv", "-o", out, "--force")
    assert done.code == 0 and out.stat().st_mode & 0o7777 == 0o755, done.err


def test_a_full_disk_leaves_what_was_there(made, tmp_path):
    """As a limit on the size of files, which each write meets like a full disk."""
    out = tmp_path / "out"
    out.write_bytes(OLD)
    before = snapshot(tmp_path)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (512, limits[1]))
    try:
        call = ("show", "last", "--format", "json", "-o", out, "--force")
        done = ioplan(*call)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    assert done.code == 2 and "cannot write" in done.err
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("key", CALLS, ids="-".join)
def test_a_file_of_others_is_replaced_only_by_force(key, made, tmp_path):
    """And then under this name alone: what else it is called keeps its content."""
    needs(key)
    name = "out.html" if key[0] == "report" else "out.ioplan"
    out, other = tmp_path / name, tmp_path / "other"
    other.write_bytes(OLD)
    out.hardlink_to(other)
    done = ioplan(*call_of(key, out))
    assert done.code == 2 and out.read_bytes() == OLD, done.err
    if len(forced(key)) > 1 and key != ("trace record", "output"):
        assert "--force" in done.err
        assert ioplan(*call_of(key, out), "--force").code in (0, 1), done.err
        assert out.read_bytes() != OLD
    assert other.read_bytes() == OLD
    assert {one.name for one in tmp_path.iterdir()} == {"other", name}


def test_fio_logs_go_by_it_too(made, tmp_path):
    job, log = tmp_path / "log.fio", tmp_path / "out_bw.1.log"
    job.write_text(f"{JOB}write_bw_log={tmp_path / 'out'}\n")
    store(log)
    before = snapshot(tmp_path)
    done = ioplan("fio", "--output", tmp_path / "o", job, "--backend", "sim")
    assert done.code == 2 and "nothing was run" in done.err
    assert snapshot(tmp_path) == before


def test_a_trace_is_whole_and_may_be_written_again(made, tmp_path):
    out = tmp_path / "t"
    for more in ((), ("--force",)):
        assert ioplan("trace", "convert", "tr.csv", "-o", out, *more).code == 0
        assert Prepared.open(out).header.count == 40
    before = snapshot(tmp_path)
    refuse("--force", "trace", "convert", "tr.csv", "-o", out)
    broken = tmp_path.parent / "broken.csv"
    broken.write_text(MSR + "128166372003061629,hm,1,Read,x,y,z\n")
    done = ioplan("trace", "convert", broken, "-o", out, "--force")
    assert done.code == 2 and snapshot(tmp_path) == before


# Commands that write several files, each new, into a folder.

FOLDERS: dict[tuple[str, str], tuple[str, ...]] = {
    ("unbundle", "output"): ("b.ioplan-bundle", "-o", OUT),
    ("suites new", "output"): ("acme", "-o", OUT),
    ("suites publish", "folder"): (OUT,),
    ("device start", "output"): ("script.toml", "-o", OUT),
}
SEVERAL = ("import", "job.fio", "job.fio", "-o", OUT)


def test_the_table_says_all_folders_that_are_written():
    assert written("folder") == set(FOLDERS)


@pytest.mark.parametrize("call", [*FOLDERS, SEVERAL], ids=lambda one: one[0])
def test_what_is_no_folder_stays(call, made, tmp_path):
    """A name beside a store's is one of a new folder there."""
    for what, build in NEVER.items():
        if what in ("folder", *NAMES):
            continue
        place = tmp_path / what
        place.mkdir()
        build(place / "out")
        before = snapshot(place)
        words = (*call[0].split(), *FOLDERS[call]) if call in FOLDERS else call
        done = ioplan(*(one.replace(OUT, str(place / "out")) for one in words))
        told = (what, done.out, done.err)
        assert done.code == 2 and done.err.startswith("error: "), told
        assert snapshot(place) == before, told


def test_a_log_of_a_device_is_replaced_and_its_other_name_is_not(made, tmp_path):
    if not device.can_mount():
        pytest.skip("LEFT OUT: needs FUSE")
    log, other = tmp_path / "x.iolog", tmp_path / "other"
    other.write_bytes(device.MAGIC + bytes(64))
    log.hardlink_to(other)
    call = ("script.toml", "-o", tmp_path / "device", "--log", log)
    succeed("device", "start", *call)
    assert ioplan("device", "stop", tmp_path / "device").code == 0
    assert log.read_bytes().startswith(device.MAGIC)
    assert other.read_bytes() == device.MAGIC + bytes(64)


def test_a_linked_start_file_of_a_shell_stays_a_link(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("ioplan.cli.shell.shell_scripts._shell", lambda: "bash")
    kept = tmp_path / "dotfiles"
    kept.write_text("export A=1")
    (tmp_path / ".bashrc").symlink_to(kept)
    for _ in range(2):
        assert ioplan("--install-completion").code == 0
    assert (tmp_path / ".bashrc").is_symlink()
    first, second = kept.read_text().splitlines()
    assert first == "export A=1" and second.startswith("source ")
    kept.unlink()
    os.mkfifo(kept)
    assert ioplan("--install-completion").code == 2


# Nothing else opens a file for writing, or gives one another name.


def flags_of(call):
    """Names and texts in the arguments of a call."""
    parts = [node for one in call.args for node in ast.walk(one)]
    parts += [node for one in call.keywords for node in ast.walk(one.value)]
    names = {one.attr for one in parts if isinstance(one, ast.Attribute)}
    names |= {one.id for one in parts if isinstance(one, ast.Name)}
    return names | {str(one.value) for one in parts if isinstance(one, ast.Constant)}


MODES = {a + b + c for a in "wax" for b in ("", "b", "t") for c in ("", "+")}
MODES |= {"r+", "r+b", "rb+"}
OPENING = {"O_CREAT", "O_WRONLY", "O_RDWR", "O_TRUNC", "O_APPEND"}
RENAMES = {"rename", "renames", "hardlink_to", "symlink_to"}
WRITES = {"write_text", "write_bytes", "touch", "mkfifo", "mknod", "tofile"}
OF_MODULES = {
    "os": {"replace", "link", "symlink", "truncate", "ftruncate", "sendfile"},
    "shutil": {"copy", "copy2", "copyfile", "copytree", "copyfileobj", "move"},
}
MAKERS = {"NamedTemporaryFile", "TemporaryFile", "mkstemp"}


def writes(node):
    """Whether a call opens a file for writing, or gives a file another name."""
    if not isinstance(node, ast.Call):
        return isinstance(node, ast.Attribute) and node.attr in OPENING
    called = node.func
    name = getattr(called, "attr", getattr(called, "id", ""))
    module = getattr(getattr(called, "value", None), "id", "")
    if name in ("open", "fdopen", "FileIO"):
        return bool(flags_of(node) & MODES)
    if name in MAKERS | OF_MODULES.get(module, set()):
        return True
    if name == "replace" and isinstance(called, ast.Attribute):
        return len(node.args) == 1 and not node.keywords  # of texts it has two
    return isinstance(called, ast.Attribute) and name in RENAMES | WRITES


def places(path):
    """The functions of a file in which something is written, outermost first."""
    tree = ast.parse(path.read_text("utf-8"))
    for top in tree.body:
        if any(map(writes, ast.walk(top))):
            yield getattr(top, "name", "")


def files_of(folders):
    for folder in folders:
        at = ROOT / folder
        yield from [at] if at.is_file() else sorted(at.rglob("*.py"))


OWN = {
    "dsl/ioplan/runner/guard/output.py": "the gate",
    "dsl/ioplan/runner/guard/target.py": "targets, behind the guard",
    "dsl/ioplan/runner/guard/survivor.py": "memory of its own; a pipe",
    "dsl/ioplan/runner/prepare/witnessed.py": "what was witnessed, in the state folder",
    "dsl/ioplan/runner/guard/scratch_file.py": "scratch files",
    "dsl/ioplan/runner/guard/purge/purge.py": "the target, to prove a purge; a pipe to a purge's program",
    "dsl/ioplan/results/store/session_folder.py": "the lock of a session's own folder",
    "dsl/ioplan/results/store/sqlite.py": "a new file for a store that was removed",
    "plugins/lab/ioplan_lab/here/own_postgres.py": "its own data folder",
    "plugins/lab/ioplan_lab/here/up.py": "the lab of this host, in the state folder",
    "plugins/lab/ioplan_lab/host/clock.py": "the clock, in the folder of drive jobs",
    "plugins/lab/ioplan_lab/host/folder.py": "a drive job's own folder",
    "plugins/lab/ioplan_lab/host/hook.py": "its mark, in a drive job's own folder",
    "plugins/lab/ioplan_lab/host/keeper.py": "locks in the folder of drive jobs",
    "plugins/lab/ioplan_lab/host/process.py": "a temporary folder, for a rehearsal",
    "plugins/lab/ioplan_lab/host/worker.py": "the worker's lock, in the folder of drive jobs",
    "plugins/lab/ioplan_lab/together/participant.py": "the session's own folder",
    "plugins/lab/ioplan_lab/people/watch.py": "what was last seen of a job, in the state folder",
    "dsl/ioplan/results/store/delivery.py": "the outbox, beside the store",
    "dsl/ioplan/results/store/database.py": "the store's reserve, beside it",
    "dsl/ioplan/runner/state/stamps.py": "what is known of stamps, in the state folder",
    "dsl/ioplan/records/session_id.py": "the last id, in the state folder",
    "dsl/ioplan/runner/session/signature.py": "the user's key, in the state folder",
    "dsl/ioplan/runner/host/ledger.py": "the known settings of the kernel; the lock of what was set, in the state folder",
    "dsl/ioplan/runner/guard/consent_list/signed.py": "an admin's key, made once",
    "plugins/testing/ioplan_testing/test_words.py": "the kit's own temporary folder",
    "plugins/importer/ioplan_importer/proof/prove.py": "a temporary folder, for fio",
    "plugins/importer/ioplan_importer/trace_model/simulated.py": "a temporary folder",
    "dsl/ioplan/trace/record.py": "the kernel's tracer, and a temporary folder",
    "dsl/ioplan/cli/commands/trace/traces.py": "a temporary folder",
    "dsl/ioplan/trace/prepared.py": "the file that the door gives, or a temporary one",
    "dsl/ioplan/trace/convert.py": "the same",
    "dsl/ioplan/runner/guard/kept_ends.py": "a file in memory",
    "plugins/testing/ioplan_testing/subject.py": "the kit's own temporary folder",
    "dsl/ioplan/results/report/html/browser.py": "a temporary folder, for Chromium",
    "dsl/ioplan/planner/suites/git/fetch.py": "temporary files without a name, for git",
    "plugins/io_uring/engine/stamp.py": "beside an engine that was built",
    "plugins/witness/ioplan_witness/device.py": "the control file of a device",
    "plugins/fio/ioplan_fio/run_files.py": "the session's own folder",
    "plugins/fio/ioplan_fio/replayed.py": "the session's own folder",
    "plugins/fio/ioplan_fio/execution.py": "a temporary file without a name",
    "plugins/spdk/ioplan_spdk/bdevperf/execution.py": "the session's own folder",
    "plugins/spdk/ioplan_spdk/bdevperf/session.py": "the session's own folder",
    "dsl/ioplan/core/child.py": "a temporary file without a name",
    "dsl/ioplan/language/syntax/reader.py": "the parser's tables, beside it",
}
"""All that opens for writing, and what. A new place goes by the door, or here."""


def test_every_place_that_opens_for_writing_is_known():
    found = {
        str(path.relative_to(ROOT))
        for path in files_of(("dsl/ioplan", "plugins"))
        if any(places(path))
    }
    assert found == set(OWN)
