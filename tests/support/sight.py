"""Tests in a container: there ioplan cannot see all programs, and refuses most targets.

What a test asks of a target in this process is not refused for that alone;
`test_sight.py` makes the containers that it needs.
"""

import pytest

from ioplan.runner.devices import open_files

ELSEWHERE = tuple(open_files.other_namespaces())
"""Why this process cannot see all programs; empty on a host, where nothing is changed."""
WORDS = ("--cannot-see-users",) if ELSEWHERE else ()
"""For an `ioplan run` in a process of its own."""
SEES_ALL = pytest.mark.skipif(
    bool(ELSEWHERE), reason="LEFT OUT: needs the namespaces of the host itself"
)


@pytest.fixture(autouse=True)
def nothing_outside(monkeypatch):
    """As if the container were all of the machine."""
    if ELSEWHERE:
        monkeypatch.setattr(open_files, "other_namespaces", lambda: iter(()))
