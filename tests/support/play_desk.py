"""A desk in a process of its own: it takes from a queue, and may be killed in between.

ADDRESS FOLDER [KILLED]: after so many starts it is killed, half of the times between
taking an entry and starting it, else after the start and before the queue knows.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from threading import Event

from ioplan_lab import TABLES, DeskDatabase, Queue, Runner
from ioplan_lab.desk.queue.entry import Entry
from ioplan_lab.desk.queue.runner import alone, desk_name


class Starts:
    """Starts by a file for each job, as `ioplan run --job` does; a job ends at once."""

    def __init__(self, folder: Path, killed_at: int) -> None:
        self.folder, self.left = folder, killed_at

    def is_started(self, entry: Entry) -> bool:
        return (self.folder / entry.job).exists()

    def start(self, entry: Entry) -> None:
        self.left -= 1
        if self.left == 0 and entry.number % 2:
            os.kill(os.getpid(), signal.SIGKILL)
        if not self.is_started(entry):
            with (self.folder / "started").open("a") as log:
                log.write(f"{entry.number} {os.getpid()}\n")
            (self.folder / entry.job).touch(exist_ok=False)
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def outcome(self, entry: Entry) -> str | None:
        return "ok"

    def stop(self, entry: Entry) -> None:
        pass


def main(address: str, folder: Path, killed_at: int) -> None:
    database = DeskDatabase.at(address, folder, TABLES)
    with database, alone(folder):
        queue = Queue(database)
        runner = Runner(queue, Starts(folder.parent, killed_at), desk_name(folder))
        never = Event()
        while queue.waiting() or queue.of(desk_name(folder)):
            runner.turn()
            never.wait(0.01)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int((*sys.argv, "0")[3]))
