"""Plans at certain times."""

from __future__ import annotations

from typing import Any, cast

from starlette.responses import RedirectResponse, Response

from ioplan_lab.desk.desk import Desk
from ioplan_lab.desk.errors import DeskError
from ioplan_lab.desk.people.role import Role
from ioplan_lab.desk.queue.entry import Priority
from ioplan_lab.desk.schedules.schedule import Missed, Schedules
from ioplan_lab.desk.start.asked import asked_of
from ioplan_lab.desk.web.visit import Visit, allowed

PATH = "/schedules"


@allowed(Role.VIEWER)
async def page(visit: Visit) -> Response:
    """Each schedule, when it is due, and what was done last."""
    return visit.page("schedules.html.j2", **await visit.blocking(_shown, visit.desk))


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
async def add(visit: Visit) -> Response:
    """A plan of the library on one target or group."""
    await visit.blocking(_add, visit)
    added = f"{visit.said('cron')} {visit.said('zone')}"
    await visit.note(f"add the schedule {visit.said('name')}", added)
    return RedirectResponse(PATH, 303)


def _add(visit: Visit) -> None:
    starter = visit.desk.starter
    asked = asked_of(visit.form, starter.lab)
    if len(asked.targets) != 1:
        raise DeskError("choose one target or group")
    (wanted,) = starter.wanted(starter.file(asked), asked, visit.name)
    missed = cast(Missed, visit.said("missed", "skip"))
    name, cron, zone = visit.said("name"), visit.said("cron"), visit.said("zone")
    Schedules(visit.desk.database).add(name, cron, zone, missed, wanted)


@allowed(Role.OPERATOR)
async def remove(visit: Visit) -> Response:
    """What it has added stays in the queue."""
    await visit.blocking(Schedules(visit.desk.database).remove, visit.id)
    await visit.note(f"remove the schedule {visit.id}", "done")
    return RedirectResponse(PATH, 303)


ROUTES = (
    ("GET", PATH, page),
    ("POST", PATH, add),
    ("POST", "/schedules/{id}/remove", remove),
)
