"""All that a store knows of one drive: sessions, wear, place among others, history."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from ioplan.core.text import counted
from ioplan.job import Wear
from ioplan.records.outline import current_records
from ioplan.records.record import RunRecord
from ioplan.results.history.model import History
from ioplan.results.history.page import document as history_document
from ioplan.results.measure.wear import wear_value
from ioplan.results.report.document import (
    Column,
    Document,
    Facts,
    Frame,
    Section,
    Verdict,
)
from ioplan.results.report.headlines.doubts import is_virtual, simulated_text
from ioplan.results.report.headlines.headlines import summary_text
from ioplan.results.report.headlines.league import Contest, League
from ioplan.results.report.headlines.session_league import league_of
from ioplan.results.report.source import labels
from ioplan.results.store.overview import SessionOverview
from ioplan.results.store.store import Store

SESSIONS = (
    *(Column("session", "session"), Column("began", "began"), Column("plan", "plan")),
    *(Column("verdict", "expectations"), Column("status", "status")),
    *(Column("runs", "runs", ""), Column("told", "headlines")),
)
WEAR = (
    *(Column("session", "session"), Column("began", "began")),
    *(Column("firmware", "firmware"), Column("host", "host writes", "B")),
    *(Column("media", "media writes", "B"), Column("waf", "write amplification", "")),
    *(Column("errors", "failed I/Os", ""), Column("warned", "runs with warnings", "")),
    Column("hottest", "hottest", "°C"),
)
HEALTH = {
    "percent_used": Column("percent_used", "life used", "%"),
    "avail_spare": Column("avail_spare", "spare left", "%"),
    "media_errors": Column("media_errors", "media errors", ""),
    "critical_warning": Column("critical_warning", "critical warning", ""),
}
"""Columns of the SMART log, as `nvme smart-log` names them: what any session has."""
FLEET = (
    *(Column("test", "test"), Column("name", "headline"), Column("mine", "this drive")),
    *(Column("rank", "place"), Column("best", "best of them"), Column("by", "drive")),
)


def drive_document(
    store: Store,
    name: str,
    own: Sequence[SessionOverview],
    others: Sequence[SessionOverview],
    found: History | None,
    made: str,
) -> Document:
    """The page of a drive with its `own` sessions, the newest first.

    `others` are the newest sessions of other drives that ran the plan of the newest
    one, `found` is its history. Raises StoreError.
    """
    each = [current_records(list(store.records(one.id))) for one in own]
    tables = [
        ("Sessions", Frame(SESSIONS, list(_sessions(store, own)))),
        ("Wear and health", _wear_table(own, each)),
        *_fleet(store, own[0], others),
    ]
    history = history_document(found, made).sections if found else ()
    sections = [_table(title, frame) for title, frame in tables] + [*history]
    return Document(
        title=f"Drive {name}",
        made=made,
        verdict=Verdict("none", _sentence(own, others), ()),
        sessions=(Facts(name, tuple(_facts(own))),),
        sections=tuple(
            replace(one, id=f"test-{number}") for number, one in enumerate(sections, 1)
        ),
        league=None,
        absent=(),
        simulated=simulated_text([is_virtual(one.backend) for one in own]),
    )


def _sentence(own: Sequence[SessionOverview], others: Sequence[SessionOverview]) -> str:
    failed = sum(one.verdict == "failed" for one in own)
    text = f"{counted(len(own), 'session')}, {failed} with a failed expectation"
    return f"{text}; {counted(len(others), 'other drive')} ran {own[0].plan}."


def _facts(own: Sequence[SessionOverview]) -> Iterator[tuple[str, str]]:
    drive = own[0].drive
    if drive:
        yield "model", drive.model
        yield "serial number", drive.serial
        yield "name in the lab", drive.lab_name
        firmwares = (one.drive.firmware for one in own if one.drive)
        yield "firmware, newest first", ", ".join(dict.fromkeys(firmwares))
    yield "first session", _moment(own[-1])
    yield "last session", _moment(own[0])


def _moment(one: SessionOverview) -> str:
    return one.started_at[:19].replace("T", " ")


def _sessions(
    store: Store, own: Sequence[SessionOverview]
) -> Iterator[tuple[str | int, ...]]:
    for one in own:
        told = summary_text(store, one.id)
        yield (
            *(one.id, _moment(one), one.plan, one.verdict_text, one.status),
            *(one.runs, told),
        )


def _wear_table(
    own: Sequence[SessionOverview], each: Sequence[Sequence[RunRecord]]
) -> Frame:
    """What the drive counts, and what it says of its health as a session ends."""
    logs = [smart_at_end(records) for records in each]
    known = [name for name in HEALTH if any(name in log for log in logs)]
    rows = [
        (*row, *(log.get(name) for name in known))
        for row, log in zip(_wear(own, each), logs, strict=True)
    ]
    return Frame((*WEAR, *(HEALTH[name] for name in known)), rows)


def smart_at_end(records: Sequence[RunRecord]) -> Mapping[str, float]:
    """The last SMART log of a session; empty where the drive has none."""
    logs = [run.telemetry.smart_after for run in records if run.telemetry]
    return next((log for log in reversed(logs) if log), {})


def _hottest(records: Sequence[RunRecord]) -> float | None:
    each = (run.telemetry.temperature_max_celsius for run in records if run.telemetry)
    return max((one for one in each if one is not None), default=None)


def _wear(
    own: Sequence[SessionOverview], each: Sequence[Sequence[RunRecord]]
) -> Iterator[tuple[str | float | None, ...]]:
    """What the drive's own counts say of each session."""
    for one, records in zip(own, each, strict=True):
        counts = [run.wear for run in records if run.wear]
        media = [w.media_written_bytes for w in counts]
        known = [value for value in media if value is not None]
        yield (
            *(one.id, _moment(one), one.drive.firmware if one.drive else ""),
            float(sum(w.host_written_bytes for w in counts)) if counts else None,
            float(sum(known)) if known and len(known) == len(media) else None,
            _amplification(counts),
            float(sum(run.total.errors for run in records)),
            float(sum(bool(run.warnings) for run in records)),
            _hottest(records),
        )


