"""Drives for one person for a time, and drives out of service."""

from __future__ import annotations

from datetime import UTC
from typing import Any

from starlette.responses import RedirectResponse, Response

from ioplan.core import moment
from ioplan_lab.desk.database import stamp
from ioplan_lab.desk.desk import Desk
from ioplan_lab.desk.errors import DeskError
from ioplan_lab.desk.people.role import Role
from ioplan_lab.desk.queue.ask import drives_named
from ioplan_lab.desk.queue.drives import Drives
from ioplan_lab.desk.web.request_context import RequestContext, allowed

PATH = "/reservations"


@allowed(Role.VIEWER)
async def page(context: RequestContext) -> Response:
    """What is reserved now or later, and what is out of service."""
    return context.page(
        "reservations.html.j2", **await context.blocking(_shown, context.desk)
    )


def _shown(desk: Desk) -> dict[str, Any]:
    states, lab = Drives(desk.database).states(), desk.starter.lab
    return {
        "reservations": states.reservations,
        "out": list(states.out.values()),
        "names": [*lab.groups, *lab.targets],
        "now": stamp(),
    }


@allowed(Role.OPERATOR)
async def reserve(context: RequestContext) -> Response:
    """Reserve drives for whoever asks."""
    names = await _drives(context)
    since = _stamp(context.said("since")) if context.said("since") else stamp()
    until = _stamp(context.said("until"))
    held = (names, context.name, since, until, context.said("why"))
    await context.blocking(Drives(context.desk.database).reserve, *held)
    await context.note(f"reserve {', '.join(names)}", f"from {since} until {until}")
    return RedirectResponse(PATH, 303)


@allowed(Role.OPERATOR)
async def release(context: RequestContext) -> Response:
    """End one's own reservations; an admin's word ends anybody's."""
    names, is_admin = await _drives(context), _is_admin(context)
    ended = await context.blocking(
        Drives(context.desk.database).release, names, context.name, is_admin
    )
    if not ended:
        raise DeskError(
            "you have no reservation of it; only an admin can end those of others"
        )
    await context.note(f"release {', '.join(names)}", f"{ended} reservations ended")
    return RedirectResponse(PATH, 303)


@allowed(Role.ADMIN)
async def take_out(context: RequestContext) -> Response:
    """Nothing is started on them any more."""
    names, reason = await _drives(context), context.said("reason")
    held = (names, context.name, reason)
    await context.blocking(Drives(context.desk.database).take_out, *held)
    await context.note(f"take {', '.join(names)} out of service", reason)
    return RedirectResponse(PATH, 303)


@allowed(Role.ADMIN)
async def put_back(context: RequestContext) -> Response:
    """They may be used again, also where the lab does not name them any more."""
    names = context.form.get("drive", [])
    if not names:
        raise DeskError("choose a drive")
    await context.blocking(Drives(context.desk.database).put_back, names)
    await context.note(f"put {', '.join(names)} back in service", "done")
    return RedirectResponse(PATH, 303)


async def _drives(context: RequestContext) -> list[str]:
    words = context.form.get("drive", [])
    if not words:
        raise DeskError("choose a drive")
    return await context.blocking(lambda: drives_named(context.desk.starter.lab, words))


def _is_admin(context: RequestContext) -> bool:
    return bool(context.person and context.person.may(Role.ADMIN))


def _stamp(word: str) -> str:
    """What is said without a zone, as by a browser's field, is UTC here."""
    try:
        plain = f"{word}Z" if "T" in word and len(word) == len(SAMPLE) else word
        return f"{moment(plain).astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
    except ValueError as error:
        raise DeskError(str(error)) from None


SAMPLE = "2026-12-01T18:00"

ROUTES = (
    ("GET", PATH, page),
    ("POST", PATH, reserve),
    ("POST", "/reservations/release", release),
    ("POST", "/drives/out-of-service", take_out),
    ("POST", "/drives/in-service", put_back),
)
