"""A host: what runs on it, its drives, and its sessions."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from starlette.responses import Response

from ioplan.results.store import SessionFilter
from ioplan_lab.desk.desk import Desk
from ioplan_lab.desk.drives import with_health
from ioplan_lab.desk.errors import Missing
from ioplan_lab.desk.key_figures import key_figures
from ioplan_lab.desk.people.role import Role
from ioplan_lab.desk.surveyed import found_on
from ioplan_lab.desk.web.pages.drives import all_drives
from ioplan_lab.desk.web.request_context import RequestContext, allowed

MOST = 30


@allowed(Role.VIEWER)
async def page(context: RequestContext) -> Response:
    """A host of the lab file, or one that results name."""
    found = await context.blocking(_shown, context.desk, context.id)
    return context.page("host.html.j2", **found)


def _shown(desk: Desk, name: str) -> dict[str, Any]:
    lab = desk.starter.lab
    drives = [one for one in all_drives(desk) if _is_on(one.host, name)]
    sessions = desk.store.overview(SessionFilter(host=name, limit=MOST))
    if name not in lab.hosts and not drives and not sessions:
        raise Missing(f"neither the lab file nor the results name a host {name!r}")
    lanes = [
        (one, state)
        for one in desk.jobs_now()
        for state in one.states
        if state.host == name and not state.ended
    ]
    return {
        "name": name,
        "entry": lab.hosts.get(name),
        "lanes": lanes,
        "drives": with_health(desk.store, drives),
        "found": found_on(desk.database, name),
        "sessions": sessions,
        "figures": key_figures(desk.store, [one.id for one in sessions]),
        "more": f"/sessions?{urlencode({'host': name})}",
    }


def _is_on(hosts: str, name: str) -> bool:
    return name in hosts.split(", ")


ROUTES = (("GET", "/hosts/{id}", page),)
