"""The drives: state, last plan, health and wear, and the way to their sessions."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlencode

from starlette.responses import Response

from ioplan_lab.desk.desk import Desk
from ioplan_lab.desk.drives import LabDrive, lab_drives, with_health
from ioplan_lab.desk.people.role import Role
from ioplan_lab.desk.tags import DriveTags
from ioplan_lab.desk.web.request_context import RequestContext, allowed

AT_ONCE = 50


@allowed(Role.VIEWER)
async def page(context: RequestContext) -> Response:
    """A page of all, or of those that have each word somewhere."""
    text, number = context.asked("text"), context.page_number
    found = await context.blocking(all_drives, context.desk)
    tags = await context.blocking(DriveTags(context.desk.database).all)
    if words := text.casefold().split():
        texts = {one.name: _searched(one, tags.get(one.name, ())) for one in found}
        found = [one for one in found if all(w in texts[one.name] for w in words)]
    first = AT_ONCE * (number - 1)
    shown = found[first : first + AT_ONCE]
    return context.page(
        "drives.html.j2",
        drives=await context.blocking(with_health, context.desk.store, shown),
        tags=tags,
        text=text,
        count=len(found),
        first=first + 1,
        before=_address(text, number - 1) if number > 1 else "",
        after=_address(text, number + 1) if first + AT_ONCE < len(found) else "",
    )


def all_drives(desk: Desk) -> list[LabDrive]:
    """The drives of lab file and results, as they are now. Raises StoreError."""
    return lab_drives(desk.store, desk.starter.lab, desk.drives())


def _address(text: str, number: int) -> str:
    return f"/drives?{urlencode({'text': text, 'page': number})}"


def _searched(one: LabDrive, tags: Sequence[str]) -> str:
    last = one.last or {}
    keys = ("serial", "model", "firmware", "last_plan")
    state = one.state.state if one.state else ""
    parts = [
        one.name,
        one.host,
        state,
        *tags,
        *(str(last.get(key, "")) for key in keys),
    ]
    return " ".join(parts).casefold()


ROUTES = (("GET", "/drives", page),)
