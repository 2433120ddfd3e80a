"""The lab's commands for the events of a plan."""

from __future__ import annotations

from ioplan.cli.errors import UsageError
from ioplan.cli.targets.choose import Choice
from ioplan.core.text import did_you_mean
from ioplan.job import SECOND_NS
from ioplan.language.quantity import parse_quantity
from ioplan.planner.summary import PlanSummary
from ioplan.runner.events.lab_command import CommandCall
from ioplan.runner.events.lab_events import EventCommand
from ioplan.runner.lab.lab import Lab

HOW = """add to it, with a command of your own:

[events."{}"]
command = ["…", "…"]"""


def check_events(plan: PlanSummary, choice: Choice) -> None:
    """Before anything is made or opened. Raises UsageError where the lab lacks one.

    What a simulated drive cannot do, its gaps say.
    """
    if choice.backend.virtual_time:
        return
    for name, span in plan.events.items():
        if name not in choice.lab.events:
            near = did_you_mean(name, choice.lab.events)
            raise UsageError(
                f'{span!r}: the lab file has no event "{name}"{near}; '
                + HOW.format(name)
            )


def event_commands(plan: PlanSummary, lab: Lab) -> dict[str, EventCommand]:
    """What is run for each event of the plan that the lab has."""
    return {
        name: EventCommand(
            call=CommandCall(
                words=lab.event_words(lab.events[name]),
                timeout_s=parse_quantity(lab.events[name].timeout).value / SECOND_NS,
            ),
            host=lab.events[name].host or "",
        )
        for name in plan.events
        if name in lab.events
    }
