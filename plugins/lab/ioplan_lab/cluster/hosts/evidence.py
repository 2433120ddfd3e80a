"""Whether the targets of a host's lanes may be written, asked before any begins."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from ioplan.backends import TargetRequest, default_backend, find
from ioplan.runner import Lab, parsed_lab
from ioplan.runner.guard import (
    ConsentError,
    TargetError,
    check_evidence,
    resolve_target,
)
from ioplan_lab.cluster.jobs.lane import LaneCall

CALLS = TypeAdapter(tuple[LaneCall, ...])


async def refusals_here(
    sessions: Sequence[str], calls_json: bytes, dask_worker: Any
) -> dict[str, str]:
    """Why lanes of this host are refused for the data on their targets, by session."""
    calls = [one for one in CALLS.validate_json(calls_json) if one.session in sessions]
    mine = [one for one in calls if one.host == dask_worker.name]
    found = await asyncio.gather(*(asyncio.to_thread(refusal, one) for one in mine))
    return {one.session: why for one, why in zip(mine, found, strict=True) if why}


def refusal(call: LaneCall) -> str:
    """Why a lane is refused; empty where nothing is seen.

    Another reason the lane gives itself, and what needs a full read it reads.
    """
    request = request_of(call, parsed_lab(Path("lab.toml"), call.lab))
    try:
        if request:
            check_evidence(request)
    except ConsentError as error:
        return str(error)
    except TargetError:
        pass
    return ""


def request_of(call: LaneCall, lab: Lab) -> TargetRequest | None:
    """What the lane will open; None where nothing is there to be examined."""
    asked = call.request
    if find(asked.backend or default_backend(lab.backend)).virtual_time:
        return None
    path, entry = resolve_target(call.target, lab)
    if path is None or not Path(path).exists():
        return None
    return TargetRequest(
        path=path,
        entry=entry,
        writes=True,
        overwrite=asked.overwrite,
        overwrite_data=asked.overwrite_data,
        cannot_see_users=asked.cannot_see_users,
    )
