"""`ioplan report --drive`: the page of one drive."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from ioplan.cli.commands.ls import listed
from ioplan.cli.errors import UsageError
from ioplan.cli.sessions.session_filter import Words, filter_of
from ioplan.core.version import __version__
from ioplan.results.history.conditions import conditions_of
from ioplan.results.history.drive_page import drive_document
from ioplan.results.history.history import Question, history
from ioplan.results.history.model import History
from ioplan.results.report.document import Document
from ioplan.results.store.overview import SessionOverview
from ioplan.results.store.store import Store


def drive_page(store: Store, drive: str) -> Document:
    """All sessions of a drive. Raises UsageError where there is none, or several."""
    own = [one for one in listed(store, filter_of(Words(drive=drive))) if one.runs]
    names = list(dict.fromkeys(one.drive_name for one in own))
    if not own:
        raise UsageError(f"--drive: no session with runs is of {drive!r}: ioplan ls")
    if len(names) > 1:
        raise UsageError(f"--drive: {drive!r} is {', '.join(names)}: name one of them")
    made = f"Made {datetime.now(UTC):%Y-%m-%d %H:%M} UTC by ioplan {__version__}"
    others = _others(store, own[0])
    return drive_document(store, names[0], own, others, _history(store, own[0]), made)


def _others(store: Store, newest: SessionOverview) -> Sequence[SessionOverview]:
    """The newest session of each other drive that ran the same plan."""
    found: dict[str, SessionOverview] = {}
    for one in listed(store, filter_of(Words(plan=newest.plan))):
        if one.runs and one.plan == newest.plan and one.drive:
            found.setdefault(one.drive_name, one)
    found.pop(newest.drive_name, None)
    return list(found.values())


def _history(store: Store, newest: SessionOverview) -> History | None:
    """The IOPS of the plan's cells in all sessions of the drive."""
    runs = [run for run in store.records(newest.id) if run.asked.kind == "run"]
    if not runs:
        return None
    question = Question(only={"drive": conditions_of(runs[0])["drive"]})
    found = history(store, newest.plan, [run.run_id for run in runs], question)
    return found if found.series else None
