"""Adopting hosts: what is looked at, what is sent, and what the lab file gets."""

from __future__ import annotations

import base64
import csv
import fcntl
import io
import json
import os
import platform
import subprocess
import sys
import zipfile
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path

import pytest
from command import ioplan
from refused import refused

from ioplan import ClusterFault
from ioplan.runner import Identity, Lab, LabHost, read_lab
from ioplan.runner.guard import Surveyed
from ioplan_lab import PROGRAMS
from ioplan_lab.cluster.adopt.adoption import LINK, host_of
from ioplan_lab.cluster.adopt.lab_entries import (
    drive_entries,
    host_entries,
    with_entries,
)
from ioplan_lab.cluster.adopt.look import Look, look
from ioplan_lab.cluster.adopt.look_at_host import use
from ioplan_lab.cluster.adopt.wheels import make_wheels, needed

TEXT = """# the lab of the third floor
scheduler = "tls://10.0.0.1:8786"   # the desk

[hosts.h1]   # the first one
address = "10.0.0.11"

[targets.fast]
host = "h1"
serial = "S1"   # behind the switch
"""


def drive(kernel: str, kind: str | None = "no-entry", **said: object) -> Surveyed:
    known = Identity(kernel=kernel, **said)  # type: ignore[arg-type]
    found = {"path": f"/dev/{kernel}", "identity": known, "verdict": "readable"}
    return Surveyed.model_validate(found | {"kind": kind})


def lab_at(folder: Path, text: str) -> Lab:
    path = folder / "lab.toml"
    path.write_text(text)
    return read_lab(path)


def test_what_stands_in_a_lab_file_stays_and_twice_is_once(tmp_path: Path) -> None:
    lab = lab_at(tmp_path, TEXT)
    name, host = host_of("h2=root@10.0.0.12:2222", lab, "/opt/ioplan")
    found = {
        "h1": [drive("nvme0n1", serial="S1"), drive("nvme1n1", serial="S2", model="M")],
        "h2": [
            drive("sda", "root-disk", serial="S3"),
            drive("sdb", wwid="naa.5"),
            drive("sdb1", wwid="naa.5", partition=1),
            drive("loop0", serial="S9"),
            drive("nvme0n1", serial="S4", nsid=1),
            drive("nvme0n2", serial="S4", nsid=2),
        ],
    }
    text = with_entries(TEXT, "hosts", host_entries(lab, {name: host}))
    entries, notes = drive_entries(lab, found)
    text = with_entries(text, "targets", entries)
    assert notes == ["h2: /dev/sda is in use: skipped"]
    kept = text.splitlines()
    assert all(line in kept for line in TEXT.splitlines())
    after = lab_at(tmp_path, text)
    assert after.hosts["h2"] == LabHost(
        address="10.0.0.12", user="root", port=2222, python="/opt/ioplan/bin/python"
    )
    added = {name: one for name, one in after.targets.items() if name != "fast"}
    assert {name: one.serial or one.wwid for name, one in added.items()} == {
        "h1-nvme1n1": "S2",
        "h2-sdb": "naa.5",
        "h2-nvme0n1": "S4",
        "h2-nvme0n2": "S4",
    }
    assert [one.nsid for one in added.values()] == [None, None, 1, 2]
    assert not any(one.writable for one in added.values())
    assert text.count("writable = false") == 4
    again, _ = drive_entries(after, found)
    assert (again, host_entries(after, {name: host})) == ({}, {})
    assert with_entries(text, "targets", {}) == text


def test_a_host_is_named_with_its_address_once(tmp_path: Path) -> None:
    lab = lab_at(tmp_path, TEXT)
    assert host_of("h1", lab, "/x") == ("h1", lab.hosts["h1"])
    assert host_of("h1=10.0.0.11", lab, "/x")[1] == lab.hosts["h1"]
    assert host_of("n=[fe80::1]:22", lab, "/x")[1].address == "fe80::1"
    for word in ("h1=10.0.0.99", "h2=", "-h", "h2=a b"):
        with refused(ClusterFault.UNKNOWN_HOST, "host"):
            host_of(word, lab, "/x")


