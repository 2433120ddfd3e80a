"""Where bdevperf is, its version, and whether there are hugepages for it."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from ioplan.backends import BackendError
from ioplan_spdk.options import SpdkOptions

NAME = "bdevperf"
VARIABLE = "IOPLAN_SPDK_DIR"
SUBFOLDERS = ("build/examples", "examples", "build/bin", "bin", "")
ANSWER_S = 20
HOW = (
    f"bdevperf is not on PATH; set {VARIABLE} to a built SPDK tree, or to the folder "
    f"that has bdevperf"
)


def program_path(options: SpdkOptions | None = None) -> Path:
    """The program: by option, by environment, by PATH. Raises BackendError."""
    options = options or SpdkOptions()
    if options.path:
        return _runnable(Path(options.path), "option path")
    if options.dir:
        return _within(options.dir, "option dir")
    if named := os.environ.get(VARIABLE):
        return _within(named, VARIABLE)
    if found := shutil.which(NAME):
        return Path(found)
    raise BackendError(HOW)


def _within(folder: str, source: str) -> Path:
    for subfolder in SUBFOLDERS:
        path = Path(folder) / subfolder / NAME
        if path.is_file():
            return _runnable(path, source)
    raise BackendError(f"{source} names {folder}, where there is no {NAME}; build SPDK")


def _runnable(path: Path, source: str) -> Path:
    if not path.is_file() or not os.access(path, os.X_OK):
        raise BackendError(f"{source} names {path}, which cannot be run")
    return path.absolute()


def version(program: Path) -> str:
    """What it says of itself, for example `v24.09.1-pre`. Raises BackendError."""
    try:
        done = subprocess.run(
            [program, "--version"],
            capture_output=True,
            timeout=ANSWER_S,
            text=True,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BackendError(f"{program} does not answer: {error}") from error
    words = done.stdout.split()
    if done.returncode or len(words) < 2 or words[0] != "SPDK":
        printed = (done.stderr or done.stdout).strip()[-200:]
        raise BackendError(f"{program} does not say its version, but: {printed!r}")
    return words[1]


def no_hugepages(
    meminfo: Path = Path("/proc/meminfo"), mounts: Path = Path("/proc/mounts")
) -> str:
    """Why there are no hugepages to use and what to do; empty if there are."""
    if not _reserved(meminfo.read_text()):
        return (
            "no hugepages: reserve them with `sysctl vm.nr_hugepages=512`, or try "
            "without by --option no_huge=true"
        )
    if not any(line.split()[2] == "hugetlbfs" for line in _lines(mounts)):
        return (
            "no hugepages: they are reserved, but no hugetlbfs is mounted; "
            "`mount -t hugetlbfs none /dev/hugepages`"
        )
    return ""


def _lines(path: Path) -> list[str]:
    return [line for line in path.read_text().splitlines() if len(line.split()) > 2]


def _reserved(meminfo: str) -> bool:
    for line in meminfo.splitlines():
        if line.startswith("HugePages_Total:"):
            return int(line.split()[1]) > 0
    return False
