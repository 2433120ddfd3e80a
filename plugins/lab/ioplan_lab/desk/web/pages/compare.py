"""What is better or worse on one side than on the other."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from starlette.responses import Response

from ioplan.results.compare import Comparison, Row, wording
from ioplan_lab.desk.calls import compared
from ioplan_lab.desk.errors import DeskError
from ioplan_lab.desk.people.role import Role
from ioplan_lab.desk.web.request_context import RequestContext, allowed

SIDE = "side-"


@allowed(Role.VIEWER)
async def page(context: RequestContext) -> Response:
    """The ticked sessions, each on a side: the oldest is the base, if nobody says."""
    query = context.request.query_params
    keys = query.getlist("session")
    found = await context.blocking(context.desk.reports.sessions, keys)
    if len(found) < 2:
        raise DeskError(
            "select at least two sessions: one to compare with, one to judge"
        )
    found = sorted(found, key=lambda one: one.id)
    oldest = found[0].id
    sides = {
        one.id: query.get(SIDE + one.id, "base" if one.id == oldest else "new")
        for one in found
    }
    base = [key for key, side in sides.items() if side == "base"]
    new = [key for key, side in sides.items() if side == "new"]
    values: dict[str, Any] = {"sessions": found, "sides": sides, "found": None}
    if base and new:
        call = compared(context.desk.calls, context.desk.reports.place, base, new)
        try:
            values |= _shown(await call, everything=context.asked("all") == "1")
        except DeskError as error:
            values["why"] = str(error)
    else:
        values["why"] = "select at least one session for each side"
    return context.page("compare.html.j2", **values)


def _shown(found: Comparison, everything: bool) -> dict[str, Any]:
    drives = found.subject == "drives"
    rows = [row for row in found.rows if everything or row.verdict != "equal"]
    tests = [
        (title, [_row(one, drives) for one in group])
        for title, group in groupby(rows, key=lambda row: row.test)
    ]
    return {
        "found": found,
        "drives": drives,
        "everything": everything,
        "summary": wording.summary_text(found),
        "together": [
            (one.verdict, wording.all_cells_text(one, drives))
            for one in found.all_cells
        ],
        "tests": tests,
        "notes": list(wording.notes(found)),
    }


def _row(row: Row, drives: bool) -> dict[str, str]:
    return {
        "verdict": row.verdict,
        "cell": wording.cell_text(row),
        "metric": row.metric,
        "base": wording.base_text(row),
        "new": wording.new_text(row),
        "change": wording.change_text(row.ratio, drives),
        "interval": wording.interval_text(row, drives),
    }


ROUTES = (("GET", "/compare", page),)
