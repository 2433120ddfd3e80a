"""What cuts the power of a target, for a plan that asks for it."""

from __future__ import annotations

from contextlib import ExitStack, closing

from ioplan.backends import Drive, TargetRequest
from ioplan.cli.choose import Choice, open_drive
from ioplan.cli.errors import UsageError
from ioplan.planner.summary import PlanSummary
from ioplan.runner.power_cut import PowerSupply

HOW = """add to its entry in the lab file, with commands of your own:

power_control = { off = ["…"], on = ["…"], settle = "20s" }"""


def power_supply(
    plan: PlanSummary, choice: Choice, request: TargetRequest, stack: ExitStack
) -> PowerSupply | None:
    """None where no run cuts the power. Raises UsageError where nothing can."""
    if not plan.cuts_power:
        return None
    control = request.entry.power_control if request.entry else None
    if control is None:
        raise UsageError(
            f"the plan cuts the power of its target, and nothing says how: {HOW}"
        )
    if not request.overwrite:
        raise UsageError(
            "a power cut may destroy data; name the target: --overwrite TARGET"
        )

    def reopen() -> Drive:
        known = (*request.overwrite_data, *request.overwrite)
        again = request.model_copy(update={"overwrite_data": known})
        return stack.enter_context(closing(open_drive(choice.backend, again)[0]))

    return PowerSupply(control, reopen)
