"""Starting a plan: chosen or sent, checked, shown with its cost, and then begun."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace
from starlette.responses import RedirectResponse, Response

from ioplan_lab.desk.errors import DeskError
from ioplan_lab.desk.people.role import Role
from ioplan_lab.desk.queue.entry import Priority
from ioplan_lab.desk.start.start_form import StartForm, form_fields, start_form_of
from ioplan_lab.desk.start.starter import PlanDiagnostic, Starter
from ioplan_lab.desk.web.request_context import RequestContext, allowed, always

AROUND = 2
"""Lines that are shown before and behind one with a diagnostic."""


@allowed(Role.OPERATOR)
async def page(context: RequestContext) -> Response:
    """The form; `plan` in the address is one that is chosen already."""
    targets = tuple(context.request.query_params.getlist("target"))
    return await _form(context, StartForm(plan=context.asked("plan"), targets=targets))


@allowed(Role.OPERATOR)
async def check(context: RequestContext) -> Response:
    """What the language finds; without errors, what would be done."""
    starter, asked = context.desk.starter, await _asked(context)
    file = await context.blocking(starter.file, asked)
    found = await starter.diagnostics(file, asked)
    lines = (await context.blocking(file.read_text, "utf-8")).split("\n")
    if any(one.severity == "error" for one in found):
        shown = [_shown(one, lines, file.name) for one in found]
        return await _form(context, asked, diagnostics=shown, status=400)
    if not asked.targets:
        raise DeskError("choose at least one target")
    return context.page(
        "start_review.html.j2",
        asked=asked,
        warnings=[_shown(one, lines, file.name) for one in found],
        planned=await starter.planned(file, asked),
        fields=_fields(asked),
    )


@allowed(Role.OPERATOR)
async def edit(context: RequestContext) -> Response:
    """The form again, with all that was said, and the chosen plan's text if wanted."""
    asked = await _asked(context)
    if context.said("load") and asked.plan:
        found = await context.blocking(context.desk.starter.library.text, asked.plan)
        asked = replace(asked, text=found)
    return await _form(context, asked)


@allowed(Role.OPERATOR)
async def start(context: RequestContext) -> Response:
    """Put it into the queue, which begins it as soon as its drives are free."""
    starter, asked = context.desk.starter, await _asked(context)
    if not asked.targets:
        raise DeskError("choose at least one target")
    file = await context.blocking(starter.file, asked)
    for one in await context.blocking(starter.wanted, file, asked, context.name):
        number = await context.blocking(context.desk.queue.add, one)
        await context.note(f"start {one.plan} on {one.target}", f"#{number}")
    return RedirectResponse("/", 303)


@always
@allowed(Role.OPERATOR)
async def cancel(context: RequestContext) -> Response:
    """End the I/O of a job; what is finished is kept."""
    desk = context.desk
    if await context.blocking(desk.running.jobs.has, context.id):
        await desk.starter.cancel(context.id, context.name)
    else:  # another desk or a shell has started it
        await context.blocking(desk.inventory.cancel, context.id, context.name)
    await context.note(f"cancel job {context.id}", "done")
    return RedirectResponse("/", 303)


async def _asked(context: RequestContext) -> StartForm:
    lab = await context.blocking(lambda: context.desk.starter.lab)
    return start_form_of(context.form, lab)


async def _form(
    context: RequestContext,
    asked: StartForm,
    diagnostics: list[dict[str, Any]] | None = None,
    status: int = 200,
) -> Response:
    values = await context.blocking(_choices, context.desk.starter)
    simulated = context.desk.simulated
    values |= {"fields": form_fields(asked.request)}
    values |= {"asked": asked, "diagnostics": diagnostics or [], "simulated": simulated}
    return context.page("start.html.j2", status=status, **values)


def _choices(starter: Starter) -> dict[str, Any]:
    lab = starter.lab
    return {
        "plans": starter.library.groups(),
        "targets": lab.targets,
        "groups": lab.groups,
        "lists": starter.lists(),
        "priorities": [one.word for one in Priority],
    }


def _shown(one: PlanDiagnostic, lines: list[str], name: str) -> dict[str, Any]:
    """A diagnostic with its lines; of another file than the plan's without them."""
    own = one.file.rpartition("/")[2] == name
    first = max(1, one.line - AROUND)
    part = lines[first - 1 : one.line + AROUND] if own else []
    return {"diagnostic": one, "own": own, "lines": list(enumerate(part, first))}


def _fields(asked: StartForm) -> list[tuple[str, str]]:
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
