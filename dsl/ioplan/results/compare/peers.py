"""The sessions that the noise of a comparison is estimated from."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice
from math import inf, log, log1p

from msgspec import Struct
from msgspec.structs import replace

from ioplan.core.statistics.shared_variance import Variance
from ioplan.language.metric import Metric
from ioplan.records.record import RunRecord
from ioplan.records.session import Session
from ioplan.records.setup import Setup, identity_of, setup_of
from ioplan.results.compare.noise import (
    EXACT,
    Group,
    Key,
    MetricNoise,
    estimate_noise,
)
from ioplan.results.compare.side import CellRuns, Side, side_of
from ioplan.results.measure.histogram import BITS
from ioplan.results.measure.metrics import Figure
from ioplan.results.report.reader import Reader
from ioplan.results.store.runs import Fields
from ioplan.results.store.store import Store, listed

MOST_CANDIDATES = 1000
"""The setups of so many sessions are read, the newest."""
MOST_SESSIONS, MOST_RUNS, FEWEST_SESSIONS = 24, 3000, 3
"""So many other sessions are read, the newest: more take longer and hardly help. Of
large plans they are fewer, but enough for an estimate."""
BUCKET = 2.0**-BITS
"""A percentile is known to a bucket of the histogram, and not better."""

SessionCells = tuple[CellRuns, ...]


class Peers(Struct, frozen=True):
    """Sessions of one setup under the same conditions, by session its cells.

    Sessions of several setups have no `setup`. References are of a setup that is
    compared: what differs within them is noise of the comparison.
    """

    setup: Setup | None
    sessions: tuple[SessionCells, ...]
    is_compared: bool = False
    is_reference: bool = True

    @property
    def is_simulated(self) -> bool:
        """Whether all sessions ran on simulated drives."""
        return all(setup_of(cells[0].runs[0]).simulated for cells in self.sessions)

    def group(self, figures: RunFigures) -> Group:
        """The logarithms of a metric's figures. Raises StoreError."""
        setup = self.setup
        return Group(
            drive=setup.drive if setup else "",
            model=setup.model if setup else "",
            sessions=tuple(
                {cell.key: figures.logs(cell.runs) for cell in cells}
                for cells in self.sessions
            ),
            is_compared=self.is_compared,
            is_reference=self.is_reference,
            place=setup.text if setup else "",
        )


def peers_of(store: Store, base: Side, new: Side, parts: bool) -> list[Peers]:
    """The sides themselves, and other sessions of the store with the same runs.

    A side whose sessions ran under several conditions (on three drives, say) is a
    group by itself: the noise of one drive does not hold for it. Raises StoreError.
    """
    sides = base, new
    compared = [_compared(side.cells_by_session()) for side in sides]
    setups = {group.setup for group in compared if group.setup}
    if any(group.sessions and not group.setup for group in compared):
        return _real_references(compared)
    run_ids = {cell.run_id for side in sides for cell in side.cells}
    ids = {session.id for side in sides for session in side.sessions}
    others = other_sessions(store, run_ids, setups, ids, parts)
    peers = _real_references([*compared, *others])
    repeated = {group.setup for group in peers if len(group.sessions) > 1}
    references = {group.setup for group in peers if group.is_reference and group.setup}
    if references <= repeated:
        return peers
    # with two setups, the noise of one does not hold for the other
    return [replace(group, is_reference=False) for group in peers]


def _compared(sessions: Sequence[SessionCells]) -> Peers:
    groups = grouped(sessions)
    setup = groups[0].setup if len(groups) == 1 else None
    return Peers(setup, tuple(sessions), is_compared=True)


def _real_references(peers: Sequence[Peers]) -> list[Peers]:
    """Without simulated references, unless all peers are simulated."""
    if all(group.is_simulated for group in peers):
        return list(peers)
    return [
        replace(group, is_reference=group.is_reference and not group.is_simulated)
        for group in peers
    ]


def reference_sessions(peers: Iterable[Peers]) -> tuple[str, ...]:
    """The ids of the sessions that the noise is from, in their order."""
    references = [group for group in peers if group.is_reference]
    repeated = [group.sessions for group in references if len(group.sessions) > 1]
    return tuple(sorted({cells[0].any.session for own in repeated for cells in own}))


