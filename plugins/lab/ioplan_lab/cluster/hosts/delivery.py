"""Delivering results from a lab's hosts: what their workers do."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from ioplan.results.store import (
    LIFE_S,
    StoreError,
    default_path,
    delivered_now,
    send_now,
    start,
)
from ioplan_lab.cluster.jobs.lane_folder import lanes_root
from ioplan_lab.cluster.jobs.reporting import start_reporter

LOOK_S = 2.0

Report = dict[str, dict[str, Any]]
"""How far each session is, as JSON."""


async def deliver_always() -> None:
    """Have results sent and lanes reported, for as long as the worker lives."""
    while True:
        with suppress(OSError):  # it may be possible later
            start(default_path(), LIFE_S)
            start_reporter(lanes_root())
        await asyncio.sleep(LOOK_S)


def deliver_lanes(sessions: Sequence[str], place: str) -> None:
    """Have their results sent there now. Raises OSError, StoreError."""
    send_now(default_path(), frozenset(sessions), place, LIFE_S)


def delivered_here(sessions: Sequence[str], place: str) -> Report:
    """How far those of this host's store are; the database there is asked now."""
    try:
        found = delivered_now(default_path(), sessions, place)
    except StoreError:
        return {}
    return {key: one.model_dump(exclude_defaults=True) for key, one in found.items()}
