"""What runs within the workers, on the hosts of a lab."""

from __future__ import annotations

import asyncio
import platform
from collections.abc import Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from ioplan.core import ClusterFault, __version__
from ioplan_lab.cluster.errors import ClusterError
from ioplan_lab.cluster.jobs.lane import LaneCall
from ioplan_lab.cluster.jobs.lane_folder import (
    LaneFolder,
    lane_folders,
    lanes_root,
)
from ioplan_lab.cluster.jobs.lane_parent import forget_ended

POLL_S = 0.5
NEWEST_JOBS = 3
"""The states of their lanes are reported even if all of them have ended."""


async def run_lane(call_json: str, program: str) -> dict[str, Any]:
    """Start a lane, unless it runs already, and wait for its end.

    `program` is the module that runs a lane. Returns its state.
    """
    lane = LaneFolder.of(LaneCall.model_validate_json(call_json))
    while not (state := lane.advance(program)).ended:
        await asyncio.sleep(POLL_S)
    return state.model_dump(mode="json")


def lane_states() -> list[dict[str, Any]]:
    """The states of this host's lanes; every heartbeat of its worker has them."""
    forget_ended()
    root = lanes_root()
    jobs = sorted((path.name for path in root.glob("2*/")), reverse=True)
    lanes = (lane for job in jobs[:NEWEST_JOBS] for lane in lane_folders(root, job))
    return [lane.state().model_dump(mode="json") for lane in lanes]


def stop_lanes(sessions: Sequence[str], person: str = "") -> None:
    """End their I/O, as a person wants it."""
    for lane in _lanes_of(sessions):
        lane.stop(person)


def reset_lanes(sessions: Sequence[str]) -> dict[str, float]:
    """Let stopped and failed lanes be started again; returns when, by session."""
    lanes = [lane for lane in _lanes_of(sessions) if lane.reset()]
    return {lane.path.name: lane.state().at_s for lane in lanes}


def _lanes_of(sessions: Sequence[str]) -> list[LaneFolder]:
    found = lane_folders(lanes_root())
    return [lane for lane in found if lane.path.name in sessions]


@cache
def versions() -> dict[str, str]:
    """Versions that must be the same on all hosts."""
    found = {"ioplan": __version__, "python": platform.python_version()}
    for name in ("distributed", "cloudpickle", "msgpack"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "missing"
    return found


def check_versions(name: str, there: dict[str, str]) -> None:
    """Compare a host's versions with those here. Raises ClusterError."""
    here = versions()
    wrong = [
        f"{what} {there.get(what, 'none')} there, {own} here"
        for what, own in here.items()
        if there.get(what) != own
    ]
    if wrong:
        raise ClusterError(
            f"the host {name} has other versions: {'; '.join(wrong)}; install the "
            "same versions, then run `ioplan lab up` again",
            ClusterFault.VERSION_MISMATCH,
        )
