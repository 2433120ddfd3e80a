"""Installs what `make dist` made where nobody has developed it, and runs the demo.

    python packaging/try_out.py [NAME...]      # as root; all: writes the table
    python packaging/try_out.py --root FOLDER  # a system that is laid out, with Python

Debian's older and newer systems are laid out by debootstrap in build/roots, once. In
each the offline archive is unpacked and its installer run, without a network; then the
demo runs on a file there, and the steps of docs/paths.md on a loop device. Systems of
another processor run under qemu's user mode, which has no io_uring, so that the
engine's threads do the I/O. Where no Python is new enough, or none at all, the engine
alone does the demo's jobs, which it gets as JSON. The
table is that of docs/install.md.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shlex
import shutil
import subprocess
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dist import DIST
from msgspec import Struct
from reader_paths import DISK_BYTES, JUDGES, PATHS, lab_file, steps
from static_engine import BUILD, ROOT
from table import write_rows

ROOTS = BUILD / "roots"
HEAD = "| system | libc | architecture | how |\n|---|---|---|---|\n"
DEMO = "demo.ioplan"
WORDS = (
    "--target /work/scratch.bin --create 64MiB --set run_time=200ms --store /work/r.db"
)
PASSED = "held in 6 of 6 cells: expect errors == 0"
OUTSIDE = "env -i PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin HOME=/work LANG=C.UTF-8"


class Place(Struct, frozen=True):
    """A system to install on: of Debian a suite, with Python or not, or nothing."""

    name: str
    libc: str
    suite: str = ""
    machine: str = "x86_64"
    has_python: bool = True
    given: Path | None = None

    @property
    def root(self) -> Path:
        """Its files."""
        return self.given or ROOTS / f"{self.suite or 'empty'}-{self.machine}"

    @property
    def is_foreign(self) -> bool:
        """Whether its programs run under qemu."""
        return self.machine != platform.machine()


PLACES = (
    Place("Debian 11", "glibc 2.31", "bullseye", has_python=False),
    Place("Debian 12", "glibc 2.36", "bookworm"),
    Place("Debian 13", "glibc 2.41", "trixie"),
    Place("Debian 12", "glibc 2.36", "bookworm", "aarch64"),
    Place("no system", "none", has_python=False),
    Place("no system", "none", machine="aarch64", has_python=False),
)
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


def given(root: Path) -> Place:
    """A system that somebody else laid out, named as it names itself."""
    said = dict(
        line.split("=", 1)
        for line in (root / "etc/os-release").read_text().splitlines()
        if "=" in line
    )
    name = said["NAME"].strip('"').removesuffix(" GNU/Linux").removesuffix(" Linux")
    number = said.get("VERSION_ID") or said["VERSION_CODENAME"]  # of Debian's testing
    version = ".".join(number.strip('"').split(".")[:2])
    libc = "musl" if [*root.glob("lib/ld-musl-*")] else "glibc"
    return Place(f"{name} {version}", libc, given=root)


def lay_out(place: Place) -> None:
    """Make its files, unless they are there."""
    if place.given or (place.root / "complete").exists():
        return
    shutil.rmtree(place.root, ignore_errors=True)
    place.root.mkdir(parents=True)
    if place.suite:
        command = ["debootstrap", "--variant=minbase", "--include=python3-venv"]
        command += [
            f"--arch={ARCHITECTURES[place.machine]}",
            place.suite,
            str(place.root),
        ]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    (place.root / "complete").touch()


@contextmanager
def working_folder(place: Place) -> Iterator[Path]:
    """A new folder /work in it."""
    folder = place.root / "work"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def inside(place: Place, command: str, *codes: int) -> str:
    """What a command writes there; it has no network, and mounts of its own."""
    mounts = f"cd {place.root}; mkdir -p proc dev sys; mount -t proc proc proc; "
    mounts += "mount --rbind /dev dev; mount --rbind /sys sys; "
    unshare = ["unshare", "--mount", "--net", "--pid", "--fork", "sh", "-ec"]
    done = subprocess.run(
        [*unshare, f"{mounts} exec chroot {place.root} {command}"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode not in (0, *codes):
        raise SystemExit(f"{place.root.name}: {command}\n{done.stdout}{done.stderr}")
    return done.stdout


def run_demo(place: Place, folder: Path) -> str:
    """From the offline archive, with the system's own Python."""
    end = "-musl" if place.libc == "musl" else ""
    (archive,) = DIST.glob(f"*-offline-{place.machine}{end}.tar.gz")
    subprocess.run(["tar", "-xf", archive, "-C", folder], check=True)
    shutil.copy2(ROOT / "examples" / DEMO, folder)
    (unpacked,) = folder.glob("ioplan-*")
    inside(place, f"{OUTSIDE} sh /work/{unpacked.name}/install.sh /work/venv")
    # In so short a run, p99 may be undecided: 1.
    ioplan = f"{OUTSIDE} /work/venv/bin/ioplan"
    shown = inside(place, f"{ioplan} run /work/{DEMO} {WORDS}", 1)
    assert PASSED in shown, shown
    how = "offline archive, demo"
    if not place.is_foreign:
        run_paths(place, folder, f"{OUTSIDE} /work/venv/bin/ioplan")
        how += ", five-step paths"
    if not place.suite:
        return how
    (package,) = DIST.glob(f"*_{ARCHITECTURES[place.machine]}.deb")
    shutil.copy2(package, folder)
    inside(place, f"{OUTSIDE} dpkg -i /work/{package.name}")
    shown = inside(place, f"{OUTSIDE} ioplan backends --backend io_uring")
    assert "yes" in shown, shown
    inside(place, f"{OUTSIDE} dpkg -r ioplan")
    return f"{how}; .deb"


