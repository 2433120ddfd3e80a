"""Stores of this process leave it to the kernel when a disk has what they wrote.

Only after a power cut would one see that, which the tests in a virtual machine do; to
wait for the disk at each transaction takes longer than all else that a store does.
`durable` marks a test that has stores as users have them.
"""

import pytest

SAFE, QUICK = "synchronous = FULL", "synchronous = OFF"


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    from ioplan.results.store import sqlite

    wanted = (SAFE, QUICK) if not item.get_closest_marker("durable") else (QUICK, SAFE)
    sqlite.SETTINGS = sqlite.SETTINGS.replace(*wanted)
    assert wanted[1] in sqlite.SETTINGS
