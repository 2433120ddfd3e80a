"""A host is adopted over ssh, adopted again, upgraded, and runs a plan."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from command import plan_file
from netlab import NEEDS_NETNS, PORT, NetLab, netlab
from paths import ROOT

from ioplan.runner import read_lab
from ioplan_lab import make_wheels

pytestmark = [*NEEDS_NETNS, pytest.mark.long, pytest.mark.timeout(900)]


def built(folder: Path) -> Path:
    """Wheels of what is installed here, and of this tree, which is not from one."""
    folder.mkdir()
    words = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder]
    subprocess.run([*map(str, words)], cwd=ROOT, check=True, capture_output=True)
    make_wheels(folder, [*folder.glob("*.whl")])
    return folder


def lab_command(lab: NetLab, *words: str | Path) -> str:
    """What a command prints at the coordinator that must succeed."""
    done = lab.coordinator.begin(*words)
    out, _ = done.communicate(timeout=600)
    assert done.returncode == 0, out
    return out


def make_older(folder: Path) -> None:
    """As if another version had been installed."""
    (info,) = folder.glob("lib/python*/site-packages/ioplan-*.dist-info")
    older = info.rename(info.with_name("ioplan-0.0.1.dist-info"))
    record = older / "RECORD"
    record.write_text(record.read_text().replace(info.name, older.name))


def test_it_gets_ioplan_once_and_runs_a_plan(tmp_path: Path) -> None:
    wheels = built(tmp_path / "wheels")
    with netlab(tmp_path, "h1") as lab:
        (host,) = lab.hosts.values()
        drives = lab.file.read_text().partition("[targets")[2]
        begin = (
            f'# the lab\nscheduler = "tls://{lab.coordinator.address}:{PORT}"  # here\n'
        )
        lab.file.write_text(begin)
        usual = ("--lab", lab.file, "--wheels", wheels, "--yes")
        opt = ("--folder", host.folder / "opt")
        words = ("lab", "adopt", f"h1=root@{host.address}", *opt, *usual)
        out = lab_command(lab, *words)
        assert "h1: ioplan " in out and "is installed" in out, out
        adopted = lab.file.read_text()
        assert adopted.startswith(begin) and [*read_lab(lab.file).hosts] == ["h1"]
        assert "h1: is up to date" in lab_command(lab, *words)
        assert lab.file.read_text() == adopted
        make_older(host.folder / "opt")
        out = lab_command(lab, "lab", "upgrade", "h1", *usual)
        assert "is installed" in out, out
        lab.file.write_text(f"{adopted}\n[targets{drives}")
        plan = plan_file(tmp_path, 'test "T" { run random 4KiB 70/30 for 1s }')
        assert "1 runs" in lab_command(lab, *lab.run(plan, "all"))
