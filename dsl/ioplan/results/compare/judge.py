"""Two sides -> a comparison."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import compress
from math import inf, log1p

from msgspec import Struct
from msgspec.structs import replace

from ioplan.core.statistics.shared_variance import Variance
from ioplan.language.metric import Metric
from ioplan.planner.places import not_measured, places_of
from ioplan.records.session import Session
from ioplan.records.setup import drive_of, setup_of
from ioplan.results.compare.call import Call, calls
from ioplan.results.compare.comparison import (
    OTHERWISE,
    Comparison,
    RowVerdict,
    side_summary,
)
from ioplan.results.compare.earlier import (
    Peers,
    RunFigures,
    grouped,
    key_of,
    noise_of,
    others,
)
from ioplan.results.compare.estimate import MetricPair, MetricTable, metric_side
from ioplan.results.compare.noise import EXACT, Key, MetricNoise
from ioplan.results.compare.rows import (
    Called,
    Pair,
    Subject,
    align,
    cell_name,
    differences,
    is_alike,
    noise_summary,
    of_all_cells,
    of_one_cell,
    place_text,
)
from ioplan.results.compare.side import CellRuns, Side, needs_parts, side_of
from ioplan.results.compare.wording import (
    MAX_NAMED,
    all_cells_text,
    noise_texts,
    summary_text,
    units,
)
from ioplan.results.report.documents import Judged
from ioplan.results.report.reader import Reader
from ioplan.results.share.recorded_plan import recorded_plan
from ioplan.results.store.store import Store

# The noise of a comparison: of its own sessions, and of what else the store has.


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
    return replace(noise, shared=given, own=own, source="given", sessions=inf)


DEFAULT_METRICS = (Metric(name="iops"), Metric(name="mean"), Metric(name="p99"))


class Question(Struct, frozen=True):
    """What is asked of a comparison. Percentages are of the base's figure."""

    metrics: tuple[Metric, ...] = DEFAULT_METRICS
    threshold_percent: float = 2.0
    noise_percent: float | None = None


def compare(reader: Reader, base: Side, new: Side, question: Question) -> Comparison:
    """Align, learn the noise, and judge all rows together. Raises StoreError."""
    found = align(base.cells, new.cells)
    asked = [(at, _metrics(pair, question)) for at, pair in enumerate(found.pairs)]
    places: dict[Metric, list[int]] = {}
    for at, metrics in asked:
        for metric in metrics:
            places.setdefault(metric, []).append(at)
    peers = peers_of(reader.store, base, new, any(map(needs_parts, places)))
    alike = [is_alike(pair) for pair in found.pairs]
    tables = list(_tables(reader, peers, (base, new), found.pairs, places, question))
    judged = calls(
        [_only(one, [alike[at] for at in places[one.metric]]) for one in tables],
        question.threshold_percent / 100,
    )
    on = drives(base), drives(new)
    subject = Subject(
        drives=not on[0] & on[1],
        threshold=question.threshold_percent / 100,
        rows=sum(len(one.pairs) for one in tables),
    )
    called = {}
    for table, one in zip(tables, judged, strict=True):
        each = iter(one.cells)
        for at, both in zip(places[table.metric], table.pairs, strict=True):
            call = next(each) if alike[at] else Call("undecided", why=OTHERWISE)
            pair = Called(found.pairs[at], table, both, call, subject)
            called[at, table.metric] = pair
    return Comparison(
        base=side_summary(base.sessions, tuple(sorted(on[0]))),
        new=side_summary(new.sessions, tuple(sorted(on[1]))),
        subject="drives" if subject.drives else "change",
        threshold_percent=question.threshold_percent,
        differences=differences(base.cells, new.cells),
        all_cells=tuple(
            of_all_cells(table, one.all, subject)
            for table, one in zip(tables, judged, strict=True)
            if one.all
        ),
        rows=tuple(of_one_cell(called[at, m]) for at, ms in asked for m in ms),
        noise=tuple(map(noise_summary, tables)),
        learned_from=learned_from(peers),
        only_base=tuple(map(cell_name, found.only_base)),
        only_new=tuple(map(cell_name, found.only_new)),
        neither=tuple(_neither(base, new)),
    )


