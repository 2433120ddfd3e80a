"""A Python that lacks modules of its own, as one built without their libraries does."""

import sys

import pytest
from command import program

from ioplan.cli import COMPILED

HIDE = "import sys; sys.modules.update(dict.fromkeys({names!r})); "
"""As Python has it for a module that is not there: importing it fails."""


def called_without(*names):
    """The plainest call that there is, on a Python without some modules."""
    call = "from ioplan.cli import main; sys.argv[1:] = ['--version']; main()"
    return program(sys.executable, "-c", HIDE.format(names=names) + call)


@pytest.mark.slow
@pytest.mark.parametrize("name", COMPILED)
def test_what_is_missing_is_told_at_the_start(name):
    done = called_without(name)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines() == [
        f"error: {sys.executable} was built without {name},",
        f"which ioplan needs; build that Python with the headers of {COMPILED[name]},",
        "or install ioplan with another Python",
    ]


@pytest.mark.slow
def test_all_that_is_missing_is_one_error():
    done = called_without("_lzma", "_sqlite3")
    assert done.returncode == 2 and done.stderr.count("error") == 1
    assert "without _lzma and _sqlite3," in done.stderr
    assert "of liblzma and sqlite3," in done.stderr


@pytest.mark.slow
def test_what_ioplan_does_not_use_may_be_missing():
    assert called_without("_bz2", "readline", "_tkinter").returncode == 0
