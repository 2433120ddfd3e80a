"""Signed lists of the drives that may be overwritten: admins add and remove them.

A list is signed at a shell, where the admin's key is; here it is only taken, if it
holds. So who has an admin's token alone cannot have anything overwritten.
"""

from __future__ import annotations

from starlette.responses import RedirectResponse, Response

from ioplan_lab.desk.people.role import Role
from ioplan_lab.desk.start.consents import add_list, all_lists, remove_list
from ioplan_lab.desk.web.visit import Visit, allowed

PATH = "/consents"


@allowed(Role.VIEWER)
async def page(visit: Visit) -> Response:
    """Each list, until when it holds and for what, or why it does not hold."""
    starter = visit.desk.starter
    lists = await visit.blocking(lambda: all_lists(starter.consents, starter.lab))
    return visit.page("consents.html.j2", lists=lists)


@allowed(Role.ADMIN)
async def add(visit: Visit) -> Response:
    """Take a list that an admin of the lab has signed."""
    starter, name = visit.desk.starter, visit.said("name")
    text = visit.said("text")
    await visit.blocking(lambda: add_list(starter.consents, name, text, starter.lab))
    await visit.note(f"add the list of consents {name}", "done")
    return RedirectResponse(PATH, 303)


@allowed(Role.ADMIN)
async def remove(visit: Visit) -> Response:
    """What was queued with it keeps it until it is cancelled or the list expires."""
    await visit.blocking(remove_list, visit.desk.starter.consents, visit.id)
    await visit.note(f"remove the list of consents {visit.id}", "done")
    return RedirectResponse(PATH, 303)


ROUTES = (
    ("GET", PATH, page),
    ("POST", PATH, add),
    ("POST", "/consents/{id}/remove", remove),
)
