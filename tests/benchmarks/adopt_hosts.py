"""How long hosts take to be adopted: `python tests/benchmarks/adopt_hosts.py [HOSTS]`.

Hosts are network namespaces with a server of ssh each, 2 unless told. Each is adopted,
once more, and upgraded; the last one is adopted by the role of examples/ansible, if
`ANSIBLE` names a folder with ansible-playbook. All is checked: what the lab file has,
that the second time changes nothing, and that a plan runs on the host. Needs root.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from netlab import PORT, NetLab, Place, netlab
from paths import ROOT

from ioplan.runner import read_lab
from ioplan_lab.cluster.adopt.wheels import make_wheels

PLAN = 'test "T" { run random 4KiB 70/30 for 1s }\n'


def main() -> None:
    """Print a line for each step."""
    count = int(sys.argv[1]) if sys.argv[1:] else 2
    names = [f"h{number}" for number in range(1, count + 1)]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        own = _built(folder / "own")
        (folder / "wheels").mkdir()
        with _timed("wheels of what is installed here"):
            wheels = make_wheels(folder / "wheels", [own])
        for wheel in wheels:
            if wheel.parent != folder / "wheels":
                wheel.rename(folder / "wheels" / wheel.name)
        with netlab(folder, *names) as lab:
            _adopt_all(lab, folder)


class _timed:
    """Print how long a block took."""

    def __init__(self, what: str) -> None:
        self.what = what

    def __enter__(self) -> None:
        self.began_s = time.monotonic()

    def __exit__(self, *_: object) -> None:
        print(f"{time.monotonic() - self.began_s:6.1f} s  {self.what}", flush=True)


def _built(folder: Path) -> Path:
    """A wheel of the tree, which the coordinator runs without one."""
    words = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d"]
    subprocess.run([*words, str(folder)], cwd=ROOT, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


def _adopt_all(lab: NetLab, folder: Path) -> None:
    drives = lab.file.read_text().partition("[targets")[2]
    begin = f'# the lab\nscheduler = "tls://{lab.coordinator.address}:{PORT}"  # here\n'
    lab.file.write_text(begin)
    *hosts, last = lab.hosts.values()
    ansible = os.environ.get("ANSIBLE", "")
    for host in hosts if ansible else lab.hosts.values():
        words = _words(lab, host, folder)
        with _timed(f"{host.name}: adopted"):
            said = _did(lab, *words)
        assert f"{host.name}: ioplan " in said and "is installed" in said, said
        before = lab.file.read_text()
        with _timed(f"{host.name}: adopted again"):
            said = _did(lab, *words[:-1])
        assert f"{host.name}: is up to date" in said, said
        assert lab.file.read_text() == before
        _make_older(host)
        with _timed(f"{host.name}: upgraded"):
            _did(lab, "lab", "upgrade", host.name, *_usual(lab, folder))
    if ansible:
        for time_of in ("adopted by Ansible", "and again"):
            with _timed(f"{last.name}: {time_of}"):
                said = _play(lab, last, folder, ansible)
        assert "changed=0" in said, said
    assert lab.file.read_text().startswith(begin)
    assert set(read_lab(lab.file).hosts) == set(lab.hosts)
    _run(lab, "[targets" + drives, folder)


def _words(lab: NetLab, host: Place, folder: Path) -> list[str]:
    asked = f"{host.name}=root@{host.address}"
    folders = ["--folder", host.folder / "opt", *_usual(lab, folder)]
    return ["lab", "adopt", asked, *map(str, folders)]


def _usual(lab: NetLab, folder: Path) -> list[str]:
    return ["--lab", str(lab.file), "--wheels", str(folder / "wheels"), "--yes"]


def _did(lab: NetLab, *words: str) -> str:
    done = lab.coordinator.begin(*words)
    said, _ = done.communicate(timeout=1200)
    assert done.returncode == 0, said
    return said


def _make_older(host: Place) -> None:
    """As if another version had been installed."""
    (info,) = host.folder.glob("opt/lib/python*/site-packages/ioplan-*.dist-info")
    older = info.with_name("ioplan-0.0.1.dist-info")
    info.rename(older)
    record = older / "RECORD"
    record.write_text(record.read_text().replace(info.name, older.name))


def _play(lab: NetLab, host: Place, folder: Path, ansible: str) -> str:
    said = {
        "ansible_host": host.address,
        "ansible_user": "root",
        "ansible_python_interpreter": "/usr/bin/python3",
        "ansible_ssh_common_args": f"'-F {folder / 'ssh_config'}'",
        "ioplan_lab": str(lab.file),
        "ioplan_folder": str(host.folder / "opt"),
        "ioplan_wheels": str(folder / "wheels"),
        "ioplan_command": str(Path(sys.executable).with_name("ioplan")),
    }
    inventory = folder / "inventory.ini"
    values = " ".join(f"{name}={value}" for name, value in said.items())
    inventory.write_text(f"[lab]\n{host.name} {values}\n")
    words = [f"{ansible}/ansible-playbook", "-i", inventory, "site.yml"]
    words += ["-e", '{"ioplan_packages": []}']
    done = subprocess.run(
        lab.coordinator.command(*words),
        cwd=ROOT / "examples/ansible",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def _run(lab: NetLab, drives: str, folder: Path) -> None:
    """On the hosts that were adopted, with the drives of the lab of namespaces."""
    lab.file.write_text(f"{lab.file.read_text()}\n{drives}")
    plan = folder / "plan.ioplan"
    plan.write_text(PLAN)
    with _timed("a plan of 1 s on all"):
        said = _did(lab, *map(str, lab.run(plan, "all")))
    assert said.count("1 runs") == len(lab.hosts), said


if __name__ == "__main__":
    main()
