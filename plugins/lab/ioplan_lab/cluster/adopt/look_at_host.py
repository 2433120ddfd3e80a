"""Run on a host that has no ioplan yet: `python3 - FOLDER UNIT STORE CLI < this file`.

FOLDER is where ioplan is or would be, UNIT the file of its unit, STORE that of its
results, if it is not the usual one; CLI is the module of its command line.

It changes nothing, works with Python 3.6, and prints one line of JSON.
"""

import fcntl
import json
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path


def says(*words: str) -> str:
    """What a program prints; nothing if it fails."""
    pipe, none = subprocess.PIPE, subprocess.DEVNULL
    try:
        done = subprocess.run(words, stdout=pipe, stderr=none, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode() if done.returncode == 0 else ""


def pythons() -> object:
    """The versions of the Pythons that can make a folder for packages, by path."""
    found = {}
    for name in ("python3", "python3.11", "python3.12", "python3.13", "python3.14"):
        path = shutil.which(name) or ""
        code = "import ensurepip, platform, venv; print(platform.python_version())"
        version = says(path, "-c", code).strip() if path else ""
        if version:
            found[path] = version
    return found


def lanes(store: str) -> int:
    """How many run: those that hold the lock in their folder, beside the store."""
    data = os.environ.get("XDG_DATA_HOME") or "~/.local/share"
    usual = os.environ.get("IOPLAN_STORE") or f"{data}/ioplan/results.db"
    place = Path(store or usual).expanduser()
    return sum(map(is_held, (place.parent / "lanes").glob("*/*/lock")))


def is_held(lock: Path) -> bool:
    """Whether a process has this lock."""
    try:
        with lock.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def use(folder: Path) -> str:
    """Whether Python made this folder for packages, or other files are in it."""
    if (folder / "pyvenv.cfg").exists():
        return "own"
    return "used" if folder.exists() and list(folder.iterdir()) else ""


def main(folder: Path, unit: Path, store: str, cli: str) -> None:
    """Print what is there."""
    python = str(folder / "bin/python")
    versions = says(python, "-m", cli, "lab", "versions")
    found = {
        "machine": platform.machine(),
        "pythons": pythons(),
        "versions": json.loads(versions or "{}"),
        "folder": use(folder),
        "root": os.geteuid() == 0,
        "systemd": Path("/run/systemd/system").is_dir(),
        "unit": unit.read_text() if unit.is_file() else "",
        "lanes": lanes(store),
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), *sys.argv[3:])
