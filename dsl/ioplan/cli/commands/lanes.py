"""`ioplan show JOB`: the lanes of a job, and its targets beside one another."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from ioplan.cli.display.output import print_line
from ioplan.core.text import line
from ioplan.report.headlines.summary import league_of
from ioplan.report.terminal.league import league_note, league_table
from ioplan.report.terminal.session_list import session_lines
from ioplan.store.store import Store


def print_lanes(console: Console, store: Store, ids: Sequence[str]) -> None:
    """A line for each, then the league of those that have figures."""
    wanted = set(ids)
    lanes = sorted(
        (one for one in store.overview() if one.id in wanted), key=lambda one: one.id
    )
    for text in session_lines(lanes, {}, console.width):
        print_line(text)
    sessions = [
        one for one in store.sessions() if one.id in wanted and store.count(one.id)
    ]
    if found := league_of(store, sessions[::-1]):
        console.print(league_table(found, console))
        console.print(line(league_note(found), "dim"))
    key = lanes[0].job or ",".join(ids)
    print_line(f"one of them: ioplan show {ids[0]}\nall: ioplan report {key}")
