"""The guard of this process samples a small part of a file that is overwritten.

To read the first 64 MiB at each opening and closing takes longer than most runs of the
tests. Those of what is found, in `guard` and `content`, have the whole sample, and so
have those that start processes, which read what users have them read.
"""

from functools import cache

import pytest

WHOLE = ("guard", "content")
FEW = {"FEWEST_DRAWS": 50, "HEAD_BYTES": 1 << 20, "TAIL_BYTES": 1 << 20}


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    from markers import is_marked  # as a plug-in of pytest's it is not loaded before

    from ioplan.runner.content import scan

    usual, is_whole = _usual(), item.path.parent.name in WHOLE or is_marked(item)
    for name, value in (usual if is_whole else FEW).items():
        setattr(scan, name, value)


@cache
def _usual():
    """What users have; asked before it is changed."""
    from ioplan.runner.content import scan

    return {name: getattr(scan, name) for name in FEW}
