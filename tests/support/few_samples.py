"""The guard of this process samples a small part of a file that is overwritten.

To read the first 64 MiB at each opening and closing takes longer than most runs of the
tests. Those of what is found, in `guard` and `content`, have the whole sample, as has
each process that a test starts.
"""

from __future__ import annotations

from functools import cache

import pytest

WHOLE = ("guard", "content")
FEW = {"FEWEST_DRAWS": 50, "HEAD_BYTES": 1 << 20, "TAIL_BYTES": 1 << 20}


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    from ioplan.runner.content import scan

    usual = _usual()
    for name, value in (usual if item.path.parent.name in WHOLE else FEW).items():
        setattr(scan, name, value)


@cache
def _usual() -> dict[str, int]:
    """What users have; asked before it is changed."""
    from ioplan.runner.content import scan

    return {name: getattr(scan, name) for name in FEW}