def other_sessions(
    store: Store,
    run_ids: Iterable[str],
    setups: Collection[Setup],
    excluded: Collection[str] = (),
    parts: bool = False,
) -> list[Peers]:
    """The finished sessions that did any of these runs, without the excluded ones.

    Those of the setups are references; of other drives of the same models there are as
    many, to estimate what drives differ by. Raises StoreError.
    """
    ids = set(run_ids)
    models = {(setup.model, setup.backend) for setup in setups if setup.model}
    alike, akin = list[Session](), list[Session]()
    for session, setup in setups_of(store, ids):
        if session.id not in excluded and setup in setups:
            alike.append(session)
        elif session.id not in excluded and (setup.model, setup.backend) in models:
            akin.append(session)
    sessions = []
    for session in (*_newest(store, alike), *_newest(store, akin)):
        cells = side_of(store, [session], parts).cells
        sessions.append(tuple(c for c in cells if c.runs and c.run_id in ids))
    groups = grouped(sessions)
    return [replace(own, is_reference=own.setup in setups) for own in groups]


def setups_of(store: Store, run_ids: Collection[str]) -> list[tuple[Session, Setup]]:
    """The finished sessions that did any of these runs, the newest first, with the
    setup of their first run. Raises StoreError."""
    finished = (one for one in store.that_did(run_ids) if one.status == "ok")
    sessions = list(islice(finished, MOST_CANDIDATES))
    condition, values = listed("session", [session.id for session in sessions])
    firsts = store.runs(Fields.SETUP, f"run.seq = 1 AND {condition}", **values)
    setups = {run.session: setup_of(run) for run in firsts}
    return [(own, setups[own.id]) for own in sessions if own.id in setups]


def _newest(store: Store, sessions: Sequence[Session]) -> Iterator[Session]:
    runs = 0
    for number, session in enumerate(sessions[:MOST_SESSIONS]):
        runs += store.count(session.id)
        if number >= FEWEST_SESSIONS and runs > MOST_RUNS:
            return
        yield session


def grouped(sessions: Iterable[SessionCells]) -> list[Peers]:
    """Sessions by their conditions, a change of which is no noise."""
    by_conditions: dict[tuple[Setup, str, str, str], list[SessionCells]] = {}
    for cells in sessions:
        if cells:
            run = cells[0].any
            firmware = str(identity_of(run).get("firmware", ""))
            kernel = str(run.host.get("kernel", ""))
            conditions = setup_of(run), firmware, kernel, run.backend.version
            by_conditions.setdefault(conditions, []).append(cells)
    return [Peers(setup, tuple(own)) for (setup, *_), own in by_conditions.items()]


class RunFigures:
    """The figures of single runs, computed once. Every method may raise StoreError."""

    def __init__(self, reader: Reader, metric: Metric) -> None:
        self.metric, self._single = metric, reader.of_single(metric)
        self._figures: dict[tuple[str, int], Figure] = {}

    def of(self, run: RunRecord) -> Figure:
        """The figure of one run."""
        key = run.session, run.seq
        if key not in self._figures:
            self._figures[key] = self._single(run)
        return self._figures[key]

    def logs(self, runs: Sequence[RunRecord]) -> tuple[float, ...]:
        """The logarithms of the figures of runs that have a figure."""
        return logs_of([self.of(run) for run in runs])


def logs_of(figures: Iterable[Figure]) -> tuple[float, ...]:
    """The logarithms of figures that have a value."""
    values = [figure.value for figure in figures]
    return tuple([log(value) for value in values if value and value > 0])


def noise_of(figures: RunFigures, peers: Sequence[Peers]) -> MetricNoise:
    """The components of a metric's variance, for all cells of the peers.

    peers = other_sessions(store, run_ids, {setup})
    noise = noise_of(RunFigures(reader, parse_metric("iops")), peers)
    noise.session((run_id, 0))       # a Variance, or None

    Raises StoreError.
    """
    cells = [cell for own in peers for session in own.sessions for cell in session]
    steps = (_step(figures.metric, run) for cell in cells for run in cell.runs)
    floor = max((step**2 / 12 for step in steps), default=0.0)
    groups = [own.group(figures) for own in peers]
    return estimate_noise(groups, dict.fromkeys(cell.key for cell in cells), floor)


def assumed_noise(
    noise: MetricNoise, percent: float | None, keys: Iterable[Key]
) -> MetricNoise:
    """Where the noise cannot be estimated, a percentage that the caller assumes.

    All cells are taken to share it, which is the most careful.
    """
    if percent is None or noise.shared is not None:
        return noise
    shared = Variance(log1p(percent / 100) ** 2, inf)
    own = {key: Variance(EXACT, inf) for key in keys}
    return replace(noise, shared=shared, own=own, source=ASSUMED_SOURCE, sessions=inf)


ASSUMED_SOURCE = "given"


def _step(metric: Metric, run: RunRecord) -> float:
    """The distance of a figure to the next possible one, as a logarithm."""
    if metric.percent is not None:
        return BUCKET
    result = run.found if metric.sought else None
    if result is None or not result.value:
        return 0.0
    if result.low and result.high:
        return log(result.high / result.low)
    return abs(log(result.no_at / result.value)) if result.no_at else 0.0
