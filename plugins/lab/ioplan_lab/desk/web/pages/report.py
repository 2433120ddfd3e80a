"""Reports of sessions, in a frame that can reach nothing of the desk."""

from __future__ import annotations

from urllib.parse import urlencode

from starlette.responses import Response

from ioplan.records.session import Session
from ioplan_lab.desk.people.role import Role
from ioplan_lab.desk.reports import Page
from ioplan_lab.desk.web.visit import Visit, allowed

SANDBOX = "sandbox allow-scripts allow-downloads allow-modals"
"""The page's own scripts run, under no origin: no cookie, no form, no other page."""


@allowed(Role.VIEWER)
async def show(visit: Visit) -> Response:
    """The sessions of the address, or those of a job: facts, and the report below."""
    sessions = await _sessions(visit)
    query = urlencode([("session", one.id) for one in sessions])
    return visit.page("report.html.j2", sessions=sessions, query=query)


@allowed(Role.VIEWER)
async def page(visit: Visit) -> Response:
    """The report itself."""
    return framed(await visit.desk.reports.report(await _sessions(visit)))


@allowed(Role.VIEWER)
async def history(visit: Visit) -> Response:
    """All sessions that did the same as one."""
    (session,) = await visit.blocking(visit.desk.reports.sessions, [visit.id])
    return visit.page("history.html.j2", session=session)


@allowed(Role.VIEWER)
async def history_page(visit: Visit) -> Response:
    """The page itself."""
    (session,) = await visit.blocking(visit.desk.reports.sessions, [visit.id])
    return framed(await visit.desk.reports.history(session))


def framed(found: Page) -> Response:
    """A page by itself: what it says it may do holds, and the sandbox, too."""
    policy = f"{found.policy}; frame-ancestors 'self'; {SANDBOX}"
    headers = {"Content-Security-Policy": policy, "X-Frame-Options": "SAMEORIGIN"}
    return Response(found.html, media_type="text/html; charset=utf-8", headers=headers)


async def _sessions(visit: Visit) -> list[Session]:
    keys = visit.request.query_params.getlist("session")
    if job := visit.asked("job"):
        keys = await visit.blocking(visit.desk.running.sessions, job)
    return await visit.blocking(visit.desk.reports.sessions, keys)


ROUTES = (
    ("GET", "/report", show),
    ("GET", "/report/page", page),
    ("GET", "/history/{id}", history),
    ("GET", "/history/{id}/page", history_page),
)
