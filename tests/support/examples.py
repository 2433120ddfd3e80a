"""The examples of a third party's backends: installed from their folders, and used."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from paths import ROOT


def installed(example, factory):
    """A folder with the example's package, as pip installs it."""
    make = factory.mktemp
    folder, copy = make("site"), make("source") / "x"
    shutil.copytree(
        ROOT / "examples" / example, copy, ignore=shutil.ignore_patterns("__pycache__")
    )
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
    command += ["--no-build-isolation", "--target", str(folder), str(copy)]
    subprocess.run(command, check=True)
    return Path(folder)


def call(site, *command):
    """Python with the example, and its programs, on its path."""
    path = f"{site}:{os.environ['PATH']}"
    more = {"PYTHONPATH": str(site), "PATH": path, "COLUMNS": "200"}
    return subprocess.run(
        [sys.executable, "-m", *command],
        env={**os.environ, **more}, capture_output=True, text=True, timeout=250,
        check=False,
    )  # fmt: skip


def conforms(site, folder, *files):
    """By the tests that the example itself has."""
    for file in files:
        shutil.copy(file, folder)
    done = call(site, "pytest", "-q", "-p", "no:cacheprovider", folder)
    assert done.returncode == 0 and " passed" in done.stdout, done.stdout
