"""The noise of a comparison: of its own sessions, and of what else the store has."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf, log1p

from msgspec.structs import replace

from ioplan.compare.earlier import Peers, drive_of, grouped, key_of, others
from ioplan.compare.noise import EXACT, Key, MetricNoise
from ioplan.compare.side import CellRuns, Side
from ioplan.core.shared_variance import Variance
from ioplan.store.store import Store

ENOUGH = 4
"""From so many degrees of freedom on, sessions of other drives are left out."""


def peers_of(store: Store, base: Side, new: Side, parts: bool) -> list[Peers]:
    """Groups of sessions to learn from: each side, and others of the same runs.

    A side whose sessions ran under unlike conditions (on three drives, say) is what it
    is: what the store knows of one drive does not hold for it. Raises StoreError.
    """
    sides = [_cells_by_session(side) for side in (base, new)]
    asked = [
        Peers("", "", tuple(cells), compared=True)
        if len(found := grouped(cells)) != 1
        else replace(found[0], compared=True)
        for cells in sides
    ]
    if any(len(grouped(cells)) > 1 for cells in sides):
        return asked
    ids = {cell.run_id for side in (base, new) for cell in side.cells}
    compared = {session.id for side in (base, new) for session in side.sessions}
    return [*asked, *_nearest(asked, others(store, ids, compared, parts))]


def _nearest(asked: Sequence[Peers], found: Sequence[Peers]) -> list[Peers]:
    """Of the same drives if they are enough, else of all."""
    drives = {one.drive for one in asked}
    same = [one for one in found if one.drive in drives]
    degrees = sum(len(one.sessions) - 1 for one in (*asked, *same) if one.sessions)
    return same if degrees >= ENOUGH else list(found)


def _cells_by_session(side: Side) -> list[tuple[CellRuns, ...]]:
    """The cells of each session, as if it were a side of its own."""
    found: dict[str, list[CellRuns]] = {session.id: [] for session in side.sessions}
    for cell in side.cells:
        for session, runs in cell.by_session().items():
            found[session].append(CellRuns(cell.run_id, cell.occurrence, runs))
    return [tuple(cells) for cells in found.values() if cells]


def drives(side: Side) -> set[str]:
    """The drives that its sessions ran on."""
    return {drive_of(run) for cell in side.cells for run in (*cell.runs, *cell.failed)}


def keys(sides: Iterable[Side]) -> list[Key]:
    """Of all cells, each once."""
    return list(dict.fromkeys(key_of(cell) for side in sides for cell in side.cells))


def with_given(
    noise: MetricNoise, percent: float | None, keys: Iterable[Key]
) -> MetricNoise:
    """With the noise that the caller gives where nothing tells it.

    It is taken as shared by all cells, which is the most careful.
    """
    if percent is None or noise.shared is not None:
        return noise
    given = Variance(log1p(percent / 100) ** 2, inf)
    own = {key: Variance(EXACT, inf) for key in keys}
    return replace(noise, shared=given, own=own, source="given")