def run_paths(place: Place, folder: Path, ioplan: str) -> None:
    """Each command of docs/paths.md, in the user's home; a loop device is the drive."""
    disk = folder / "disk"
    disk.touch()
    os.truncate(disk, DISK_BYTES)
    config = folder / ".config/ioplan/lab.toml"
    config.parent.mkdir(parents=True)
    config.write_text(f"{lab_file(str(disk))}cannot_see_users = true\n")
    # The kernel names the file as it is called outside: that leads to it inside, too.
    outside = place.root / place.root.relative_to("/")
    outside.parent.mkdir(parents=True, exist_ok=True)
    outside.symlink_to("/")
    attach = ["losetup", "--find", "--show", "--direct-io=on", str(disk)]
    device = subprocess.run(attach, capture_output=True, text=True, check=True).stdout
    try:
        for number, reader in enumerate(PATHS):
            (folder / str(number)).mkdir()
            own = ioplan.replace("env -i", f"env -i IOPLAN_STORE=/work/{number}/r.db")
            for words in steps(reader, device.strip(), str(disk)):
                if "SESSION" in words:
                    words[words.index("SESSION")] = _first_session(place, own)
                line = f"cd /work/{number} && {own} {shlex.join(words)}"
                codes = (1,) if words[0] in JUDGES else ()
                inside(place, f"sh -c {shlex.quote(line)}", *codes)
    finally:
        subprocess.run(["losetup", "--detach", device.strip()], check=True)


def _first_session(place: Place, ioplan: str) -> str:
    """The oldest of the user's store."""
    rows = json.loads(inside(place, f"{ioplan} ls --format json"))["sessions"]
    return str(rows[-1]["id"])


def run_engine(place: Place, folder: Path) -> str:
    """The wheel's engine alone, with the demo's jobs."""
    (wheel,) = DIST.glob(f"*manylinux2014_{place.machine}*.whl")
    with zipfile.ZipFile(wheel) as packed:
        engine = Path(packed.extract("ioplan_io_uring/bin/ioplan-engine", folder))
    engine.chmod(0o755)
    (folder / "scratch.bin").write_bytes(bytes(64 << 20))
    for number, job in enumerate(jobs()):
        (folder / f"{number}.json").write_text(job)
        program = f"/work/ioplan_io_uring/bin/{engine.name}"
        shown = inside(place, f"{program} run /work/{number}.json")
        assert json.loads(shown.splitlines()[-1])["event"] == "result", shown
    return f"the engine alone, {number + 1} jobs of the demo"


def jobs() -> Iterator[str]:
    """The demo's runs, as the engine reads them."""
    words = ["plan", "examples/demo.ioplan", "--show-native", "--backend", "io_uring"]
    words += ["--target", "/work/scratch.bin", "--capacity", "64MiB"]
    done = subprocess.run(
        [ROOT / ".venv/bin/ioplan", *words, "--set", "run_time=200ms"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    decoder, text = json.JSONDecoder(), done.stdout
    while (start := text.find("{")) >= 0:
        job, end = decoder.raw_decode(text, start)
        text = text[end:]
        if "streams" in job:
            yield json.dumps(job)


def tried(place: Place) -> str:
    """Install and run; the row of the table."""
    lay_out(place)
    with working_folder(place) as folder:
        how = (run_demo if place.has_python else run_engine)(place, folder)
    if place.is_foreign:
        how += ", under qemu-user"
    return f"| {place.name} | {place.libc} | {place.machine} | {how} |"


def main() -> None:
    """Try all, or those whose folder is named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("roots", nargs="*", metavar="NAME")
    parser.add_argument("--root", type=Path, action="append", default=[])
    asked = parser.parse_args()
    own = [] if asked.root and not asked.roots else PLACES
    for place in (*own, *map(given, asked.root)):
        if not asked.roots or place.root.name in asked.roots or place.given:
            row = tried(place)
            print(row, flush=True)
            write_rows("tried", HEAD, row, key=3)


if __name__ == "__main__":
    main()
