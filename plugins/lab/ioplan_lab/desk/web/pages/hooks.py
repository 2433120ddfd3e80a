"""Web hooks, for admins: who is told when a job has ended."""

from __future__ import annotations

from typing import Any

from starlette.responses import RedirectResponse, Response

from ioplan_lab.desk.hooks.hooks import EVENTS, Hooks
from ioplan_lab.desk.people.role import Role
from ioplan_lab.desk.web.visit import Visit, allowed

PATH = "/hooks"


@allowed(Role.ADMIN)
async def page(visit: Visit) -> Response:
    """The hooks without their secrets, and what was delivered."""
    return visit.page("hooks.html.j2", **await _shown(visit))


@allowed(Role.ADMIN)
async def add(visit: Visit) -> Response:
    """The page with the secret, which is shown this once."""
    events = [one for one in EVENTS if one in visit.form.get("event", [])]
    asked = (visit.said("url"), events, bool(visit.said("inside")), visit.name)
    made = await visit.blocking(Hooks(visit.desk.database).add, *asked)
    await visit.note(f"add the web hook {made.number}", made.url)
    return visit.page("hooks.html.j2", **await _shown(visit) | {"made": made})


@allowed(Role.ADMIN)
async def remove(visit: Visit) -> Response:
    """With what it has yet to deliver."""
    await visit.blocking(Hooks(visit.desk.database).remove, visit.number)
    await visit.note(f"remove the web hook {visit.number}", "done")
    return RedirectResponse(PATH, 303)


async def _shown(visit: Visit) -> dict[str, Any]:
    hooks = Hooks(visit.desk.database)
    return {
        "hooks": await visit.blocking(hooks.all),
        "deliveries": await visit.blocking(hooks.deliveries),
        "events": EVENTS,
        "made": None,
    }


ROUTES = (
    ("GET", PATH, page),
    ("POST", PATH, add),
    ("POST", "/hooks/{id}/remove", remove),
)
