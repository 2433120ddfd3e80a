"""Who there is, and who did what: for admins, to look at only."""

from __future__ import annotations

from starlette.responses import Response

from ioplan_lab.desk.people.role import Role
from ioplan_lab.desk.web.visit import Visit, allowed


@allowed(Role.ADMIN)
async def page(visit: Visit) -> Response:
    """People and the log. They are changed at a shell, where the tokens are made."""
    everyone = await visit.blocking(visit.desk.people.everyone)
    deeds = await visit.blocking(visit.desk.audit.newest, 200)
    return visit.page("people.html.j2", everyone=everyone, deeds=deeds)


ROUTES = (("GET", "/people", page),)
