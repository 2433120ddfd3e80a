"""Sessions: searched, filtered, and ticked for a report or a comparison."""

from __future__ import annotations

from typing import Any, get_args
from urllib.parse import urlencode

from starlette.responses import JSONResponse, Response

from ioplan.results.store import SessionFilter, SessionOverview, SessionVerdict
from ioplan_lab.desk.key_figures import key_figures
from ioplan_lab.desk.people.role import Role
from ioplan_lab.desk.web.request_context import RequestContext, allowed

AT_ONCE = 50
FIELDS = ("text", "drive", "host", "plan", "job", "tag", "status", "verdict", "since")
STATUSES = ("running", "ok", "failed", "interrupted")
VERDICTS = get_args(SessionVerdict)


@allowed(Role.VIEWER)
async def page(context: RequestContext) -> Response:
    """A page of those that the filters leave."""
    number = context.page_number
    asked = {name: context.asked(name) for name in FIELDS}
    found = await context.blocking(_found, context, asked, number)
    shown = [one.id for one in found[:AT_ONCE]]
    return context.page(
        "sessions.html.j2",
        sessions=found[:AT_ONCE],
        figures=await context.blocking(key_figures, context.desk.store, shown),
        asked=asked,
        statuses=STATUSES,
        verdicts=VERDICTS,
        filtered=any(asked.values()),
        newer=_address(asked, number - 1) if number > 1 else "",
        older=_address(asked, number + 1) if len(found) > AT_ONCE else "",
    )


@allowed(Role.VIEWER)
async def as_json(context: RequestContext) -> Response:
    """The list of sessions for programs."""
    asked = {name: context.asked(name) for name in FIELDS}
    found = await context.blocking(_found, context, asked, context.page_number)
    return JSONResponse({"sessions": [_json(one) for one in found[:AT_ONCE]]})


def _found(
    context: RequestContext, asked: dict[str, str], number: int
) -> list[SessionOverview]:
    """One more than a page has, which tells whether there is another page."""
    wanted: dict[str, Any] = {
        name: _pattern(name, word) for name, word in asked.items() if word
    }
    first = AT_ONCE * (number - 1)
    limited = SessionFilter(**wanted, limit=AT_ONCE + 1, offset=first)
    return context.desk.store.overview(limited)


def _pattern(name: str, word: str) -> str:
    """A part is enough for a person who searches; a name with `*` is taken as it is."""
    partly = name in ("plan", "host", "drive", "job") and "*" not in word
    return f"*{word}*" if partly else word


def _address(asked: dict[str, str], number: int) -> str:
    pairs = {name: word for name, word in asked.items() if word}
    return f"/sessions?{urlencode({**pairs, 'page': number})}"


def _json(one: SessionOverview) -> dict[str, Any]:
    names = ("id", "plan", "status", "verdict", "held", "expected", "runs")
    more = ("started_at", "ended_at", "backend", "target", "host_name", "person")
    found = {name: getattr(one, name) for name in (*names, *more, "job", "note")}
    return found | {"drive": one.drive_name, "tags": list(one.tags)}


ROUTES = (("GET", "/sessions", page), ("GET", "/sessions.json", as_json))
