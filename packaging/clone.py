"""Makes a clone ready: what it needs goes into .venv, each part once.

    python3 packaging/clone.py demo|dev|dist

What this machine lacks is named first, with the command that brings it. Without Rust
a demo runs all the same, on fio or on the simulated drive. A call goes on where the one
before failed. Python 3.6 must read this file, to say that it is too old.
"""

import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from importlib.util import find_spec
from pathlib import Path

OLDEST_PYTHON = (3, 11)
if sys.version_info < OLDEST_PYTHON or sys.platform != "linux":
    if sys.platform != "linux":
        sys.exit(f"ioplan runs on Linux only; this is {sys.platform}")
    sys.exit(
        "Python 3.11 or newer is needed, and {} is {}.{}; install a newer one and "
        "name it: make PYTHON=python3.12".format(sys.executable, *sys.version_info[:2])
    )

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "plugins/io_uring/engine"))
import rust  # noqa: E402
from stamp import CRATES, fits, in_wheel, place_of, put, stamp_of  # noqa: E402

VENV = ROOT / ".venv"
NEEDED_MB = {"demo": 500, "dev": 2500, "dist": 1500}
EXTRAS = {"demo": "", "dev": "[dev]", "dist": "[dist]"}
VENV_COMMANDS = {
    "debian": "sudo apt-get install python3-venv",
    "alpine": "sudo apk add python3",
}
RUST_COMMANDS = {
    "debian 12": "sudo apt-get install cargo-web",
    "debian": "sudo apt-get install cargo",
    "ubuntu": "sudo apt-get install gcc rustup && rustup default stable",
    "fedora": "sudo dnf install cargo gcc",
    "arch": "sudo pacman -S rust gcc",
    "alpine": "sudo apk add cargo",
    "suse": "sudo zypper install cargo gcc",
}
OTHER_RUST = "see https://rustup.rs"
OWN_SHARE = {"ioplan-engine": 0.75, "ioplan-device": 0.25}
"""How much of a build's time the program's own crate takes, after all others."""
CARGO_COUNT = re.compile(r" (\d+)/(\d+): ")
SHOW_COUNT = {"CARGO_TERM_PROGRESS_WHEN": "always", "CARGO_TERM_PROGRESS_WIDTH": "80"}
"""Variables that make cargo print how many crates it has built, into a pipe, too."""


# What this machine lacks.


def advice(commands: dict[str, str], other: str) -> str:
    """The command for this distribution, or for the one that it is like."""
    try:
        system = platform.freedesktop_os_release()
    except OSError:
        return other
    name, version = system.get("ID", ""), system.get("VERSION_ID", "")
    likes = system.get("ID_LIKE", "").split()
    names = [f"{name} {version}", name, *likes]
    return next((commands[one] for one in names if one in commands), other)


def faults(kind: str) -> list[str]:
    """Why nothing can be installed; empty where all is well."""
    texts = []
    if not os.access(ROOT, os.W_OK):
        texts.append(f"{ROOT} is read-only: copy it, and call make in the copy")
    if not (find_spec("venv") and find_spec("ensurepip")):
        command = advice(VENV_COMMANDS, "install your distribution's package of it")
        texts.append(f"Python's module venv is missing: {command}")
    free_mb = shutil.disk_usage(ROOT).free >> 20
    if free_mb < NEEDED_MB[kind] and not mark_of(kind).exists():
        texts.append(f"{NEEDED_MB[kind]} MB of disk are needed, and {free_mb} are free")
    return texts


def rust_fault() -> str:
    """Why the programs cannot be built, with the command that helps; else empty."""
    fault = rust.fault()
    return fault and f"{fault}: {advice(RUST_COMMANDS, OTHER_RUST)}"


# Each part, with one line that says how far it is.


class Progress:
    """One line that moves at a terminal; elsewhere a line now and then."""

    def __init__(self, text: str) -> None:
        self.text, self.detail, self.start_s = text, "", time.monotonic()
        self.end_s = 0.0
        self.moves = sys.stderr.isatty()
        self.end = "\r" if self.moves else "\n"
        self.show()
        self.ended = threading.Event()
        threading.Thread(target=self._repeat, daemon=True).start()

    def _repeat(self) -> None:
        while not self.ended.wait(1 if self.moves else 20):
            self.show()

    def expect(self, share: float) -> None:
        """Estimate the end from how much is done."""
        now_s = time.monotonic()
        self.end_s = self.start_s + (now_s - self.start_s) / share

    def show(self) -> None:
        """Print what is done now, since when, and how long it may still take."""
        now_s = time.monotonic()
        line = f"{self.text}: {self.detail or 'begun'}, {now_s - self.start_s:.0f} s"
        if self.end_s > now_s:
            line += f", about {self.end_s - now_s:.0f} s left"
        clear = "\x1b[K" if self.moves else ""
        print(f"{line[:79]}{clear}", end=self.end, file=sys.stderr, flush=True)

    def done(self) -> None:
        """Print how long it took."""
        self.ended.set()
        self.detail, self.end, self.end_s = "done", "\n", 0.0
        self.show()

    def fail(self, lines: list[str], command: str) -> None:
        """End with the last lines of a program, and how to go on."""
        self.ended.set()
        output = "\n".join(lines[-15:])
        sys.exit(f"\n{output}\nfailed: {command}\nThe next make goes on here.")


