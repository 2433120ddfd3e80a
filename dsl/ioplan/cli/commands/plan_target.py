"""`ioplan plan --target`: how large the target is, and what is known of its state."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from ioplan.backends import TargetRequest
from ioplan.cli.display.plan_table import ProvenState
from ioplan.guard.errors import TargetError
from ioplan.guard.resolve import resolve_target
from ioplan.guard.size import capacity_of
from ioplan.guard.target import open_target
from ioplan.lab.lab_file import read_lab
from ioplan.runner.state_ledger import UNKNOWN, proven
from ioplan.store.store import Store, default_path


def located(target: str, lab: Path | None) -> tuple[str, int | None]:
    """The path that a target's name stands for, and its capacity in bytes."""
    path = resolve_target(target, read_lab(lab)).path
    return path, capacity_of(path)


def proven_state(path: str, store: Path | None) -> ProvenState:
    """The state, and a line on why it is kept or not; empty where nothing is known."""
    place = store or default_path()
    if not place.exists():
        return UNKNOWN, ""
    try:
        opened = open_target(TargetRequest(path=path))
    except TargetError as error:
        return UNKNOWN, f"the state of the target is not known: {error}"
    with closing(opened), Store.open(place) as known:
        return proven(known, opened.facts)
