"""`--on` of `run` and `lab queue add`: targets by what their drives are."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ioplan.cli.display.output import print_message
from ioplan.cli.errors import UsageError
from ioplan.results.store.store import Store, default_path
from ioplan.runner.lab.lab_file import read_lab
from ioplan.runner.session.person import login_name
from ioplan_lab.commands.desk.drives import lanes_now
from ioplan_lab.commands.desk.open_desk import desk_database
from ioplan_lab.desk.inventory import Busy
from ioplan_lab.desk.known_drives import targets_on


def chosen_targets(on: str, targets: Sequence[str], lab: Path | None) -> list[str]:
    """What `--on` takes, which is said. Raises UsageError, DeskError, StoreError."""
    if targets:
        raise UsageError("use --target or --on, not both")
    known = read_lab(lab)
    place = known.results or default_path()
    with desk_database(lab) as database, Store.at(place) as store:
        busy = Busy(lanes_now(database))
        found = targets_on(on, known, store, database, busy, login_name())
    print_message(f"on {', '.join(found)}")
    return found
