"""`ioplan plan`: the steps, before anything runs."""

from __future__ import annotations

from pathlib import Path

from ioplan.backends import TargetFacts
from ioplan.cli.display.plan_table import ProvenState, plan_json, plan_table
from ioplan.cli.display.terminal import Terminal
from ioplan.cli.errors import UsageError
from ioplan.cli.inputs import NO_TARGET, checked_plan, simulated, size
from ioplan.language.fields import SECTOR_BYTES
from ioplan.planner.unfold import UNKNOWN

DEFAULT_CAPACITY_BYTES = 10**12


def show_plan(
    *,
    plan: Path,
    target: str | None,
    capacity: str | None,
    settings: list[str],
    profile: str,
    scale_time: float,
    backend: str | None,
    lab: Path | None,
    options: list[str],
    sim: Path | None,
    store: Path | None,
    native: bool,
    rehearse: bool,
    json: bool,
    everything: bool,
) -> None:
    """Print a plan's steps, or what would be done in another view."""
    planned = checked_plan(plan, settings, scale_time, profile)
    if target and capacity:
        raise UsageError("say --target or --capacity, not both")
    state: ProvenState = (UNKNOWN, "")
    capacity_bytes = size(capacity, "--capacity")
    if target:  # what a view needs is imported with it: most calls want the table
        from ioplan.cli.commands.plan_target import located, proven_state  # noqa: PLC0415

        target, capacity_bytes = located(target, lab)
        state = proven_state(target, store)
    facts = assumed_facts(target, capacity_bytes)
    console = Terminal(highlight=False)
    backend, options = simulated(sim, backend, options)
    if native or backend:
        from ioplan.cli.choose import chosen_backend  # noqa: PLC0415
        from ioplan.cli.commands.native import (  # noqa: PLC0415
            check_expressible,
            print_native,
        )

        choice = chosen_backend(backend, lab, options)
        check_expressible(planned, choice, facts)
    if rehearse:
        from ioplan.cli.commands.rehearse import print_rehearsal  # noqa: PLC0415

        known = facts.capacity_bytes if target or capacity or not sim else None
        print_rehearsal(console, planned, known, sim, json)
    elif native:
        print_native(console, planned, choice, facts)
    elif json:
        plan_json(planned, facts.capacity_bytes, state)
    else:
        plan_table(console, planned, facts.capacity_bytes, everything, state)


def assumed_facts(target: str | None, capacity_bytes: int | None) -> TargetFacts:
    """The facts of a target that need not be there."""
    return TargetFacts(
        path=target or NO_TARGET,
        kind="assumed",
        capacity_bytes=capacity_bytes or DEFAULT_CAPACITY_BYTES,
        block_bytes=SECTOR_BYTES,
    )
