"""Who watches a session: a display, its job, and the lab's database."""

from __future__ import annotations

from contextlib import ExitStack

from ioplan.backends.backend import TargetFacts
from ioplan.cli.display.json_lines import JsonLines
from ioplan.cli.display.lines import Lines
from ioplan.cli.display.output import print_message
from ioplan.cli.display.plain import LineOutput
from ioplan.cli.lab_plugin import Lane, lab_plugin, needed_lab_plugin
from ioplan.cli.run_options import RunCall
from ioplan.records.session import Session
from ioplan.results.store.database import is_address
from ioplan.runner.execute.observer import Observers, SessionObserver
from ioplan.runner.guard.errors import os_reason
from ioplan.runner.lab.lab import Lab


def lane_of(call: RunCall) -> Lane | None:
    """The lane that this process is; None for a plain run."""
    return needed_lab_plugin().lane(call.lane) if call.lane else None


def watcher_of(
    call: RunCall,
    out: LineOutput,
    session: Session,
    facts: TargetFacts,
    lab: Lab,
    stack: ExitStack,
) -> SessionObserver:
    """For as long as the stack; a lab with a database is told of a plain run, too."""
    if lane := lane_of(call):
        return lane.observer
    shown = _display(call, out)
    if not (lab.results and is_address(lab.results)):
        return shown
    if not (plugin := lab_plugin()):
        return shown
    told = plugin.told_of(session, facts, lab, call.store)
    try:
        return Observers(shown, stack.enter_context(told))
    except OSError as error:
        print_message(
            "warning: the lab's inventory does not show this run, since its state "
            f"cannot be kept: {os_reason(error)}"
        )
        return shown


def _display(call: RunCall, out: LineOutput) -> SessionObserver:
    if call.json:
        return JsonLines()
    if call.quiet:
        return SessionObserver()
    if out.is_terminal:
        from ioplan.cli.display.live_lines import live_lines  # noqa: PLC0415

        return live_lines(out) or Lines(out)
    return Lines(out)
