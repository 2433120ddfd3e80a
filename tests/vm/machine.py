"""A throw-away virtual machine with odd disks: what no loop device can show."""

from __future__ import annotations

import fcntl
import json
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
VMLAB = ROOT.parent / "shared" / "vmlab" / "vmlab"
QEMU = "qemu-system-x86_64"
KNOWN = HERE / "rows.json"
BUILD_S, RUN_S = 600, 1500
MOST_LINES, MOST_COLUMNS = 200, 1000
CUT_OFF = 125
"""The exit code of a machine that lost its power."""

STEADY_CLOCK = "clocksource=hpet no_timer_check"
"""On a loaded host the usual one is calibrated wrong, and runs several times too fast, and
the kernel may find that its timer does not tick."""

# The machine's own /tmp would hide a clone that lies there. Rows leave as the
# standard output, all that is for people as the standard error.
INSIDE = """
umount -l /tmp; mkdir -p /tmp; cd {root}
{pytest} {scripts} >&2
code=$?
test ! -e {rows} || cat {rows}
exit $code
"""
PYTEST = (
    "-m pytest --noconftest -c /dev/null --rootdir . -p no:cacheprovider "
    "--basetemp /dev/shm/pytest --tb short --durations 8 -v -x -rfE"
)
ROWS = "/dev/shm/rows.jsonl"
QUIET = {
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
    "TMPDIR": "/dev/shm",
    "IOPLAN_LAB_ROWS": ROWS,
    "PYTHONPATH": str(HERE.parent / "support"),
    "COLUMNS": "80",
}


class Ended(Struct, frozen=True):
    """What became of a machine."""

    code: int
    out: str
    err: str

    @property
    def rows(self) -> list[dict[str, Any]]:
        """What the scenarios found, for the tables of the documents."""
        return [json.loads(line) for line in self.out.splitlines()]


def what_is_missing() -> str:
    """Why no machine can be booted here; empty if one can."""
    if not VMLAB.is_file():
        return "vmlab is not beside the clone (../shared/vmlab)"
    tools = (QEMU, "apt-get", "depmod", "udevadm", "dmsetup", "nvme", "mkfs.ext4")
    tools += ("fio", "mdadm", "pvcreate", "sgdisk", "wipefs")
    missing = [tool for tool in tools if not shutil.which(tool)]
    return f"not installed: {', '.join(missing)}" if missing else ""


NEEDS_VMLAB = [
    pytest.mark.machine,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(
        bool(what_is_missing()),
        reason=f"LEFT OUT: tests on emulated NVMe devices: {what_is_missing()}",
    ),
]


def run_in_vm(
    scripts: str,
    *devices: str,
    disks: Path | None = None,
    shared: Path | None = None,
    more: Iterable[str] = (),
) -> Ended:
    """Boot, run files of scenarios as root, and throw the machine away.

    `disks` keeps the devices' contents for a later machine, both sides see what is in
    `shared`, and `more` are the emulator's own words. A build of the guest, which the
    first machine needs, is not in the timeout.
    """
    subprocess.run([VMLAB, "build"], check=True, timeout=BUILD_S)
    words = [VMLAB, "run", "--root", "host", "--udev", "--timeout", str(RUN_S)]
    words += ["--cpus", "1", "--console-lines", "12", "--append", STEADY_CLOCK]
    words += [word for name in devices for word in ("--dev", name)]
    words += [word for pair in QUIET.items() for word in ("--env", "=".join(pair))]
    words += ["--size", "64M", "--disks", str(disks)] if disks else ["--size", "64M"]
    words += [word for one in more for word in ("--qemu", one)]
    if shared:
        words += ["--share", str(shared), "--env", f"IOPLAN_LAB_SHARED={shared}"]
    done = subprocess.run(
        [*words, "--", "sh", "-c", _command(scripts)],
        check=False,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=RUN_S + 60,
    )
    return Ended(done.returncode, done.stdout, done.stderr)


def _command(scripts: str) -> str:
    return INSIDE.format(
        root=shlex.quote(str(ROOT)),
        pytest=f"{shlex.quote(sys.executable)} {PYTEST}",
        scripts=shlex.join(str(HERE / one) for one in scripts.split()),
        rows=ROWS,
    )


def check(machine: str, ended: Ended, renew: bool) -> None:
    """All scenarios went well, and found what the documents' tables say."""
    if ended.code:
        lines = (line[:MOST_COLUMNS] for line in ended.err.splitlines())
        shown = "\n".join(list(lines)[-MOST_LINES:])
        pytest.fail(f"exit code {ended.code}\n{shown}", pytrace=False)
    found = [{"machine": machine, **row} for row in ended.rows]
    if renew:
        _renew(machine, found)
    known = [one for one in _known() if one["machine"] == machine]
    other = [one for one in found if one not in known]
    assert found == known, f"not in {KNOWN.name}: {other}"


def _known() -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(KNOWN.read_text())
    return rows


def _renew(machine: str, found: list[dict[str, Any]]) -> None:
    """Replace the machine's own rows, locked: machines run side by side."""
    with KNOWN.open("r+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        others = [one for one in json.load(file) if one["machine"] != machine]
        rows = sorted(others + found, key=lambda one: str(one["machine"]))
        file.seek(0)
        file.truncate()
        file.write(json.dumps(rows, indent=2) + "\n")
