"""What runs on a lab's hosts, within their workers."""

from __future__ import annotations

import asyncio
import platform
from collections.abc import Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from ioplan import __version__
from ioplan.cluster.errors import ClusterError
from ioplan.cluster.jobs.lane import LaneCall
from ioplan.cluster.jobs.lane_folder import LaneFolder, bury, folders, lanes_root

LOOK_S = 0.5
NEWEST_JOBS = 3
"""Of these the states are told also where all of a job has ended."""


async def work(call_json: str) -> dict[str, Any]:
    """A lane until it ends; one that goes on already is only watched."""
    lane = LaneFolder.of(LaneCall.model_validate_json(call_json))
    while not (state := lane.advance()).ended:
        await asyncio.sleep(LOOK_S)
    return state.model_dump(mode="json")


def lane_states() -> list[dict[str, Any]]:
    """How the lanes of this host go; told with each of its worker's heartbeats."""
    bury()
    root = lanes_root()
    jobs = sorted((path.name for path in root.glob("2*/")), reverse=True)
    lanes = (lane for job in jobs[:NEWEST_JOBS] for lane in folders(root, job))
    return [lane.state().model_dump(mode="json") for lane in lanes]


def stop_lanes(sessions: Sequence[str]) -> None:
    """End their I/O."""
    for lane in _of(sessions):
        lane.stop()


def let_again(sessions: Sequence[str]) -> dict[str, float]:
    """Those that stopped or failed may go on; when they were let, by session."""
    lanes = [lane for lane in _of(sessions) if lane.again()]
    return {lane.path.name: lane.state().at_s for lane in lanes}


def _of(sessions: Sequence[str]) -> list[LaneFolder]:
    found = folders(lanes_root())
    return [lane for lane in found if lane.path.name in sessions]


@cache
def versions() -> dict[str, str]:
    """What must be the same on all hosts."""
    found = {"ioplan": __version__, "python": platform.python_version()}
    for name in ("distributed", "cloudpickle", "msgpack"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "missing"
    return found


def check_versions(name: str, there: dict[str, str]) -> None:
    """Raises ClusterError where a version differs that must not."""
    here = versions()
    wrong = [
        f"{what} {there.get(what, 'none')} there, {own} here"
        for what, own in here.items()
        if there.get(what) != own
    ]
    if wrong:
        raise ClusterError(
            f"the host {name} has other versions: {'; '.join(wrong)}; make them the "
            f"same, then call `ioplan lab up` again"
        )
