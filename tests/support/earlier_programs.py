"""The guard of this process does not look through what ran before the tests began.

No program that was there already uses a target of theirs, and to look at all of them,
twice a run, takes longer than most runs of the tests. Those of each kind of use, and of
what can be seen at all, look at all, as does each process that a test starts.
"""

from functools import cache
from pathlib import Path

import pytest

WHOLE = ("test_guard", "test_proc", "test_sight")
EARLIER = set(Path("/proc").glob("[0-9]*"))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    from ioplan.runner.devices import proc

    usual = _usual()
    proc.listed = usual if item.path.stem in WHOLE else _later


@cache
def _usual():
    """What users have; asked before it is changed."""
    from ioplan.runner.devices import proc

    return proc.listed


def _later(folder):
    found = _usual()(folder)
    if folder != Path("/proc"):
        return found
    return [one for one in found if one not in EARLIER]
