"""A job: its lanes, charts that grow while it runs, and the log of each drive."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from starlette.responses import Response

from ioplan.core import iops_text, latency_text
from ioplan_lab.cluster.jobs.lane import LaneState
from ioplan_lab.desk.desk import Desk
from ioplan_lab.desk.errors import Missing
from ioplan_lab.desk.people.role import Role
from ioplan_lab.desk.running import JobNow
from ioplan_lab.desk.samples import Sample, Samples
from ioplan_lab.desk.web.live_chart import Points, chart, legend
from ioplan_lab.desk.web.request_context import RequestContext, allowed

MOST_LINES = 12
"""Of more lanes, the sum of their IOPS and the highest p99 are drawn."""
MOST_LOGGED = 200
RUNS = """
    SELECT record FROM run WHERE session = :session ORDER BY seq DESC LIMIT :most"""
EVENTS = """
    SELECT at, kind, text FROM event WHERE session = :session
    ORDER BY position DESC LIMIT :most"""


@allowed(Role.VIEWER)
async def page(context: RequestContext) -> Response:
    """The page, which asks for what changes again and again."""
    return context.page("live.html.j2", **await context.blocking(_shown, context))


@allowed(Role.VIEWER)
async def part(context: RequestContext) -> Response:
    """What changes."""
    return context.page("live_job.html.j2", **await context.blocking(_shown, context))


@allowed(Role.VIEWER)
async def log(context: RequestContext) -> Response:
    """What a lane has done, the newest first."""
    session = str(context.request.path_params["session"])
    found = await context.blocking(_log, context.desk, context.id, session)
    return context.page("lane_log.html.j2", **found)


def _shown(context: RequestContext) -> dict[str, Any]:
    one = _job(context.desk, context.id)
    samples = Samples(context.desk.database).of(one.job.id)
    lines = {state.session: samples.get(state.session, []) for state in one.states}
    names = {state.session: state.target for state in one.states}
    if len(lines) > MOST_LINES:
        return {"one": one, **_drawn({"all lanes": _together(list(lines.values()))})}
    return {"one": one, **_drawn({names[key]: found for key, found in lines.items()})}


def _drawn(lines: Mapping[str, Sequence[Sample]]) -> dict[str, Any]:
    iops: dict[str, Points] = {
        name: [(one.at_s, one.iops) for one in found] for name, found in lines.items()
    }
    p99: dict[str, Points] = {
        name: [(one.at_s, one.p99_ns) for one in found if one.p99_ns is not None]
        for name, found in lines.items()
    }
    return {
        "iops": chart("IOPS", iops, iops_text),
        "p99": chart("p99", p99, latency_text),
        "legend": legend(list(lines)) if len(lines) > 1 else "",
    }


def _together(lines: Sequence[Sequence[Sample]]) -> list[Sample]:
    """By two seconds: the sum of the lanes' last IOPS, and the highest p99."""
    steps: dict[int, dict[int, Sample]] = {}
    for number, found in enumerate(lines):
        for one in found:
            steps.setdefault(int(one.at_s // 2), {})[number] = one
    return [
        Sample(
            2.0 * at,
            sum(one.iops for one in here.values()),
            max((one.p99_ns for one in here.values() if one.p99_ns), default=None),
        )
        for at, here in sorted(steps.items())
    ]


def _job(desk: Desk, id: str) -> JobNow:
    """Raises Missing."""
    for one in desk.jobs_now():
        if one.job.id == id:
            return one
    if found := desk.inventory.job_now(id):
        return found
    raise Missing(f"no job {id!r} is known here; its sessions may be: see Sessions")


def _log(desk: Desk, job: str, session: str) -> dict[str, Any]:
    one = _job(desk, job)
    lane = next((state for state in one.states if state.session == session), None)
    if lane is None:
        raise Missing(f"job {job} has no lane {session!r}")
    with desk.store.reading() as connection:
        named = {"session": session, "most": MOST_LOGGED}
        runs = connection.rows(RUNS, **named)
        events = connection.rows(EVENTS, **named)
    lines = sorted([*_of_runs(runs), *_of_events(events)], reverse=True)
    return {"one": one, "lane": lane, "said": _said(lane), "lines": lines[:MOST_LOGGED]}


def _said(lane: LaneState) -> list[str]:
    return [line for line in lane.message.splitlines() if line.strip()]


def _of_runs(rows: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str, str]]:
    for row in rows:
        with suppress(ValueError, TypeError, KeyError):  # it is shown, not believed
            run = json.loads(row["record"])
            yield run["started_at"], _kind(run), _result(run)


def _kind(run: Mapping[str, Any]) -> str:
    return str(run["asked"]["kind"] if run["status"] == "ok" else run["status"])


def _result(run: Mapping[str, Any]) -> str:
    """`random reads qd=4: 13.4k IOPS, mean 74.6 us`, or why there is none."""
    asked, total = run["asked"], run["total"]
    cell = (f"{name}={value}" for name, value in asked["cell"].items())
    what = " ".join(filter(None, (asked["test"], asked.get("name", ""), *cell)))
    if run["status"] != "ok":
        return f"{what}: {run.get('message') or run.get('cause', '')}"
    mean_ns = (total["latency"] or {}).get("mean_ns")
    mean = f", mean {latency_text(mean_ns)}" if mean_ns else ""
    return f"{what}: {iops_text(total['iops'])} IOPS{mean}"


def _of_events(rows: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str, str]]:
    return ((str(row["at"]), row["kind"], row["text"]) for row in rows)


ROUTES = (
    ("GET", "/jobs/{id}", page),
    ("GET", "/jobs/{id}/now", part),
    ("GET", "/jobs/{id}/log/{session}", log),
)
