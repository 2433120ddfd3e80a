"""Signed lists of the drives that may be overwritten: admins add and remove them.

A list is signed at a shell, where the admin's key is; here it is only taken, if it
holds. So who has an admin's token alone cannot have anything overwritten.
"""

from __future__ import annotations

from starlette.responses import RedirectResponse, Response

from ioplan_lab.desk.people.role import Role
from ioplan_lab.desk.start.consents import add_list, all_lists, remove_list
from ioplan_lab.desk.web.request_context import RequestContext, allowed

PATH = "/consents"


@allowed(Role.VIEWER)
async def page(context: RequestContext) -> Response:
    """Each list, until when it holds and for what, or why it does not hold."""
    starter = context.desk.starter
    lists = await context.blocking(lambda: all_lists(starter.consents, starter.lab))
    return context.page("consents.html.j2", lists=lists)


@allowed(Role.ADMIN)
async def add(context: RequestContext) -> Response:
    """Take a list that an admin of the lab has signed."""
    starter, name = context.desk.starter, context.said("name")
    text = context.said("text")
    await context.blocking(lambda: add_list(starter.consents, name, text, starter.lab))
    await context.note(f"add the list of consents {name}", "done")
    return RedirectResponse(PATH, 303)


@allowed(Role.ADMIN)
async def remove(context: RequestContext) -> Response:
    """What was queued with it keeps it until it is cancelled or the list expires."""
    await context.blocking(remove_list, context.desk.starter.consents, context.id)
    await context.note(f"remove the list of consents {context.id}", "done")
    return RedirectResponse(PATH, 303)


ROUTES = (
    ("GET", PATH, page),
    ("POST", PATH, add),
    ("POST", "/consents/{id}/remove", remove),
)
