"""Tests see nothing of the user's environment: neither variables nor a home folder.

What a machine needs to run programs at all is kept; all else has the value of a fresh
account. It is done when this plug-in is imported, before any module reads a variable.
"""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

KEPT = ("PATH", "TMPDIR", "LD_LIBRARY_PATH", "USER", "LOGNAME", "CI", "IOPLAN_SPDK_DIR")
"""`IOPLAN_SPDK_DIR` says what the machine has, as `PATH` does."""
KEPT_OF = ("PYTEST_", "COV_", "PIP_", "SSL_CERT_")
"""The latter two are how packages are reached here."""
TOOLS = {"CARGO_HOME": ".cargo", "RUSTUP_HOME": ".rustup", "NPM_CONFIG_CACHE": ".npm"}
"""Folders of build tools, which are found by the user's real home otherwise."""
FIXED = {
    "LC_ALL": "C.UTF-8",
    "TZ": "UTC",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
}
ON_DISK = "/var/tmp"
HOMES = "PYTEST_HOMES"
"""The controller's home, in which each worker of pytest-xdist has one of its own."""


def enter():
    """Replace this process's environment by that of a fresh account."""
    found = dict(os.environ)
    home = tempfile.mkdtemp(prefix="ioplan-home-", dir=found.get(HOMES))
    tools = {
        name: found.get(name, str(Path(found.get("HOME", "/")) / folder))
        for name, folder in TOOLS.items()
    }
    own = {"HOME": home, HOMES: found.get(HOMES, home)}
    xdg = {f"XDG_{kind}_HOME": f"{home}/{kind.lower()}" for kind in ("STATE", "DATA")}
    kept = {name: text for name, text in found.items() if _is_kept(name)}
    if _is_in_memory(home):
        kept["TMPDIR"] = ON_DISK
        tempfile.tempdir = None  # asked again
    os.environ.clear()
    os.environ.update(kept | tools | FIXED | own | xdg)


def _is_in_memory(folder):
    """Whether its files are no targets: ioplan measures no memory."""
    words = ["stat", "--file-system", "--format=%T", folder]
    kind = subprocess.run(words, capture_output=True, text=True, check=False).stdout
    return kind.strip() in ("tmpfs", "ramfs")


def _is_kept(name):
    return name in KEPT or name.startswith(KEPT_OF)


def pytest_unconfigure():
    """The homes of the workers lie in the controller's."""
    shutil.rmtree(os.environ["HOME"], ignore_errors=True)


enter()
