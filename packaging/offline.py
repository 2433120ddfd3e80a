"""Packages for machines without a network: an archive with an installer, and a .deb.

Both hold ioplan's wheel and those of all that it depends on, for each Python that is
supported on one processor with one kind of libc, and the documents as pages. A .deb
cannot use Debian's own Python packages: those of its older systems are too old. The
archives are packed by gzip, which even the smallest system can unpack.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from static_engine import BUILD, ROOT

PYTHONS = ("3.11", "3.12", "3.13", "3.14")
MADE = 1767225600
"""The time of all that is packed, in seconds: a build of the same sources is equal."""
LIBCS = {
    "glibc": ("manylinux_2_28", "manylinux_2_27", "manylinux_2_17", "manylinux2014"),
    "musl": ("musllinux_1_2", "musllinux_1_1"),
}
"""What the wheels of numpy and pydantic ask for: RHEL 8 has glibc 2.28, Alpine musl."""
INSTALLER = ROOT / "packaging/install.sh"
DEBIAN = {"x86_64": "amd64", "aarch64": "arm64"}
PLACE = "/usr/lib/ioplan"
CONTROL = """\
Package: ioplan
Version: {version}
Architecture: {architecture}
Maintainer: The ioplan authors <ioplan@localhost>
Section: utils
Priority: optional
Depends: python3 (>= 3.11), python3-venv
Suggests: fio, nvme-cli
Description: storage benchmarks from test plans
 ioplan runs storage test plans, which are text: precondition, sweep, measure,
 judge. Its I/O engine, and all of the Python packages that it needs, are in here.
"""
AFTER = f"""#!/bin/sh
set -e
PYTHON=/usr/bin/python3 sh /usr/share/ioplan/install.sh {PLACE} >/dev/null
ln -sf {PLACE}/bin/ioplan /usr/bin/ioplan
"""
BEFORE = f"#!/bin/sh\nset -e\nrm -rf {PLACE} /usr/bin/ioplan\n"


def folder_of(wheel: Path, machine: str, libc: str) -> Path:
    """All wheels with the installer, in a folder named after the version."""
    name = f"ioplan-{version_of(wheel)}"
    place = BUILD / "offline" / libc / machine / name
    shutil.rmtree(place.parent, ignore_errors=True)
    (place / "wheels").mkdir(parents=True)
    platforms = [f"{one}_{machine}" for one in LIBCS[libc]]
    for python in PYTHONS:
        _download(wheel, platforms, python, place / "wheels")
    (place / INSTALLER.name).write_text(installer(machine, libc))
    return place


def installer(machine: str, libc: str) -> str:
    """An archive's script; where its wheels do not fit, it says what they are for."""
    system = f"Python {PYTHONS[0]} to {PYTHONS[-1]}, {machine} and {libc}"
    return INSTALLER.read_text().replace("SYSTEM", system)


def version_of(wheel: Path) -> str:
    """By the wheel's name."""
    return wheel.name.split("-")[1]


def _download(wheel: Path, platforms: list[str], python: str, place: Path) -> None:
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--dest", str(place)]
    pip += ["--disable-pip-version-check", "--only-binary=:all:", str(wheel)]
    pip += ["--python-version", python, "--implementation", "cp"]
    pip += [word for one in platforms for word in ("--platform", one)]
    subprocess.run(pip, check=True)


def archive(folder: Path, end: str, dist: Path) -> Path:
    """The folder as one file, named by processor and libc."""
    made = dist / f"{folder.name}-offline-{end}.tar.gz"
    pack = ["tar", "--owner=0", "--group=0", "--sort=name", f"--mtime=@{MADE}"]
    pack += ["--use-compress-program=gzip -n", "-cf", str(made)]
    pack += ["-C", str(folder.parent), folder.name]
    subprocess.run(pack, check=True)
    return made


def debian_package(folder: Path, machine: str, dist: Path) -> Path:
    """The folder as a package, which installs it where the package manager says."""
    tree = folder.parent / "deb"
    shutil.copytree(folder, tree / "usr/share/ioplan")
    control = tree / "DEBIAN"
    control.mkdir()
    version, architecture = folder.name.removeprefix("ioplan-"), DEBIAN[machine]
    (control / "control").write_text(
        CONTROL.format(version=version, architecture=architecture)
    )
    for name, script in (("postinst", AFTER), ("prerm", BEFORE)):
        (control / name).write_text(script)
        (control / name).chmod(0o755)
    made = dist / f"ioplan_{version}_{architecture}.deb"
    pack = ["dpkg-deb", "--root-owner-group", "-Znone", "--build", str(tree), str(made)]
    subprocess.run(pack, check=True, stdout=subprocess.DEVNULL)
    return made
