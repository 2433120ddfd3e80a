"""A Python that lacks modules of its own, as one built without their libraries does."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from paths import ROOT

from ioplan.cli import COMPILED

HIDE = "import sys; sys.modules.update(dict.fromkeys({names!r})); "
"""As Python has it for a module that is not there: importing it fails."""
OPTIONAL = {"bz2", "ctypes", "curses", "dbm", "lzma", "readline", "sqlite3", "zlib"}
"""What CPython's configure leaves out without a word where a library is missing."""


def called_without(*names: str) -> subprocess.CompletedProcess[str]:
    """The plainest call that there is, on a Python without some modules."""
    call = "from ioplan.cli import main; sys.argv[1:] = ['--version']; main()"
    return subprocess.run(
        [sys.executable, "-c", HIDE.format(names=names) + call],
        capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", COMPILED)
def test_what_is_missing_is_told_at_the_start(name: str) -> None:
    done = called_without(name)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines() == [
        f"error: {sys.executable} was built without {name},",
        f"which ioplan needs; build that Python with the headers of {COMPILED[name]},",
        "or install ioplan with another Python",
    ]


@pytest.mark.slow
def test_all_that_is_missing_is_one_error() -> None:
    done = called_without("_lzma", "_sqlite3")
    assert done.returncode == 2 and done.stderr.count("error") == 1
    assert "without _lzma and _sqlite3," in done.stderr
    assert "of liblzma and sqlite3," in done.stderr


@pytest.mark.slow
def test_what_ioplan_does_not_use_may_be_missing() -> None:
    assert called_without("_bz2", "readline", "_tkinter").returncode == 0


def imported(file: Path) -> set[str]:
    """The modules that a file imports, by their first names."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            found |= {one.name.partition(".")[0] for one in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found.add((node.module or "").partition(".")[0])
    return found


@pytest.mark.long
def test_the_list_has_all_that_ioplan_imports() -> None:
    files = [*ROOT.glob("dsl/ioplan/**/*.py"), *ROOT.glob("plugins/**/*.py")]
    used = OPTIONAL & set().union(*map(imported, files))
    assert used == {name.removeprefix("_") for name in COMPILED}
