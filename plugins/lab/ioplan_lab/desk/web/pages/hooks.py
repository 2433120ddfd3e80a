"""Web hooks, for admins: who is told when a job has ended."""

from __future__ import annotations

from typing import Any

from starlette.responses import RedirectResponse, Response

from ioplan_lab.desk.hooks.hooks import EVENTS, Hooks
from ioplan_lab.desk.people.role import Role
from ioplan_lab.desk.web.request_context import RequestContext, allowed

PATH = "/hooks"


@allowed(Role.ADMIN)
async def page(context: RequestContext) -> Response:
    """The hooks without their secrets, and what was delivered."""
    return context.page("hooks.html.j2", **await _shown(context))


@allowed(Role.ADMIN)
async def add(context: RequestContext) -> Response:
    """The page with the secret, which is shown this once."""
    events = [one for one in EVENTS if one in context.form.get("event", [])]
    asked = (context.said("url"), events, bool(context.said("inside")), context.name)
    made = await context.blocking(Hooks(context.desk.database).add, *asked)
    await context.note(f"add the web hook {made.number}", made.url)
    return context.page("hooks.html.j2", **await _shown(context) | {"made": made})


@allowed(Role.ADMIN)
async def remove(context: RequestContext) -> Response:
    """With what it has yet to deliver."""
    await context.blocking(Hooks(context.desk.database).remove, context.number)
    await context.note(f"remove the web hook {context.number}", "done")
    return RedirectResponse(PATH, 303)


async def _shown(context: RequestContext) -> dict[str, Any]:
    hooks = Hooks(context.desk.database)
    return {
        "hooks": await context.blocking(hooks.all),
        "deliveries": await context.blocking(hooks.deliveries),
        "events": EVENTS,
        "made": None,
    }


ROUTES = (
    ("GET", PATH, page),
    ("POST", PATH, add),
    ("POST", "/hooks/{id}/remove", remove),
)
