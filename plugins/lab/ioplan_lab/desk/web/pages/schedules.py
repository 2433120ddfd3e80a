"""Plans at certain times."""

from __future__ import annotations

from typing import Any, cast

from starlette.responses import RedirectResponse, Response

from ioplan_lab.desk.desk import Desk
from ioplan_lab.desk.errors import DeskError
from ioplan_lab.desk.people.role import Role
from ioplan_lab.desk.queue.entry import Priority
from ioplan_lab.desk.schedules.schedule import Missed, Schedules
from ioplan_lab.desk.start.start_form import start_form_of
from ioplan_lab.desk.web.request_context import RequestContext, allowed

PATH = "/schedules"


@allowed(Role.VIEWER)
async def page(context: RequestContext) -> Response:
    """Each schedule, when it is due, and what was done last."""
    return context.page(
        "schedules.html.j2", **await context.blocking(_shown, context.desk)
    )


def _shown(desk: Desk) -> dict[str, Any]:
    starter = desk.starter
    return {
        "schedules": Schedules(desk.database).all(),
        "plans": starter.library.groups(),
        "targets": [*starter.lab.groups, *starter.lab.targets],
        "lists": starter.lists(),
        "priorities": [one.word for one in Priority],
    }


@allowed(Role.OPERATOR)
async def add(context: RequestContext) -> Response:
    """A plan of the library on one target or group."""
    await context.blocking(_add, context)
    added = f"{context.said('cron')} {context.said('zone')}"
    await context.note(f"add the schedule {context.said('name')}", added)
    return RedirectResponse(PATH, 303)


def _add(context: RequestContext) -> None:
    starter = context.desk.starter
    asked = start_form_of(context.form, starter.lab)
    if len(asked.targets) != 1:
        raise DeskError("choose one target or group")
    (wanted,) = starter.wanted(starter.file(asked), asked, context.name)
    missed = cast(Missed, context.said("missed", "skip"))
    name, cron, zone = context.said("name"), context.said("cron"), context.said("zone")
    Schedules(context.desk.database).add(name, cron, zone, missed, wanted)


@allowed(Role.OPERATOR)
async def remove(context: RequestContext) -> Response:
    """What it has added stays in the queue."""
    await context.blocking(Schedules(context.desk.database).remove, context.id)
    await context.note(f"remove the schedule {context.id}", "done")
    return RedirectResponse(PATH, 303)


ROUTES = (
    ("GET", PATH, page),
    ("POST", PATH, add),
    ("POST", "/schedules/{id}/remove", remove),
)
