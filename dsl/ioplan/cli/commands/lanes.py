"""`ioplan show JOB`: the lanes of a job, and its targets beside one another."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from ioplan.cli.display.output import print_line
from ioplan.core.text import line
from ioplan.results.report.headlines.session_league import league_of
from ioplan.results.report.terminal.league import league_note, league_table
from ioplan.results.report.terminal.session_list import session_lines
from ioplan.results.store.overview import SessionFilter
from ioplan.results.store.store import Store


def print_lanes(console: Console, store: Store, ids: Sequence[str]) -> None:
    """A line for each, then the league of those that have figures."""
    sessions = [store.session(id) for id in ids]
    job = sessions[0].job or ""  # the sessions of a bundle may be of none
    every = store.overview(SessionFilter(job=job))
    lanes = sorted((one for one in every if one.id in ids), key=lambda one: one.id)
    for text in session_lines(lanes, {}, console.width):
        print_line(text)
    if found := league_of(store, [one for one in sessions if store.count(one.id)]):
        console.print(league_table(found, console))
        console.print(line(league_note(found), "dim"))
    every_one = job or " ".join(ids)
    print_line(f"one of them: ioplan show {ids[0]}\nall: ioplan report {every_one}")
