"""What runs, sessions and drives differ by, estimated from those that did the same.

All of it is on logarithms, so that a variance is a relative one. A session's figure is
modelled as a sum (a mixed model, estimated by analysis of variance):

    figure = cell + drive + session (all of its cells share it)
                  + session of that cell alone + run

Groups are sessions between which nothing is known to have changed; what differs
within them is noise. A cell's own variance is drawn towards that of all cells, the
more, the more they agree (`core.statistics.shared_variance`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice, product
from math import expm1, inf, log, log1p, sqrt
from statistics import fmean
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ioplan.core.grouping import grouped
from ioplan.core.statistics.shared_variance import Variance, common, moderated
from ioplan.language.metric import Metric
from ioplan.records.record import RunRecord
from ioplan.records.session import Session
from ioplan.records.setup import Setup, identity_of, setup_of
from ioplan.results.compare.side import CellRuns, Key, Side, cells_of
from ioplan.results.measure.histogram import BITS
from ioplan.results.measure.metrics import Figure
from ioplan.results.report.reader import Reader
from ioplan.results.store.runs import Fields
from ioplan.results.store.store import Store, listed

Logs = Mapping[Key, tuple[float, ...]]
"""The logarithms of a session's runs, by cell."""
EXACT = 1e-12
"""The least variance, a millionth squared: figures are rounded somewhere."""
FEWEST_CELLS = 3
"""With fewer cells, a shared effect and those of single cells look the same."""
MIN_DEGREES = 2.0
"""With fewer degrees of freedom (two sessions, once) a variance is not usable."""


class Group(Struct, frozen=True):
    """Sessions between which nothing is known to have changed: logarithms, or cells.

    Those of several setups have no `setup`. References are of a setup that is compared;
    other groups only show what drives differ by.
    """

    setup: Setup | None
    sessions: Sequence[Any]
    is_compared: bool = False
    is_reference: bool = True

    @property
    def place(self) -> str:
        """The drive and the backend, for a person."""
        return self.setup.text if self.setup else ""

    @property
    def is_simulated(self) -> bool:
        return all(setup_of(cells[0].runs[0]).simulated for cells in self.sessions)


class MetricNoise(Struct, frozen=True):
    """The components of a metric's variance, with their degrees of freedom.

    `shared` is of the mean of a session's cells, `own` of what a cell's figure (the
    mean of its runs) has beyond it, `run` of a single run, `drive` from one drive of a
    model to the next. `sessions` is how many were used, on the setup with the fewest.
    """

    shared: Variance | None = None
    own: Mapping[Key, Variance] = {}
    run: Mapping[Key, Variance] = {}
    drive: Variance | None = None
    source: str = ""
    sessions: float = 0

    def session(self, key: Key) -> Variance | None:
        """A cell's variance from one session to the next.

        None with too few degrees of freedom: two sessions differ by anything.
        """
        own = self.own.get(key)
        is_usable = own is not None and own.degrees >= MIN_DEGREES
        return self.guess(key) if is_usable else None

    def guess(self, key: Key) -> Variance | None:
        """As `session`, with however few degrees of freedom."""
        own = self.own.get(key)
        return None if self.shared is None or own is None else total(self.shared, own)


def total(*parts: Variance) -> Variance:
    """A sum of estimates, with Satterthwaite's degrees of freedom (1946)."""
    value = sum(part.value for part in parts)
    below = sum(part.value**2 / part.degrees for part in parts)
    return Variance(value, value**2 / below if below else inf)


def percent(variance: Variance) -> float:
    """The standard deviation, as a share of the figure in percent."""
    return 100 * expm1(sqrt(variance.value))


def estimate_noise(
    groups: Sequence[Group], keys: Iterable[Key], floor: float = EXACT
) -> MetricNoise:
    """The components for these cells; no variance is below the floor.

    Figures that never differ are evidence only where they are rounded to a step.
    """
    keys, floor = list(keys), max(floor, EXACT)
    references = [group for group in groups if group.is_reference]
    repeated = [group for group in references if len(group.sessions) > 1]
    negligible = EXACT if floor == EXACT else -1.0
    own, shared = SquareSums(negligible), SquareSums(negligible)
    for group in repeated:
        _add_group(group, keys, own, shared)
    # with one or two cells, all variance is their own
    unshared = Variance(0.0, inf) if own.degrees else None
    return MetricNoise(
        shared=shared.variance(None, 0.0) or unshared,
        own=_moderated(own, keys, floor),
        run=_moderated(_run_sums(references, keys), keys, floor),
        drive=_drive_variance(groups, keys),
        source=_source(repeated) if own.degrees else "",
        sessions=_fewest_sessions(repeated),
    )