def install_packages(kind: str) -> None:
    """The environment, and by pip what pyproject.toml names, unless both are there."""
    if is_installed(kind) or (kind == "demo" and is_installed("dev")):
        return
    progress = Progress("Python packages")
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    clear = [] if (VENV / f"lib/python{version}").exists() else ["--clear"]
    run_showing([sys.executable, "-m", "venv", *clear, str(VENV)], progress)
    pip = [str(VENV / "bin/python"), "-m", "pip", "install", "--progress-bar=off"]
    pip += ["--disable-pip-version-check", "-e", f".{EXTRAS[kind]}"]
    run_showing(pip, progress)
    mark_of(kind).write_text(inputs(kind))
    progress.done()


def mark_of(kind: str) -> Path:
    """What says of which inputs the packages were installed."""
    return VENV / f"ready-{kind}"


def is_installed(kind: str) -> bool:
    """Whether the packages are there, of today's inputs."""
    mark = mark_of(kind)
    return mark.exists() and mark.read_text() == inputs(kind)


def inputs(kind: str) -> str:
    """A digest of what decides which packages are installed."""
    texts = (
        (ROOT / "pyproject.toml").read_text(),
        EXTRAS[kind],
        sys.version,
        str(ROOT),
    )
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()


def run_showing(command: list[str], progress: Progress) -> None:
    """Run a program and show its lines as they come. Ends this one where it fails."""
    lines = []
    running = subprocess.Popen(
        command, cwd=ROOT, stdout=-1, stderr=subprocess.STDOUT, text=True
    )
    for line in running.stdout or ():
        lines.append(line.rstrip())
        progress.detail = " ".join(line.split()[:2])
    if running.wait():
        progress.fail(lines, " ".join(command))


def build_programs() -> None:
    """The engine and the test device, each with how many of its crates are built."""
    os.environ.update(SHOW_COUNT)
    for name in CRATES:
        if fits(place_of(name)):
            continue
        progress, others = Progress(f"building {name}"), 1 - OWN_SHARE[name]

        def show(line: str) -> None:
            counts = CARGO_COUNT.search(line)
            if counts:
                built, total = map(int, counts.groups())
                progress.detail = f"{built} of {total} crates"  # noqa: B023
                progress.expect(others * max(built, 1) / total)  # noqa: B023

        try:
            put(rust.build(name, show), name)
        except subprocess.CalledProcessError as error:
            lines = [x for x in error.output.splitlines() if not CARGO_COUNT.search(x)]
            progress.fail(lines, f"cargo build of {name}")
        progress.done()


def take_programs() -> bool:
    """Those of a wheel in dist/ of the same sources, unless all are there."""
    wheels = (ROOT / "dist").glob(f"*linux*_{platform.machine()}.whl")
    return all(fits(place_of(name)) for name in CRATES) or any(map(taken, wheels))


def taken(wheel: Path) -> bool:
    """Put a wheel's programs into their places, if they are of these sources."""
    with zipfile.ZipFile(wheel) as packed, tempfile.TemporaryDirectory() as folder:
        for name in CRATES:
            if in_wheel(name, f"{name}.sources") not in packed.namelist():
                return False
            program = Path(packed.extract(in_wheel(name, name), folder))
            packed.extract(in_wheel(name, stamp_of(program).name), folder)
            if not fits(program):
                return False
            program.chmod(0o755)
            put(program, name)
    return True


def main(kind: str) -> None:
    """Check first, then install. Ends with 1 and the reasons where it cannot."""
    fault = "" if take_programs() else rust_fault()
    wrong = [*faults(kind), *([fault] if fault and kind != "demo" else [])]
    if wrong:
        sys.exit("\n".join(wrong))
    if fault:
        print(f"No io_uring engine: {fault}; then make demo", file=sys.stderr)
    else:
        build_programs()
    install_packages(kind)


if __name__ == "__main__":
    main(sys.argv[1])
