"""A service of the lab starts anew when its host's clock was set back."""

from __future__ import annotations

import asyncio

import pytest

from ioplan_lab.cluster.hosts import clock


def test_only_a_clock_that_goes_back_by_much_ends_it(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Small steps, also many, and a jump ahead are nothing to it."""
    monkeypatch.setattr(clock, "LOOK_S", 0.0)
    small = [-one * 0.9 for one in range(20)]
    looks = iter([0.0, *small, 3600.0, 3595.0, 0.0, -7200.0])
    asyncio.run(clock.until_set_back(lambda: next(looks)))
    assert list(looks) == [-7200.0]
    told = capfd.readouterr()
    assert "the clock was set back" in told.out + told.err
