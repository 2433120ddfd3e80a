"""ioplan without root: the device's group, and nothing else, as docs/security.md has it."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from command import plan_file, program
from msgspec import Struct

from targets import MIB, lab_file, loop_device

pytestmark = pytest.mark.machine

NOBODY, GROUP = 65534, 64123
"""A user without rights, and a group that nothing else on this machine has."""
LOCKED = "--memlock=65536:65536"
"""Old systems let ordinary users lock no more; buffers that io_uring keeps count."""

PLAN = """precondition new { purge }
test "Reads" { after new
 run random 1MiB 100/0, qd 64 for 200ms }
test "Writes" { run random 4KiB 0/100, qd 8 for 200ms }"""
"""64 MiB of buffers, more than an ordinary user may lock in memory."""


def reason():
    """Why it cannot be tried here."""
    if os.geteuid() != 0:
        return "needs root, to make a device that is somebody else's"
    if not shutil.which("setpriv"):
        return "setpriv is not installed (util-linux)"
    done = subprocess.run(
        [*as_nobody(), sys.executable, "-c", "import ioplan.cli"],
        capture_output=True,
        cwd="/",
        check=False,
    )
    return "" if done.returncode == 0 else "others may not run this Python"


def as_nobody(*groups):
    given = [f"--groups={','.join(map(str, groups))}"] if groups else ["--clear-groups"]
    return ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", *given]


@pytest.fixture(scope="module", autouse=True)
def _possible():
    if why := reason():
        pytest.skip(f"LEFT OUT: ioplan as an ordinary user: {why}")


class Home(Struct, frozen=True):
    """A folder of the user's, with a device that belongs to the group."""

    folder: Path
    node: Path
    lab: Path
    backing: Path

    def ioplan(self, *words, groups=(GROUP,)):
        command = [
            "prlimit",
            LOCKED,
            *as_nobody(*groups),
            sys.executable,
            "-m",
            "ioplan.cli",
        ]
        # the state folder is root's: what this user may not enter does not stop a run
        own = {"HOME": self.folder, "XDG_DATA_HOME": self.folder / "data"}
        return program(
            *command,
            *map(str, words),
            cwd=self.folder,
            env={**os.environ, **own, "IOPLAN_LAB": self.lab},
            timeout=120,
        )

    def run(self, plan, *words, **how):
        path = plan_file(self.folder, plan)
        return self.ioplan("run", path, "--target", "fast", "--json", *words, **how)


@pytest.fixture
def home():
    """Not in pytest's own folder, which others may not enter."""
    folder = Path(tempfile.mkdtemp(prefix="ioplan-user-"))
    backing = folder / "disk.img"
    backing.write_bytes(os.urandom(64 * MIB))
    lab = lab_file(folder, backing_file=str(backing), writable=True)
    try:
        with loop_device(backing) as node:
            before = node.stat()
            shutil.chown(node, 0, GROUP)
            node.chmod(0o660)
            for path in (folder, lab):
                os.chown(path, NOBODY, NOBODY)
            try:
                yield Home(folder, node, lab, backing)
            finally:
                os.chown(node, before.st_uid, before.st_gid)
                node.chmod(before.st_mode & 0o777)
    finally:
        shutil.rmtree(folder)


def records(done):
    assert done.returncode == 0, done.stderr
    lines = map(json.loads, done.stdout.splitlines())
    return [line["record"] for line in lines if line["type"] == "record"]


@pytest.mark.long
@pytest.mark.parametrize("backend", ["io_uring", "fio"])
def test_the_group_is_enough(home, backend):
    words = ("--backend", backend, "--overwrite-data", home.backing)
    done = home.run(PLAN, *words)
    made = records(done)
    assert [one["status"] for one in made] == ["ok", "ok"]
    assert all(one["total"]["ios"] for one in made)
    assert "purge: discarded; 128 marks read back as zeros" in done.stdout
    owned = [p for p in home.folder.rglob("*") if p.stat().st_uid == NOBODY]
    assert any(p.name == "results.db" for p in owned)


@pytest.mark.long
def test_without_the_group_it_is_told_what_is_missing(home):
    done = home.run(PLAN, groups=())
    assert done.returncode == 2
    assert "no permission" in done.stderr and "group" in done.stderr


@pytest.mark.long
def test_other_devices_are_not_touched(home):
    """The group opens one device; that it is the lab's one is still checked."""
    home.lab.write_text('[targets.fast]\nbacking_file = "/other"\nwritable = true\n')
    plan = plan_file(home.folder, 'test "W" { run random 4KiB 0/100 for 1MiB }')
    words = ("run", plan, "--target", home.node, "--overwrite-data", home.backing)
    before = home.backing.read_bytes()
    done = home.ioplan(*words)
    assert done.returncode == 2, done.stdout
    assert home.backing.read_bytes() == before
