"""A target that is not here, for plans."""

from __future__ import annotations

from ioplan.backends.backend import TargetFacts
from ioplan.cli.inputs import NO_TARGET
from ioplan.language.quantity import SECTOR_BYTES

DEFAULT_CAPACITY_BYTES = 10**12


def assumed_facts(target: str | None, capacity_bytes: int | None) -> TargetFacts:
    """The facts of a target that need not be there."""
    return TargetFacts(
        path=target or NO_TARGET,
        kind="assumed",
        capacity_bytes=capacity_bytes or DEFAULT_CAPACITY_BYTES,
        block_bytes=SECTOR_BYTES,
    )
