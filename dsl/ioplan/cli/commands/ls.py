"""`ioplan ls`: sessions, the newest first, all or those that a filter fits."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from ioplan.cli.display.output import print_line
from ioplan.cli.display.terminal import Terminal
from ioplan.cli.sessions.session_filter import Words, check_known, filter_of
from ioplan.cli.sessions.stores import opened, results_at
from ioplan.core.formats import writer_of
from ioplan.results.exports.export import export_sessions
from ioplan.results.exports.formats import WRITERS
from ioplan.results.report.build import summary_text
from ioplan.results.report.terminal.sessions import session_lines
from ioplan.results.store.errors import StoreError
from ioplan.results.store.sessions import SessionFilter, SessionOverview
from ioplan.results.store.store import Store, status_now

MOST_RUNS, MOST_TOLD = 600, 40
"""Runs whose records are read for figures, and the sessions that these are of, at most:
they take 0.2 s."""


def list_sessions(
    *,
    format: str | None,
    output: Path | None,
    force: bool,
    store: str | None,
    **words: Any,
) -> None:
    """Print sessions, the newest first, or export them.

    Raises UsageError, FormatError, StoreError, LabError.
    """
    wanted = filter_of(Words(**words))
    if format:
        writer_of(format, WRITERS, output)
    with results_at(store) as found:
        sessions = listed(found, wanted)
        if not sessions:
            check_known(found, wanted)
        if format:
            with opened(output, force) as out:
                export_sessions(sessions, format, out)
            return
        told = _told(found, sessions)
    print_line("\n".join(session_lines(sessions, told, Terminal().width)))


def listed(store: Store, wanted: SessionFilter) -> list[SessionOverview]:
    """The sessions that fit the filter, each with the status that it has now.

    One that its process left behind is said to run in the store, and was interrupted.
    """
    path = Path(store.where)
    found = [_actual(one, path) for one in store.overview(wanted)]
    if wanted.status == "interrupted":
        running = store.overview(replace(wanted, status="running"))
        found += [_actual(one, path) for one in running]
        found.sort(key=lambda one: one.id, reverse=True)
    fitting = [one for one in found if wanted.status in ("", one.status)]
    return fitting[: wanted.limit]


def _actual(one: SessionOverview, store: Path) -> SessionOverview:
    status = status_now(one.status, one.host_name, one.id, store)
    return replace(one, status=status)


def _told(store: Store, sessions: Sequence[SessionOverview]) -> dict[str, str]:
    """The figures of the newest sessions, as many as are read at once."""
    so_far = accumulate(one.runs for one in sessions)
    newest = [
        one
        for one, runs in zip(sessions[:MOST_TOLD], so_far, strict=False)
        if one.runs and runs <= MOST_RUNS
    ]
    return {one.id: _summary(store, one.id) for one in newest}


def _summary(store: Store, session: str) -> str:
    """A session whose records cannot be read is listed nevertheless."""
    try:
        return summary_text(store, store.session(session))
    except StoreError:
        return ""