def _only(table: MetricTable, alike: Sequence[bool]) -> MetricTable:
    return replace(table, pairs=tuple(compress(table.pairs, alike)))


def _neither(base: Side, new: Side) -> Iterator[str]:
    """What both sides were to measure, and ended before they did."""
    if any(all(one.status == "ok" for one in side.sessions) for side in (base, new)):
        return
    plans = map(recorded_plan, (*base.sessions, *new.sessions))
    places = {at: run for plan in plans if plan for at, run in places_of(plan).items()}
    done = [cell.any for cell in (*base.cells, *new.cells)]
    for run in not_measured(places, done):
        at = place_text(run.template.name, run.cell_text)
        yield f"{run.test.title}: {at}" if at else run.test.title


def _tables(
    reader: Reader,
    peers: Sequence[Peers],
    sides: tuple[Side, Side],
    pairs: Sequence[Pair],
    places: Mapping[Metric, Sequence[int]],
    question: Question,
) -> Iterator[MetricTable]:
    """The figures of each metric, and what they differ by of themselves."""
    counts = units(sides[0].sessions, sides[1].sessions)
    for metric, those in places.items():
        figures = RunFigures(reader, metric)
        noise = noise_of(figures, peers)
        both = tuple(
            MetricPair(
                *(
                    metric_side(figures, cell, count)
                    for cell, count in zip(pairs[at], counts, strict=True)
                )
            )
            for at in those
        )
        given = with_given(noise, question.noise_percent, keys(sides))
        yield MetricTable(metric, both, given)


def _metrics(pair: Pair, question: Question) -> tuple[Metric, ...]:
    """The metrics to compare; of seeks the values found, since their loads differ."""
    found = [one.any.found for one in pair]
    if not all(found):
        return question.metrics
    return tuple({Metric(name=one.axis, sought=one.kind) for one in found if one})


# What a report says of two sides: the judgement of `compare`, and no other.

MOST_RUNS = 3000
"""A report of more is not made to wait for the sessions that noise is learned from."""
OUTCOMES: dict[RowVerdict, str] = {"worse": "failed", "better": "held", "equal": "held"}

Sides = tuple[list[Session], list[Session]]


def compared(store: Store, sessions: Sequence[Session]) -> tuple[Judged, ...]:
    """Lines on the sides that the sessions are of; none if they are not two.

    The first session, or all on the first of two targets, are the base. Raises
    StoreError.
    """
    sides = _sides(sessions)
    if not sides or sum(store.count(one.id) for one in sessions) > MOST_RUNS:
        return ()
    base, new = (side_of(store, side) for side in sides)
    found = compare(Reader(store), base, new, Question())
    return tuple(_lines(found)) if found.rows else ()


def _sides(sessions: Sequence[Session]) -> Sides | None:
    targets = list(dict.fromkeys(one.target for one in sessions))
    if len(targets) == 2:
        base, new = ([s for s in sessions if s.target == target] for target in targets)
        return base, new
    return ([sessions[0]], [sessions[1]]) if len(sessions) == 2 else None


def _lines(found: Comparison) -> Iterator[Judged]:
    drives = found.subject == "drives"
    base, new = (", ".join(side.sessions) for side in (found.base, found.new))
    yield Judged("none", f"{new} compared with {base}: {summary_text(found)}")
    yield from (Judged("undecided", text) for text in found.differences)
    for one in found.all_cells:
        text = f"{one.verdict}: {all_cells_text(one, drives)}"
        yield Judged(OUTCOMES.get(one.verdict, "undecided"), text)
    yield from (Judged("failed", text) for text in found.missing[:MAX_NAMED])
    yield from (Judged("none", text) for text in noise_texts(found))
