"""Reports of sessions, in a frame that can reach nothing of the desk."""

from __future__ import annotations

from urllib.parse import urlencode

from starlette.responses import Response

from ioplan.records import Session
from ioplan_lab.desk.desk import Page
from ioplan_lab.desk.people.role import Role
from ioplan_lab.desk.web.request_context import RequestContext, allowed

SANDBOX = "sandbox allow-scripts allow-downloads allow-modals"
"""The page's own scripts run, under no origin: no cookie, no form, no other page."""


@allowed(Role.VIEWER)
async def show(context: RequestContext) -> Response:
    """The sessions of the address, or those of a job: facts, and the report below."""
    sessions = await _sessions(context)
    query = urlencode([("session", one.id) for one in sessions])
    return context.page("report.html.j2", sessions=sessions, query=query)


@allowed(Role.VIEWER)
async def page(context: RequestContext) -> Response:
    """The report itself."""
    return framed(await context.desk.reports.report(await _sessions(context)))


@allowed(Role.VIEWER)
async def history(context: RequestContext) -> Response:
    """All sessions that did the same as one."""
    (session,) = await context.blocking(context.desk.reports.sessions, [context.id])
    return context.page("history.html.j2", session=session)


@allowed(Role.VIEWER)
async def history_page(context: RequestContext) -> Response:
    """The page itself."""
    (session,) = await context.blocking(context.desk.reports.sessions, [context.id])
    return framed(await context.desk.reports.history(session))


def framed(found: Page) -> Response:
    """A page by itself: what it says it may do holds, and the sandbox, too."""
    policy = f"{found.policy}; frame-ancestors 'self'; {SANDBOX}"
    headers = {"Content-Security-Policy": policy, "X-Frame-Options": "SAMEORIGIN"}
    return Response(found.html, media_type="text/html; charset=utf-8", headers=headers)


async def _sessions(context: RequestContext) -> list[Session]:
    keys = context.request.query_params.getlist("session")
    if job := context.asked("job"):
        keys = await context.blocking(context.desk.sessions_of, job)
    return await context.blocking(context.desk.reports.sessions, keys)


ROUTES = (
    ("GET", "/report", show),
    ("GET", "/report/page", page),
    ("GET", "/history/{id}", history),
    ("GET", "/history/{id}/page", history_page),
)
