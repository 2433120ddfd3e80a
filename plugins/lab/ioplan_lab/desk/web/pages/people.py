"""Who there is, and who did what: for admins, to look at only."""

from __future__ import annotations

from starlette.responses import Response

from ioplan_lab.desk.people.role import Role
from ioplan_lab.desk.web.request_context import RequestContext, allowed


@allowed(Role.ADMIN)
async def page(context: RequestContext) -> Response:
    """People and the log. They are changed at a shell, where the tokens are made."""
    everyone = await context.blocking(context.desk.people.everyone)
    deeds = await context.blocking(context.desk.audit.newest, 200)
    return context.page("people.html.j2", everyone=everyone, deeds=deeds)


ROUTES = (("GET", "/people", page),)
