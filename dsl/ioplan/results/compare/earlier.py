"""The store's other sessions that did the same runs: what noise is learned from."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from math import log

from msgspec import Struct
from msgspec.structs import replace

from ioplan.language.metric import Metric
from ioplan.records.record import RunRecord
from ioplan.records.session import Session
from ioplan.records.setup import Setup, identity_of, setup_of
from ioplan.results.compare.noise import Group, Key, MetricNoise, learned
from ioplan.results.compare.side import CellRuns, Side, side_of
from ioplan.results.measure.histogram import BITS
from ioplan.results.measure.metrics import Figure
from ioplan.results.report.reader import Reader
from ioplan.results.store.runs import Fields
from ioplan.results.store.store import Store, listed

MOST_SEEN = 1000
"""The setup is looked up of so many sessions, the newest."""
MOST_SESSIONS, MOST_RUNS, FEWEST_SESSIONS = 24, 3000, 3
"""So many other sessions are read, the newest: more make it slower and hardly surer.
Of large plans they are fewer, and still as many as tell anything."""
BUCKET = 2.0**-BITS
"""A percentile is known to a bucket of the histogram, and not better."""

Conditions = tuple[Setup, str, str, str]


class Peers(Struct, frozen=True):
    """Sessions of one setup and one set of conditions, by session its cells.

    `speaks` is whether what differs within them is noise of what is compared.
    """

    setup: Setup | None
    model: str
    sessions: tuple[tuple[CellRuns, ...], ...]
    compared: bool = False
    speaks: bool = True

    @property
    def drive(self) -> str:
        """Empty where the sessions are of several setups."""
        return self.setup.drive if self.setup else ""


def key_of(cell: CellRuns) -> Key:
    """What makes two cells one: what they do, and which of several that do it."""
    return cell.run_id, cell.occurrence


def others(
    store: Store,
    run_ids: Iterable[str],
    setups: Collection[Setup],
    but: Collection[str] = (),
    parts: bool = False,
) -> list[Peers]:
    """The finished sessions that did any of these runs, but for those named.

    Those of the setups speak for them; of other drives of their models there are as
    many, for what drives differ by. Raises StoreError.
    """
    wanted = set(run_ids)
    models = {(one.model, one.backend) for one in setups if one.model}
    alike, akin = list[Session](), list[Session]()
    for session, setup in setups_of(store, wanted):
        if session.id not in but and setup in setups:
            alike.append(session)
        elif session.id not in but and (setup.model, setup.backend) in models:
            akin.append(session)
    read = [
        _only(side_of(store, [one], parts), wanted)
        for some in (alike, akin)
        for one in _newest(store, some)
    ]
    return [replace(one, speaks=one.setup in setups) for one in grouped(read)]


def setups_of(store: Store, run_ids: Collection[str]) -> list[tuple[Session, Setup]]:
    """The finished sessions that did any of these runs, the newest first, each with
    the setup of its first run. Raises StoreError."""
    did = [one for one in store.that_did(run_ids) if one.status == "ok"]
    seen = did[:MOST_SEEN]
    condition, values = listed("session", [one.id for one in seen])
    firsts = store.runs(Fields.SETUP, f"run.seq = 1 AND {condition}", **values)
    setups = {one.session: setup_of(one) for one in firsts}
    return [(one, setups[one.id]) for one in seen if one.id in setups]


def _newest(store: Store, sessions: Sequence[Session]) -> Iterator[Session]:
    runs = 0
    for number, session in enumerate(sessions[:MOST_SESSIONS]):
        runs += store.count(session.id)
        if number >= FEWEST_SESSIONS and runs > MOST_RUNS:
            return
        yield session


def _only(side: Side, run_ids: Collection[str]) -> tuple[CellRuns, ...]:
    return tuple(c for c in side.cells if c.runs and c.run_id in run_ids)


def grouped(sessions: Iterable[tuple[CellRuns, ...]]) -> list[Peers]:
    """Sessions, each as its cells, by their conditions."""
    by: dict[Conditions, list[tuple[CellRuns, ...]]] = {}
    for cells in sessions:
        if cells:
            by.setdefault(_conditions(cells[0].any), []).append(cells)
    return [
        Peers(setup, setup.model, tuple(cells)) for (setup, *_), cells in by.items()
    ]


def _conditions(run: RunRecord) -> Conditions:
    """What a change of is no noise."""
    firmware = str(identity_of(run).get("firmware", ""))
    kernel = str(run.host.get("kernel", ""))
    return setup_of(run), firmware, kernel, run.backend.version


class RunFigures:
    """A metric of single runs, read once of each. Every method may raise StoreError."""

    def __init__(self, reader: Reader, metric: Metric) -> None:
        self.metric, self._single = metric, reader.of_single(metric)
        self._known: dict[tuple[str, int], Figure] = {}

    def of(self, run: RunRecord) -> Figure:
        """The figure of one run."""
        key = run.session, run.seq
        if key not in self._known:
            self._known[key] = self._single(run)
        return self._known[key]

    def logs(self, runs: Sequence[RunRecord]) -> tuple[float, ...]:
        """The figures of runs that have one, as logarithms."""
        return logs_of([self.of(run) for run in runs])


def logs_of(figures: Iterable[Figure]) -> tuple[float, ...]:
    """The logarithms of those that have a value."""
    values = [one.value for one in figures]
    return tuple([log(value) for value in values if value and value > 0])


def noise_of(figures: RunFigures, peers: Sequence[Peers]) -> MetricNoise:
    """The components of a metric's variance in all cells of these. Raises StoreError.

    peers = others(store, run_ids, {setup})
    noise = noise_of(RunFigures(reader, parse_metric("iops")), peers)
    noise.session((run_id, 0))       # a Variance, or None
    """
    cells = [cell for one in peers for session in one.sessions for cell in session]
    groups = [
        Group(
            drive=one.drive,
            model=one.model,
            sessions=tuple(
                {key_of(cell): figures.logs(cell.runs) for cell in session}
                for session in one.sessions
            ),
            compared=one.compared,
            speaks=one.speaks,
            place=one.setup.text if one.setup else "",
        )
        for one in peers
    ]
    steps = (step(figures.metric, run) for cell in cells for run in cell.runs)
    floor = max((one**2 / 12 for one in steps), default=0.0)
    return learned(groups, dict.fromkeys(map(key_of, cells)), floor)


def step(metric: Metric, run: RunRecord) -> float:
    """How coarse a figure is known, as a logarithm: evenly between two values."""
    if metric.percent is not None:
        return BUCKET
    found = run.found if metric.sought else None
    if found is None or not found.value:
        return 0.0
    if found.low and found.high:
        return log(found.high / found.low)
    if not found.no_at:
        return 0.0
    return abs(log(found.no_at / found.value))