class SquareSums(Struct):
    """Sums of squares and their degrees of freedom, by cell.

    A sum of up to `negligible` for a degree of freedom adds neither.
    """

    negligible: float = -1.0
    sums: dict[Key, float] = {}
    degrees: dict[Key, float] = {}

    def add(self, key: Key, squares: float, degrees: float) -> None:
        if squares > self.negligible * degrees:
            self.sums[key] = self.sums.get(key, 0.0) + squares
            self.degrees[key] = self.degrees.get(key, 0.0) + degrees

    def variance(self, key: Key, floor: float) -> Variance | None:
        degrees = self.degrees.get(key, 0.0)
        if not degrees:
            return None
        return Variance(max(self.sums[key] / degrees, floor), degrees)


def _add_group(
    group: Group, keys: Sequence[Key], own: SquareSums, shared: SquareSums
) -> None:
    """Analyse a table of sessions by cells: its rows' means, and the residuals."""
    rows = list(_deviations(group, keys))
    means, part = [0.0] * len(rows), 1.0
    cells = len({key for row in rows for key in row})
    if cells >= FEWEST_CELLS:
        means = [fmean(row.values()) for row in rows]
        shared.add(None, sum(mean**2 for mean in means), len(rows) - 1)
        part = 1 - 1 / cells  # of a cell's variance, the rest is in the cells' mean
    for key in keys:
        pairs = zip(rows, means, strict=True)
        residuals = [row[key] - mean for row, mean in pairs if key in row]
        if residuals:
            squares = sum(residual**2 for residual in residuals)
            own.add(key, squares, (len(residuals) - 1) * part)


def _deviations(group: Group, keys: Sequence[Key]) -> Iterator[dict[Key, float]]:
    """By session, the deviations from the group's means, of cells that it repeated."""
    rows = [_means([logs], keys) for logs in group.sessions]
    columns = {key: [row[key] for row in rows if key in row] for key in keys}
    means = {key: fmean(column) for key, column in columns.items() if len(column) > 1}
    deviations = ({k: row[k] - means[k] for k in row if k in means} for row in rows)
    return filter(None, deviations)


def _run_sums(groups: Sequence[Group], keys: Sequence[Key]) -> SquareSums:
    sums = SquareSums()
    sessions = (session for group in groups for session in group.sessions)
    for session, key in product(sessions, keys):
        if len(logs := session.get(key, ())) > 1:
            sums.add(key, _squares(logs), len(logs) - 1)
    return sums


def _squares(values: Sequence[float]) -> float:
    middle = fmean(values)
    return sum((value - middle) ** 2 for value in values)


def _moderated(
    sums: SquareSums, keys: Sequence[Key], floor: float
) -> dict[Key, Variance]:
    """The variances of cells, moderated by those of the others.

    Others raise a variance and never lower it, or the noisiest of many cells would look
    changed. A cell without one has what is common, and none has more degrees of freedom
    than all of them together.
    """
    single = {key: own for key in keys if (own := sums.variance(key, floor))}
    drawn = dict(zip(single, moderated(list(single.values())), strict=True))
    usual, most = common(list(single.values())), sum(sums.degrees.values())
    least = Variance(0.0, 0.0)
    return {
        key: Variance(
            max(variance.value, single.get(key, least).value),
            min(variance.degrees, most),
        )
        for key in keys
        if (variance := drawn.get(key, usual))
    }


def _drive_variance(groups: Sequence[Group], keys: Sequence[Key]) -> Variance | None:
    models: dict[str, dict[str, list[Logs]]] = {}
    for group in groups:
        if group.setup and group.setup.model:
            drives = models.setdefault(group.setup.model, {})
            drives.setdefault(group.setup.drive, []).extend(group.sessions)
    sums = SquareSums()
    for drives in models.values():
        means = [_means(sessions, keys) for sessions in drives.values()]
        common_keys = [key for key in keys if all(key in own for own in means)]
        if len(means) > 1 and common_keys:
            levels = [fmean(own[key] for key in common_keys) for own in means]
            sums.add(None, _squares(levels), len(levels) - 1)
    return sums.variance(None, 0.0)


def _means(sessions: Sequence[Logs], keys: Sequence[Key]) -> dict[Key, float]:
    """The means of a drive's cells over its sessions."""
    return {
        key: fmean(means)
        for key in keys
        if (means := [fmean(logs[key]) for logs in sessions if logs.get(key)])
    }


def _fewest_sessions(repeated: Sequence[Group]) -> int:
    counts = Counter(g.place for g in repeated for _ in g.sessions)
    return min(counts.values(), default=0)


def _source(repeated: Sequence[Group]) -> str:
    compared = sum(len(group.sessions) for group in repeated if group.is_compared)
    others = [group for group in repeated if not group.is_compared]
    count = sum(len(group.sessions) for group in others)
    places = " and ".join(dict.fromkeys(group.place for group in others if group.place))
    parts = [f"the {compared} sessions compared"] if compared else []
    if count:
        where = f" ({places})" if places else ""
        parts.append(f"{count} other sessions with the same runs{where}")
    return " and ".join(parts)


# The sessions of a store that the noise of a comparison is estimated from.

