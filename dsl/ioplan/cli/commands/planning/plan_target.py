"""`ioplan plan --target`: what the target is, and what is known of its state.

A target need not be here: an address that only a backend knows says what it can, and
`--capacity` the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from ioplan.backends.backend import AddressingBackend, TargetFacts, TargetRequest
from ioplan.cli.display.plan_table import ProvenState
from ioplan.cli.errors import UsageError
from ioplan.cli.sessions.joined import named_targets
from ioplan.cli.targets.assumed import assumed_facts
from ioplan.cli.targets.choose import Choice
from ioplan.core.units import bytes_text
from ioplan.drive_account import DriveAccount
from ioplan.language.plan import CheckedPlan
from ioplan.planner.summary import summary_of
from ioplan.results.store.store import Store, default_path
from ioplan.runner.devices.file_id import is_there
from ioplan.runner.guard.drive import joined_facts
from ioplan.runner.guard.errors import TargetError
from ioplan.runner.guard.resolve import resolve_target
from ioplan.runner.guard.size import capacity_of
from ioplan.runner.guard.target import open_target
from ioplan.runner.lab.lab import Lab
from ioplan.runner.lab.lab_file import read_lab
from ioplan.runner.state.state_ledger import UNKNOWN, known_account, proven


class PlannedTarget(NamedTuple):
    """A target's facts, or what is assumed of them, and the state that it is in."""

    facts: TargetFacts
    state: ProvenState = (UNKNOWN, "")
    account: DriveAccount | None = None


def planned_targets(
    plan: CheckedPlan,
    words: Sequence[str],
    capacity_bytes: int | None,
    choice: Choice | None,
    lab: Path | None,
    store: Path | None,
) -> PlannedTarget:
    """The first of several targets, or all of them where they have one run."""
    found = (planned_target(w, capacity_bytes, choice, lab, store) for w in words)
    if len(words) < 2 or not (summary := summary_of(plan)).joins_targets:
        return next(found)
    names = named_targets(summary, read_lab(lab), words)
    members = zip(names, (one.facts for one in found), strict=True)
    return PlannedTarget(joined_facts(dict(members)))


def planned_target(
    word: str,
    capacity_bytes: int | None,
    choice: Choice | None,
    lab: Path | None,
    store: Path | None,
) -> PlannedTarget:
    """What `--target`, and perhaps `--capacity`, mean. Raises ExplainedError."""
    known = read_lab(lab)
    path = _path(word, known, named=capacity_bytes is not None)
    if choice and (facts := _addressed(path, choice)):
        return _by_address(facts, capacity_bytes)
    if choice and choice.backend.virtual_time:
        return PlannedTarget(assumed_facts(path, capacity_bytes or _size_of(path)))
    if capacity_bytes is None:
        return _looked_at(path, store)
    if is_there(path):
        raise UsageError(
            f"use --target or --capacity, not both: {path} is here, and has a size"
        )
    return PlannedTarget(assumed_facts(path, capacity_bytes))


def _path(word: str, lab: Lab, named: bool) -> str:
    """Where the target is; on a desk, where a target so `named` would be."""
    try:
        return resolve_target(word, lab).path
    except TargetError:
        entry = lab.targets.get(word)
        if not named or entry is None:
            raise
        return entry.path or f"/dev/{word}"


def _addressed(path: str, choice: Choice) -> TargetFacts | None:
    backend = choice.backend
    if isinstance(backend, AddressingBackend):
        return backend.addressed(path, choice.options)
    return None


def _by_address(facts: TargetFacts, capacity_bytes: int | None) -> PlannedTarget:
    """What the address leaves open is assumed, and said."""
    if facts.capacity_bytes:
        if capacity_bytes:
            raise UsageError(
                f"use --target or --capacity, not both: {facts.path} specifies its size"
            )
        return PlannedTarget(facts)
    size_bytes = assumed_facts(None, capacity_bytes).capacity_bytes
    why = f"assumed of {facts.path}: {bytes_text(size_bytes)}" + (
        "" if capacity_bytes else "; override it with --capacity"
    )
    update = {"capacity_bytes": size_bytes}
    return PlannedTarget(facts.model_copy(update=update), (UNKNOWN, why))


def _size_of(path: str) -> int | None:
    """A simulated drive is no file, whatever it is called."""
    return capacity_of(path) if is_there(path) else None


def _looked_at(path: str, store: Path | None) -> PlannedTarget:
    """A target that is here: its facts if it may be opened, else its size."""
    try:
        opened = open_target(TargetRequest(path=path))
    except TargetError as error:
        facts = assumed_facts(path, capacity_of(path))
        why = f"the state of the target is not known: {error}"
        return PlannedTarget(facts, (UNKNOWN, why))
    with closing(opened):
        return _known(opened.facts, store)


def _known(facts: TargetFacts, store: Path | None) -> PlannedTarget:
    """With its state, and a line on why it is kept or not; empty where nothing is
    known."""
    place = store or default_path()
    if not place.exists():
        return PlannedTarget(facts)
    with Store.open(place) as known:
        return PlannedTarget(facts, proven(known, facts), known_account(known, facts))
