"""What runs now."""

from __future__ import annotations

from typing import Any

from starlette.responses import JSONResponse, Response

from ioplan_lab.desk.people.role import Role
from ioplan_lab.desk.running import JobNow
from ioplan_lab.desk.web.request_context import RequestContext, allowed

MOST_ENDED = 5


@allowed(Role.VIEWER)
async def page(context: RequestContext) -> Response:
    """The page, which asks for its jobs again and again."""
    return context.page("now.html.j2", **await _shown(context))


@allowed(Role.VIEWER)
async def jobs(context: RequestContext) -> Response:
    """The jobs alone."""
    return context.page("now_jobs.html.j2", **await _shown(context))


@allowed(Role.VIEWER)
async def as_json(context: RequestContext) -> Response:
    """For programs: each lane as `ioplan status` knows it."""
    found = await context.blocking(context.desk.jobs_now)
    return JSONResponse({"jobs": [_json(one) for one in found]})


async def _shown(context: RequestContext) -> dict[str, Any]:
    found = await context.blocking(context.desk.jobs_now)
    held = await context.blocking(context.desk.queue.held)
    over = await context.blocking(context.desk.queue.ended, MOST_ENDED)
    known = {one.job.id for one in found}
    return {
        "refused": [one for one in over if one.message.startswith("refused")],
        "waiting": await context.blocking(context.desk.queue.waiting),
        "starting": [one for one in held if one.job not in known],
        "running": [one for one in found if not one.ended],
        "ended": [one for one in found if one.ended][:MOST_ENDED],
    }


def _json(one: JobNow) -> dict[str, Any]:
    return {
        "id": one.job.id,
        "plan": one.job.plan,
        "where": one.job.where,
        "done": one.done,
        "ended": one.ended,
        "silent": list(one.silent),
        "lanes": [state.model_dump(mode="json") for state in one.states],
    }


ROUTES = (
    ("GET", "/", page),
    ("GET", "/now/jobs", jobs),
    ("GET", "/now.json", as_json),
)