MOST_CANDIDATES = 1000
"""The setups of so many sessions are read, the newest."""
MOST_SESSIONS, MOST_RUNS, FEWEST_SESSIONS = 24, 3000, 3
"""So many other sessions are read, the newest: more take longer and hardly help. Of
large plans they are fewer, but enough for an estimate."""
BUCKET = 2.0**-BITS
"""A percentile is known to a bucket of the histogram, and not better."""

SessionCells = tuple[CellRuns, ...]


def peers_of(store: Store, base: Side, new: Side, parts: bool) -> list[Group]:
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


def _compared(sessions: Sequence[SessionCells]) -> Group:
    groups = groups_of(sessions)
    setup = groups[0].setup if len(groups) == 1 else None
    return Group(setup, tuple(sessions), is_compared=True)


def _real_references(peers: Sequence[Group]) -> list[Group]:
    if all(group.is_simulated for group in peers):
        return list(peers)
    return [
        replace(group, is_reference=group.is_reference and not group.is_simulated)
        for group in peers
    ]


def reference_sessions(peers: Iterable[Group]) -> tuple[str, ...]:
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
) -> list[Group]:
    """The finished sessions that did any of these runs, without the excluded ones.

    Those of the setups are references; of other drives of the same models there are as
    many, to estimate what drives differ by. Raises StoreError.
    """
    ids = set(run_ids)
    models = {(setup.model, setup.backend) for setup in setups if setup.model}
    pairs = [(s, setup) for s, setup in setups_of(store, ids) if s.id not in excluded]
    alike = [session for session, setup in pairs if setup in setups]
    akin = [
        session
        for session, setup in pairs
        if setup not in setups and (setup.model, setup.backend) in models
    ]
    fields = Fields.ALL if parts else Fields.ALL & ~Fields.EXTRAS
    sessions = []
    for session in (*_newest(store, alike), *_newest(store, akin)):
        cells = cells_of(store.records(session.id, fields=fields))
        sessions.append(tuple(c for c in cells if c.runs and c.run_id in ids))
    groups = groups_of(sessions)
    return [replace(own, is_reference=own.setup in setups) for own in groups]


def setups_of(store: Store, run_ids: Collection[str]) -> list[tuple[Session, Setup]]:
    """The finished sessions that did any of these runs, the newest first, with the
    setup of their first run. Raises StoreError."""
    finished = (s for s in store.that_did(run_ids) if s.status == "ok")
    sessions = list(islice(finished, MOST_CANDIDATES))
    condition, values = listed("run.session", [session.id for session in sessions])
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


def groups_of(sessions: Iterable[SessionCells]) -> list[Group]:
    """Sessions by their conditions, a change of which is no noise."""
    groups = grouped(filter(None, sessions), key=_conditions)
    return [Group(setup, tuple(own)) for (setup, *_), own in groups.items()]


def _conditions(cells: SessionCells) -> tuple[Setup, str, str, str]:
    run = cells[0].any
    firmware = str(identity_of(run).get("firmware", ""))
    return setup_of(run), firmware, str(run.host.get("kernel", "")), run.backend.version


class RunFigures:
    """The figures of single runs, computed once. Every method may raise StoreError."""

    def __init__(self, reader: Reader, metric: Metric) -> None:
        self.metric, self._single = metric, reader.of_single(metric)
        self._figures: dict[tuple[str, int], Figure] = {}

    def of(self, run: RunRecord) -> Figure:
        key = run.session, run.seq
        if key not in self._figures:
            self._figures[key] = self._single(run)
        return self._figures[key]

    def logs(self, runs: Sequence[RunRecord]) -> tuple[float, ...]:
        return logs_of([self.of(run) for run in runs])


def logs_of(figures: Iterable[Figure]) -> tuple[float, ...]:
    values = [figure.value for figure in figures]
    return tuple([log(value) for value in values if value and value > 0])


def noise_of(figures: RunFigures, peers: Sequence[Group]) -> MetricNoise:
    """The components of a metric's variance, for all cells of the peers.

    peers = other_sessions(store, run_ids, {setup})
    noise = noise_of(RunFigures(reader, parse_metric("iops")), peers)
    noise.session((run_id, 0))       # a Variance, or None

    Raises StoreError.
    """
    cells = [cell for own in peers for session in own.sessions for cell in session]
    steps = (_step(figures.metric, run) for cell in cells for run in cell.runs)
    floor = max((step**2 / 12 for step in steps), default=0.0)
    groups = []
    for group in peers:
        logs = [{c.key: figures.logs(c.runs) for c in own} for own in group.sessions]
        groups.append(replace(group, sessions=logs))
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
    if metric.percent is not None:
        return BUCKET
    result = run.found if metric.sought else None
    if result is None or not result.value:
        return 0.0
    if result.low and result.high:
        return log(result.high / result.low)
    return abs(log(result.no_at / result.value)) if result.no_at else 0.0
