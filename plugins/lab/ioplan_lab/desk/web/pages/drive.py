"""A drive: what it is, its state, who waits for it, its wear and its sessions."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from starlette.responses import RedirectResponse, Response

from ioplan.results.store import SessionFilter, SessionOverview
from ioplan_lab.desk.database import stamp
from ioplan_lab.desk.desk import Desk
from ioplan_lab.desk.drives import Health, LabDrive, healths, with_health
from ioplan_lab.desk.errors import DeskError, Missing
from ioplan_lab.desk.key_figures import key_figures
from ioplan_lab.desk.people.role import Role
from ioplan_lab.desk.queue.drives import Drives
from ioplan_lab.desk.surveyed import found_on
from ioplan_lab.desk.tags import DriveTags
from ioplan_lab.desk.web.live_chart import Points, chart
from ioplan_lab.desk.web.pages.drives import all_drives
from ioplan_lab.desk.web.request_context import RequestContext, allowed

MOST = 30
"""Sessions that are shown and charted, the newest."""


@allowed(Role.VIEWER)
async def page(context: RequestContext) -> Response:
    """A drive of the lab file or of the results, by its name there."""
    found = await context.blocking(_shown, context.desk, context.id)
    return context.page("drive.html.j2", **found)


@allowed(Role.OPERATOR)
async def tag(context: RequestContext) -> Response:
    """Give it a tag, or take one."""
    add, remove = context.said("add").split(), context.form.get("remove", [])
    if not add and not remove:
        raise DeskError("write a tag")
    if context.id not in context.desk.starter.lab.targets:
        raise Missing(f"the lab names no drive {context.id!r}")
    tags = DriveTags(context.desk.database)
    is_admin = bool(context.person and context.person.may(Role.ADMIN))
    await context.blocking(tags.change, [context.id], add, remove, is_admin)
    said = [*(f"+{one}" for one in add), *(f"-{one}" for one in remove)]
    await context.note(f"tag {context.id}", " ".join(said))
    return RedirectResponse(f"/drives/{context.id}", 303)


def _shown(desk: Desk, name: str) -> dict[str, Any]:
    drive, now = _drive(desk, name), stamp()
    lab, states = desk.starter.lab, Drives(desk.database).states()
    sessions = desk.store.overview(SessionFilter(drive=drive.filter, limit=MOST))
    known = healths(desk.store, [one.id for one in sessions])
    return {
        "drive": drive,
        "entry": lab.targets.get(name),
        "told": found_on(desk.database, drive.host.split(", ")[0]).get(name, {}),
        "tags": DriveTags(desk.database).all().get(name, ()),
        "reservations": [one for one in states.reservations if one.drive == name],
        "out": states.out.get(name),
        "waiting": [one for one in desk.queue.waiting() if name in one.entry.drives],
        "sessions": sessions,
        "figures": key_figures(desk.store, [one.id for one in sessions]),
        "healths": known,
        "charts": _charts(sessions, known),
        "more": f"/sessions?{urlencode({'drive': drive.filter})}",
        "now": now,
    }


def _drive(desk: Desk, name: str) -> LabDrive:
    """By its name, or by what identifies it. Raises Missing."""
    for one in all_drives(desk):
        if name in (one.name, one.filter):
            return with_health(desk.store, [one])[0]
    raise Missing(f"neither the lab file nor the results name a drive {name!r}")


def _charts(
    sessions: Sequence[SessionOverview], known: dict[str, Health]
) -> list[tuple[str, Any]]:
    """Over the times that the sessions began; of what two of them told."""
    found = []
    for title, name, unit in (
        ("Life used", "used_percent", "%"),
        ("Hottest", "celsius", "°C"),
        ("Media errors", "media_errors", ""),
    ):
        points: Points = [
            (datetime.fromisoformat(one.started_at).timestamp(), value)
            for one in reversed(sessions)
            if (value := getattr(known.get(one.id, Health()), name)) is not None
        ]
        if len(points) > 1 and any(value for _, value in points):
            drawn = chart(title, {title: points}, _unit(unit), days=True)
            found.append((title, drawn))
    return found


def _unit(unit: str) -> Any:
    return lambda value: f"{value:.3g} {unit}".strip()


ROUTES = (
    ("GET", "/drives/{id}", page),
    ("POST", "/drives/{id}/tags", tag),
)
