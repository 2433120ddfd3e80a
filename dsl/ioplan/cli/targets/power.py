"""What cuts the power of a target, for a plan that asks for it."""

from __future__ import annotations

from contextlib import ExitStack, closing

from ioplan.backends.backend import Drive, TargetRequest
from ioplan.cli.errors import UsageError
from ioplan.cli.targets.choose import Choice, after_reading
from ioplan.planner.summary import PlanSummary
from ioplan.runner.events.power_cut import PowerSupply

HOW = """add to its entry in the lab file, with commands of your own:

power_control = { off = ["…"], on = ["…"], settle = "20s" }"""


def check_power(plan: PlanSummary, choice: Choice, request: TargetRequest) -> None:
    """Before anything is made or opened. Raises UsageError where nothing can cut it.

    What a simulated drive cannot do, its gaps say.
    """
    if not plan.cuts_power or choice.backend.virtual_time:
        return
    if not (request.entry and request.entry.power_control):
        raise UsageError(
            f"the plan cuts the power of its target, and nothing says how: {HOW}"
        )
    if not request.overwrite:
        raise UsageError(
            "a power cut may destroy data; name the target: --overwrite TARGET"
        )


def nothing_in_the_midst(plan: PlanSummary, command: str) -> None:
    """Raises UsageError for a plan that cuts the power, or has events."""
    if plan.cuts_power:
        raise UsageError(f"the plan cuts the power of its target, and {command} cannot")
    if plan.events:
        raise UsageError(f"the plan has events, and {command} makes none")


def power_supply(
    plan: PlanSummary, choice: Choice, request: TargetRequest, stack: ExitStack
) -> PowerSupply | None:
    """None where no run cuts the power."""
    control = request.entry.power_control if request.entry else None
    if not plan.cuts_power or control is None:
        return None

    def reopen() -> Drive:
        known = (*request.overwrite_data, *request.overwrite)
        again = request.model_copy(update={"overwrite_data": known})
        return stack.enter_context(closing(after_reading(choice.backend.open, again)))

    return PowerSupply(control, reopen)
