"""Delivering results from a lab's hosts: what their workers do, and report of it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from ioplan.store.delivery.delivered import delivered_now
from ioplan.store.delivery.outbox import Delivery, Outbox
from ioplan.store.delivery.sender import LIFE_S, send_now, start
from ioplan.store.errors import StoreError
from ioplan.store.store import default_path
from ioplan_lab.cluster.jobs.lane import LaneCall
from ioplan_lab.cluster.jobs.lane_folder import lanes_root
from ioplan_lab.cluster.jobs.reporting import start_reporter

LOOK_S = 2.0
MOST_REPORTED = 500
"""Sessions in the outbox; of older ones the desk knows what it last heard."""

Report = dict[str, dict[str, Any]]
"""How far each session in a host's outbox is."""


def outbox_report() -> Report:
    """What of this host the lab's results have not yet; every heartbeat has it."""
    found = Outbox(default_path()).report(MOST_REPORTED)
    return {key: one.model_dump(exclude_defaults=True) for key, one in found.items()}


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


def deliveries_of(
    calls: Sequence[LaneCall], reports: Mapping[str, Report | None]
) -> dict[str, Delivery]:
    """How far lanes are, by session, from what their hosts report."""
    found = {}
    for call in calls:
        report = reports.get(call.host)
        if report is not None and not _is_left_out(call.session, report):
            raw = report.get(call.session, {"done": True})
            found[call.session] = Delivery.model_validate(raw)
    return found


def _is_left_out(session: str, report: Report) -> bool:
    """Whether it is too short to say anything of such an old session."""
    return len(report) >= MOST_REPORTED and session < min(report)
