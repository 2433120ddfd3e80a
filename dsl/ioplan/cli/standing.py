"""The state that a target is in now, as far as a store can prove it."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from ioplan.backends import TargetRequest
from ioplan.lab.aim import aim
from ioplan.lab.lab import read_lab
from ioplan.lab.refusal import TargetError
from ioplan.lab.target import open_target
from ioplan.planner.state import TargetState
from ioplan.results.store import Store
from ioplan.runner.ledger import UNKNOWN, proven


def standing(
    target: str | None, lab: Path | None, store: Path
) -> tuple[TargetState, str]:
    """The state, and a line on why it is kept or not; empty where nothing is known."""
    if target is None or not store.exists():
        return UNKNOWN, ""
    try:
        opened = open_target(TargetRequest(path=aim(target, read_lab(lab))[0]))
    except TargetError as error:
        return UNKNOWN, f"the state of the target is not known: {error}"
    with closing(opened), Store.open(store) as known:
        return proven(known, opened.facts)
