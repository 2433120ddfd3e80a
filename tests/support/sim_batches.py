"""What a batch on the simulated drive gave is known from then on, in this process.

A batch depends on nothing but what seeds its chance, and most of the time of a run on
`sim` is theirs. The drive's own tests, `test_sim*.py`, do each of them. Where no figure
matters, `rough_sim` makes them short.
"""

from contextlib import contextmanager
from functools import cache
from typing import Any

import pytest

Paces = tuple[Any, ...]
FEW = 256
"""I/Os of a rough batch."""


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    from ioplan_sim.speed import Speeds

    own = item.path.name.startswith("test_sim")
    batch = _done() if own else _known()
    Speeds._batch = batch


@contextmanager
def rough():
    """Drives that are quick to simulate, and not as fast as their specification says."""
    from ioplan_sim import batch

    with pytest.MonkeyPatch.context() as patch:
        for limit in ("MIN_WORK", "MAX_WORK", "MAX_ROUNDED"):
            patch.setattr(batch, limit, FEW)
        yield


@pytest.fixture
def rough_sim():
    """For a test that looks at no figure."""
    with rough():
        yield


@cache
def _done():
    from ioplan_sim.speed import Speeds

    return Speeds._batch


@cache
def _known():
    from ioplan_sim import batch

    do, known = _done(), dict[object, Paces]()

    def once(self, loads, condition, is_open):
        asked = (
            self.spec,
            *self.streams_json,
            condition,
            tuple(is_open),
            batch.MAX_WORK,
        )
        if asked not in known:
            known[asked] = do(self, loads, condition, is_open)
        return known[asked]

    return once
