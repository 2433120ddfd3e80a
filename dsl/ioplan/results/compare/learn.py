"""The noise of a comparison: of its own sessions, and of what else the store has."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf, log1p

from msgspec.structs import replace

from ioplan.core.statistics.shared_variance import Variance
from ioplan.records.setup import drive_of, setup_of
from ioplan.results.compare.earlier import Peers, grouped, key_of, others
from ioplan.results.compare.noise import EXACT, Key, MetricNoise
from ioplan.results.compare.side import CellRuns, Side
from ioplan.results.store.store import Store


def peers_of(store: Store, base: Side, new: Side, parts: bool) -> list[Peers]:
    """Groups of sessions to learn from: each side, and others of the same runs.

    A side whose sessions ran under unlike conditions (on three drives, say) is what it
    is: what the store knows of one drive does not hold for it. Raises StoreError.
    """
    sides = [_cells_by_session(side) for side in (base, new)]
    asked = [
        Peers(None, "", tuple(cells), compared=True)
        if len(found := grouped(cells)) != 1
        else replace(found[0], compared=True)
        for cells in sides
    ]
    if any(len(grouped(cells)) > 1 for cells in sides):
        return _speaking(asked)
    ids = {cell.run_id for side in (base, new) for cell in side.cells}
    compared = {session.id for side in (base, new) for session in side.sessions}
    setups = {one.setup for one in asked if one.setup}
    found = _speaking([*asked, *others(store, ids, setups, compared, parts)])
    speaking = {one.setup for one in found if one.speaks and one.setup}
    repeated = {one.setup for one in found if len(one.sessions) > 1}
    # of two setups, the noise of one alone says nothing of the other
    known = speaking <= repeated
    return [replace(one, speaks=one.speaks and known) for one in found]


def learned_from(peers: Iterable[Peers]) -> tuple[str, ...]:
    """The ids of the sessions that tell the noise, in their order."""
    groups = [one.sessions for one in peers if one.speaks and len(one.sessions) > 1]
    return tuple(sorted({cells[0].any.session for some in groups for cells in some}))


def _speaking(peers: Sequence[Peers]) -> list[Peers]:
    """A simulated session speaks for simulated ones alone."""
    simulated = [_is_simulated(one) for one in peers]
    if all(simulated):
        return list(peers)
    return [
        replace(one, speaks=one.speaks and not sim)
        for one, sim in zip(peers, simulated, strict=True)
    ]


def _is_simulated(peers: Peers) -> bool:
    return all(
        setup_of(run).simulated
        for cells in peers.sessions
        for cell in cells[:1]
        for run in cell.runs[:1]
    )


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
    """The keys of all cells, each once."""
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
