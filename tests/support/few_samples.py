"""The guard of this process samples a small part of a file that is overwritten.

To compress 1,500 blocks at each opening and closing takes longer than most runs of the
tests. Those of what is found, in `guard` and `content`, have the whole sample, as has
each process that a test starts.
"""

from __future__ import annotations

from functools import cache

import pytest

WHOLE = ("guard", "content")
FEW = {"DRAWS": 50, "ENDS_BYTES": 64 << 10}


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    from ioplan.guard import content

    usual = _usual()
    for name, value in (usual if item.path.parent.name in WHOLE else FEW).items():
        setattr(content, name, value)


@cache
def _usual() -> dict[str, int]:
    """What users have; asked before it is changed."""
    from ioplan.guard import content

    return {name: getattr(content, name) for name in FEW}
