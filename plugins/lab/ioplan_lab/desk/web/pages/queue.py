"""The queue: what waits, for what, and in which order."""

from __future__ import annotations

from typing import Any

from starlette.responses import RedirectResponse, Response

from ioplan_lab.desk.desk import Desk
from ioplan_lab.desk.errors import DeskError
from ioplan_lab.desk.people.role import Role
from ioplan_lab.desk.queue.ask import priority_named
from ioplan_lab.desk.queue.entry import Priority
from ioplan_lab.desk.web.visit import Visit, allowed

PATH = "/queue"
MOST_ENDED = 30


@allowed(Role.VIEWER)
async def page(visit: Visit) -> Response:
    """What is held, what waits, and what ended last."""
    return visit.page("queue.html.j2", **await visit.blocking(_shown, visit.desk))


def _shown(desk: Desk) -> dict[str, Any]:
    return {
        "held": desk.queue.held(),
        "waiting": desk.queue.waiting(),
        "ended": desk.queue.ended(MOST_ENDED),
        "priorities": [one.word for one in Priority],
    }


@allowed(Role.OPERATOR)
async def move(visit: Visit) -> Response:
    """Another priority, or the front of its own."""
    number, word, first = (
        visit.number,
        visit.said("priority"),
        bool(visit.said("first")),
    )
    if not (word or first):
        raise DeskError("choose a priority, or the first place")
    chosen = priority_named(word) if word else None
    await visit.blocking(visit.desk.queue.move, number, chosen, first)
    await visit.note(f"move #{number} in the queue", "first" if first else word)
    return RedirectResponse(PATH, 303)


@allowed(Role.OPERATOR)
async def cancel(visit: Visit) -> Response:
    """Cancel what waits, end what runs, or close what is unknown."""
    number = visit.number
    state = await visit.blocking(visit.desk.queue.cancel, number, visit.name)
    done = "its I/O is stopped" if state == "running" else state
    await visit.note(f"cancel #{number} of the queue", done)
    return RedirectResponse(PATH, 303)


ROUTES = (
    ("GET", PATH, page),
    ("POST", "/queue/{id}/move", move),
    ("POST", "/queue/{id}/cancel", cancel),
)
