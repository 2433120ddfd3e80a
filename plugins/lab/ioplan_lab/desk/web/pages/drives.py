"""The drives: state, last plan, health and wear, and the way to their sessions."""

from __future__ import annotations

from starlette.responses import Response

from ioplan_lab.desk.desk import Desk
from ioplan_lab.desk.drives import LabDrive, lab_drives
from ioplan_lab.desk.people.role import Role
from ioplan_lab.desk.queue.drives import Drives
from ioplan_lab.desk.queue.overview import drive_rows
from ioplan_lab.desk.web.request_context import RequestContext, allowed


@allowed(Role.VIEWER)
async def page(context: RequestContext) -> Response:
    """All of them, or those with a word in their names."""
    found = await context.blocking(_drives, context.desk)
    if word := context.asked("text").casefold():
        found = [one for one in found if word in _searched(one)]
    return context.page("drives.html.j2", drives=found, text=context.asked("text"))


def _drives(desk: Desk) -> list[LabDrive]:
    lab = desk.starter.lab
    states = Drives(desk.database).states()
    return lab_drives(desk.store, lab, drive_rows(lab, states, desk.queue, desk.busy()))


def _searched(one: LabDrive) -> str:
    last = one.last or {}
    keys = ("serial", "model", "firmware", "last_plan")
    state = one.state.state if one.state else ""
    parts = [one.name, one.host, state, *(str(last.get(key, "")) for key in keys)]
    return " ".join(parts).casefold()


ROUTES = (("GET", "/drives", page),)
