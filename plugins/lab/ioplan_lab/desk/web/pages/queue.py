"""The queue: what waits, for what, and in which order."""

from __future__ import annotations

from typing import Any

from starlette.responses import RedirectResponse, Response

from ioplan_lab.desk.desk import Desk
from ioplan_lab.desk.errors import DeskError
from ioplan_lab.desk.people.role import Role
from ioplan_lab.desk.queue.ask import priority_named
from ioplan_lab.desk.queue.entry import Priority
from ioplan_lab.desk.web.request_context import RequestContext, allowed

PATH = "/queue"
MOST_ENDED = 30


@allowed(Role.VIEWER)
async def page(context: RequestContext) -> Response:
    """What is held, what waits, and what ended last."""
    return context.page("queue.html.j2", **await context.blocking(_shown, context.desk))


def _shown(desk: Desk) -> dict[str, Any]:
    return {
        "held": desk.queue.held(),
        "waiting": desk.queue.waiting(),
        "ended": desk.queue.ended(MOST_ENDED),
        "priorities": [one.word for one in Priority],
    }


@allowed(Role.OPERATOR)
async def move(context: RequestContext) -> Response:
    """Another priority, or the front of its own."""
    number, word, first = (
        context.number,
        context.said("priority"),
        bool(context.said("first")),
    )
    if not (word or first):
        raise DeskError("choose a priority, or the first place")
    chosen = priority_named(word) if word else None
    await context.blocking(context.desk.queue.move, number, chosen, first)
    await context.note(f"move #{number} in the queue", "first" if first else word)
    return RedirectResponse(PATH, 303)


@allowed(Role.OPERATOR)
async def cancel(context: RequestContext) -> Response:
    """Cancel what waits, end what runs, or close what is unknown."""
    number = context.number
    state = await context.blocking(context.desk.queue.cancel, number, context.name)
    done = "its I/O is stopped" if state == "running" else state
    await context.note(f"cancel #{number} of the queue", done)
    return RedirectResponse(PATH, 303)


ROUTES = (
    ("GET", PATH, page),
    ("POST", "/queue/{id}/move", move),
    ("POST", "/queue/{id}/cancel", cancel),
)
