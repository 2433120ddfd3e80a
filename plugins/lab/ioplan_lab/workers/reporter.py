"""Tells the lab's database how this host's lanes are: `python -m … LANES_FOLDER`.

One process of a host does so at a time. It is no child of a worker, ends when the last
state of each lane is there, and is started again by the worker or the next command if
it is killed. A database that is away is waited for: the lanes go on meanwhile.
"""

from __future__ import annotations

import os
import sys
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from shutil import rmtree

from ioplan.results.store import StoreError
from ioplan_lab.cluster.jobs.lane import LaneCall, LaneState
from ioplan_lab.cluster.jobs.lane_folder import LaneFolder
from ioplan_lab.cluster.jobs.reporting import (
    enter,
    is_done,
    reporting,
    unreported,
)
from ioplan_lab.desk.database import DeskDatabase, desk_folder
from ioplan_lab.desk.inventory import Inventory
from ioplan_lab.desk.tables import TABLES

LOOK_S = 2.0
LIFE_S = 600.0
"""How long a database is waited for once all lanes have ended."""

Lanes = dict[str, list[tuple[LaneCall, LaneState]]]
"""By the address of the database."""


class Reporter:
    """The lanes below one folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._calls: dict[str, LaneCall] = {}
        self._open: dict[str, tuple[ExitStack, Inventory]] = {}

    def turn(self) -> bool:
        """Tell once; whether a database could not be told. Raises OSError."""
        failed = False
        for place, found in self._lanes().items():
            try:
                wanted = self._inventory(place).report(found)
            except StoreError:
                failed = True
                self._close(place)
                continue
            for session, person in wanted.items():
                self._folder(session).stop(person)
            for call, state in found:
                if state.ended:
                    self._leave(call)
        return failed

    def _leave(self, call: LaneCall) -> None:
        """It has ended, unless it was resumed at this moment."""
        is_done(self.root, call.session)
        folder = self._folder(call.session)
        if not folder.state().ended:
            enter(self.root, call.session)
        elif not call.plan:  # a plain run's, which nobody takes up
            rmtree(folder.path.parent, ignore_errors=True)

    def _lanes(self) -> Lanes:
        found: Lanes = {}
        for session in unreported(self.root):
            folder = self._folder(session)
            try:
                call = self._calls.get(session) or folder.call()
                state = folder.state()
            except (OSError, ValueError):  # removed, or not whole yet
                if not folder.path.exists():
                    is_done(self.root, session)
                continue
            self._calls[session] = call
            found.setdefault(call.results or "", []).append((call, state))
        return found

    def _folder(self, session: str) -> LaneFolder:
        job, _, _ = session.rpartition("-")
        if (plain := self.root / session / session).exists():
            return LaneFolder(plain)
        return LaneFolder(self.root / job / session)

    def _inventory(self, place: str) -> Inventory:
        """Raises StoreError."""
        if place not in self._open:
            stack = ExitStack()
            database = DeskDatabase.at(place, desk_folder(), TABLES)
            self._open[place] = stack, Inventory(stack.enter_context(database))
            self._open[place][1].forget_old()
        return self._open[place][1]

    def _close(self, place: str) -> None:
        if place in self._open:
            self._open.pop(place)[0].close()

    @property
    def all_ended(self) -> bool:
        """Whether nothing runs of which there is anything to tell."""
        lanes = [one for found in self._lanes().values() for one in found]
        return all(state.ended for _, state in lanes)


def main(root: str) -> None:
    """The program."""
    os.nice(19)  # a drive's run on this host goes first
    with suppress(OSError), reporting(Path(root)) as is_free:
        if not is_free:
            return
        reporter, waited_s = Reporter(Path(root)), 0.0
        while unreported(reporter.root) and waited_s < LIFE_S:
            failed = reporter.turn()
            waited_s = waited_s + LOOK_S if failed and reporter.all_ended else 0.0
            time.sleep(LOOK_S)


if __name__ == "__main__":
    main(sys.argv[1])