def _amplification(counts: Sequence[Wear]) -> float | None:
    found = wear_value("waf", counts)
    return None if isinstance(found, str) else found


def _fleet(
    store: Store, newest: SessionOverview, others: Sequence[SessionOverview]
) -> Iterator[tuple[str, Frame]]:
    """Its headlines among those of the other drives."""
    sessions = [store.session(one.id) for one in (newest, *others)]
    league = league_of(store, sessions)
    if league is None:
        return
    targets = [next(iter(store.records(one.id))).target for one in sessions]
    label = labels(sessions, targets)[0]
    rows = [_place(one, league, label) for one in league.contests if label in one.of]
    yield f"Place in the fleet: {newest.plan}", Frame(FLEET, rows)


def _place(contest: Contest, league: League, label: str) -> tuple[str, ...]:
    ranks = {one: contest.rank(one, league.base) for one in contest.of}
    known = {one: rank for one, rank in ranks.items() if rank}
    best = min(known, key=lambda one: known[one], default=label)
    rank = f"{known[label]} of {len(known)}" if label in known else "–"
    mine, first = contest.of[label], contest.of[best]
    return contest.test, contest.name, mine.figure, rank, first.figure, best


def _table(title: str, frame: Frame) -> Section:
    return Section(
        id="",
        title=title,
        plan_text="",
        points=(),
        headlines={},
        judgements=(),
        judged=(),
        remarks=(),
        preparations=(),
        headers=(),
        pictures=(),
        runs=frame,
        counted=counted(len(frame.rows), "row"),
        figures_of="",
        signs=(),
    )
