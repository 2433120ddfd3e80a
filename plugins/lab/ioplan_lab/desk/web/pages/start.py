"""Starting a plan: chosen or sent, checked, shown with its cost, and then begun."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace
from starlette.responses import RedirectResponse, Response

from ioplan_lab.desk.errors import DeskError
from ioplan_lab.desk.people.role import Role
from ioplan_lab.desk.queue.entry import Priority
from ioplan_lab.desk.start.asked import Asked, asked_of, form_fields
from ioplan_lab.desk.start.starter import Mistake, Starter
from ioplan_lab.desk.web.visit import Visit, allowed

AROUND = 2
"""Lines that are shown before and behind one with a mistake."""


@allowed(Role.OPERATOR)
async def page(visit: Visit) -> Response:
    """The form; `plan` in the address is one that is chosen already."""
    targets = tuple(visit.request.query_params.getlist("target"))
    return await _form(visit, Asked(plan=visit.asked("plan"), targets=targets))


@allowed(Role.OPERATOR)
async def check(visit: Visit) -> Response:
    """What the language finds; without errors, what would be done."""
    starter, asked = visit.desk.starter, await _asked(visit)
    file = await visit.blocking(starter.file, asked)
    found = await starter.mistakes(file, asked)
    lines = (await visit.blocking(file.read_text, "utf-8")).split("\n")
    if any(one.severity == "error" for one in found):
        shown = [_shown(one, lines, file.name) for one in found]
        return await _form(visit, asked, mistakes=shown, status=400)
    if not asked.targets:
        raise DeskError("choose at least one target")
    return visit.page(
        "start_review.html.j2",
        asked=asked,
        warnings=[_shown(one, lines, file.name) for one in found],
        planned=await starter.planned(file, asked),
        fields=_fields(asked),
    )


@allowed(Role.OPERATOR)
async def edit(visit: Visit) -> Response:
    """The form again, with all that was said, and the chosen plan's text if wanted."""
    asked = await _asked(visit)
    if visit.said("load") and asked.plan:
        found = await visit.blocking(visit.desk.starter.library.text, asked.plan)
        asked = replace(asked, text=found)
    return await _form(visit, asked)


@allowed(Role.OPERATOR)
async def start(visit: Visit) -> Response:
    """Put it into the queue, which begins it as soon as its drives are free."""
    starter, asked = visit.desk.starter, await _asked(visit)
    if not asked.targets:
        raise DeskError("choose at least one target")
    file = await visit.blocking(starter.file, asked)
    for one in await visit.blocking(starter.wanted, file, asked, visit.name):
        number = await visit.blocking(visit.desk.queue.add, one)
        await visit.note(f"start {one.plan} on {one.target}", f"#{number}")
    return RedirectResponse("/", 303)


@allowed(Role.OPERATOR)
async def cancel(visit: Visit) -> Response:
    """End the I/O of a job; what is finished is kept."""
    job = (await visit.blocking(visit.desk.running.job, visit.id)).id
    await visit.desk.starter.cancel(job)
    await visit.note(f"cancel job {job}", "done")
    return RedirectResponse("/", 303)


async def _asked(visit: Visit) -> Asked:
    lab = await visit.blocking(lambda: visit.desk.starter.lab)
    return asked_of(visit.form, lab)


async def _form(
    visit: Visit,
    asked: Asked,
    mistakes: list[dict[str, Any]] | None = None,
    status: int = 200,
) -> Response:
    values = await visit.blocking(_choices, visit.desk.starter)
    simulated = visit.desk.simulated
    values |= {"fields": form_fields(asked.request)}
    values |= {"asked": asked, "mistakes": mistakes or [], "simulated": simulated}
    return visit.page("start.html.j2", status=status, **values)


def _choices(starter: Starter) -> dict[str, Any]:
    lab = starter.lab
    return {
        "plans": starter.library.groups(),
        "targets": lab.targets,
        "groups": lab.groups,
        "lists": starter.lists(),
        "priorities": [one.word for one in Priority],
    }


def _shown(one: Mistake, lines: list[str], name: str) -> dict[str, Any]:
    """A mistake with its lines; of another file than the plan's without them."""
    own = one.file.rpartition("/")[2] == name
    first = max(1, one.line - AROUND)
    part = lines[first - 1 : one.line + AROUND] if own else []
    return {"mistake": one, "own": own, "lines": list(enumerate(part, first))}


def _fields(asked: Asked) -> list[tuple[str, str]]:
    """All that was asked for, to be sent again."""
    own = ("plan", "text", "consent", "priority")
    pairs = [(name, getattr(asked, name)) for name in own]
    pairs += [(one.name, one.text) for one in form_fields(asked.request)]
    pairs += [("target", one) for one in asked.targets]
    return [pair for pair in pairs if pair[1]]


ROUTES = (
    ("GET", "/start", page),
    ("POST", "/start/check", check),
    ("POST", "/start/edit", edit),
    ("POST", "/start/run", start),
    ("POST", "/jobs/{id}/cancel", cancel),
)