def test_a_wheel_is_what_is_installed_with_the_digests_of_it(tmp_path: Path) -> None:
    names = {one.name for one in needed("ioplan", "lab")}
    assert {"ioplan", "numpy", "distributed", "cryptography"} <= names
    assert "pytest" not in names
    own = {"tomli_w", "msgpack"}
    given = [
        tmp_path / f"{name}-{one.version}-py3-none-any.whl"
        for one in needed("ioplan", "lab")
        if (name := one.name.replace("-", "_")) not in own
    ]
    made = make_wheels(tmp_path, given)
    assert len(made) == len(names) and {*given} <= {*made}
    wheel, msgpack = sorted({*made} - {*given}, reverse=True)
    assert wheel.name.endswith("-py3-none-any.whl")
    assert platform.machine() in msgpack.name
    with zipfile.ZipFile(wheel) as file:
        (record,) = (one for one in file.namelist() if one.endswith("/RECORD"))
        rows = list(csv.reader(io.StringIO(file.read(record).decode())))
        assert {row[0] for row in rows} == set(file.namelist())
        for name, digest, _ in rows[:-1]:
            plain = base64.urlsafe_b64encode(sha256(file.read(name)).digest())
            assert digest == f"sha256={plain.decode().rstrip('=')}"
    with refused(ClusterFault.INSTALL_FAILED, "--wheels FOLDER"):
        make_wheels(tmp_path, [one for one in given if "ioplan" not in one.name])


def test_what_cannot_be_installed_is_said_before_anything_is_done() -> None:
    here = platform.python_version()
    good = Look(
        machine=platform.machine(),
        pythons={"/usr/bin/python3": here},
        versions={},
        folder="",
        root=True,
        systemd=False,
        unit="",
        lanes=0,
    )
    assert (good.fault("/opt"), good.python_for_here()) == ("", "/usr/bin/python3")
    for change, said in (
        ({"machine": "riscv64"}, "it is riscv64"),
        ({"pythons": {"/usr/bin/python3": "3.6.8"}}, "(found: 3.6.8)"),
        ({"pythons": {}}, "apt install python3-venv"),
        ({"folder": "used"}, "/opt has other files in it"),
    ):
        assert said in good.model_copy(update=change).fault("/opt")


@pytest.mark.slow
@pytest.mark.long
def test_a_host_is_looked_at_and_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By any Python there; lanes are those that hold their lock."""
    monkeypatch.delenv("IOPLAN_STORE", raising=False)
    lock = tmp_path / "lanes/job/lane/lock"
    lock.parent.mkdir(parents=True)
    lock.touch()
    own = Path(sys.executable).parents[1]
    host = LabHost(
        python=str(own / "bin/python"), reach=("env",), store=str(tmp_path / "r.db")
    )
    with lock.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        found = look("h1", host, PROGRAMS)
    assert (found.lanes, found.folder, found.up_to_date) == (1, "own", True)
    assert (use(tmp_path / "none"), use(tmp_path), use(own)) == ("", "used", "own")


@pytest.mark.slow
@pytest.mark.long
def test_nothing_is_done_that_nobody_agreed_to(tmp_path: Path) -> None:
    """Of two hosts, one is down: the other one is shown."""
    path = tmp_path / "lab.toml"
    text = 'scheduler = "tls://10.0.0.1:8786"\n'
    for name, reach in (("new", "env"), ("down", "false")):
        python = tmp_path / name / "bin/python"
        text += f'[hosts.{name}]\npython = "{python}"\nreach = {json.dumps([reach])}\n'
    path.write_text(text)
    done = ioplan("lab", "adopt", "new", "down", "--lab", path)
    assert done.code == 2
    assert f"new: install ioplan {version('ioplan')} in {tmp_path}/new" in done.out
    assert "error: down is skipped: the host down does not answer" in done.err
    assert "not a terminal: add --yes" in done.err
    assert not (tmp_path / "new").exists() and path.read_text() == text
    none = ioplan("lab", "adopt", "x", "--lab", path, "--wheels", tmp_path, "--yes")
    assert none.code == 3 and path.read_text() == text


@pytest.mark.slow
@pytest.mark.parametrize("root", [True, False])
def test_the_program_is_on_the_path(tmp_path: Path, root: bool) -> None:
    """Linked once, renewed where it leads nowhere; what an admin put there is kept."""
    folder, link = tmp_path / "opt", tmp_path / ".local/bin/ioplan"
    (folder / "bin").mkdir(parents=True)
    (folder / "bin/ioplan").touch()
    script = LINK.format(folder=folder).replace("$(id -u)", "0" if root else "1")
    script = script.replace("/usr/local/bin", str(tmp_path / "bin"))
    link = tmp_path / "bin/ioplan" if root else link

    def install() -> None:
        call = ["sh", "-eu", "-c", script]
        subprocess.run(call, check=True, env={**os.environ, "HOME": str(tmp_path)})

    install()
    install()
    assert link.readlink() == folder / "bin/ioplan"
    link.unlink()
    link.symlink_to(tmp_path / "nowhere")
    install()
    assert link.readlink() == folder / "bin/ioplan"
    link.unlink()
    link.write_text("an admin's")
    install()
    assert link.read_text() == "an admin's"
