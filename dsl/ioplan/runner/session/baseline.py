"""The session that `of baseline` compares with: how it is named, and what it is for.

A limit from one drive means nothing on another. `last` and an id stand for the drive
at hand; who names another drive, or a tag, compares drives of one model.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import NamedTuple

from ioplan.core.error_kinds import StoreFault
from ioplan.language.metric import Metric
from ioplan.language.quantity import size_text
from ioplan.records.drive import Drive
from ioplan.records.record import RunRecord
from ioplan.records.session import Session
from ioplan.records.setup import Setup, setup_of
from ioplan.records.window import first_counted
from ioplan.results.measure import metrics
from ioplan.results.measure.metrics import Figure
from ioplan.results.measure.over_time import stated
from ioplan.results.store.errors import StoreError
from ioplan.results.store.store import Store

LAST, ON, DRIVE = "last", "last@", "drive:"
NO_BASELINE = "no baseline; add --baseline"
NOT_IN_BASELINE = "the baseline does not contain this run"


class Found(NamedTuple):
    """A figure of the baseline, and the session that it is from."""

    figure: Figure
    session: str = ""


NONE = Found(Figure(None, NO_BASELINE))


class BaselineSession:
    """The runs of an earlier session, found by what they did.

    With `by_model` it may have measured another drive of the same model.
    """

    def __init__(self, store: Store, session: str, *, by_model: bool = False) -> None:
        self.store, self.session, self.by_model = store, session, by_model
        self.runs: dict[str, list[RunRecord]] = defaultdict(list)
        for record in store.records(session):
            if record.asked.kind == "run" and record.status == "ok":
                self.runs[record.run_id].append(record)

    def figure(self, metric: Metric, like: RunRecord, rounds: int) -> Found:
        """The metric of the same run over the last rounds of the earlier session, as
        many as given; none where it does not measure the same."""
        records = self.runs.get(like.run_id, [])
        if not records:
            return Found(Figure(None, NOT_IN_BASELINE))
        if why := differs(setup_of(records[-1]), setup_of(like), self.by_model):
            return Found(Figure(None, f"baseline {self.session} is {why}"))
        last = max(records, key=lambda record: record.asked.round)
        first = first_counted(last, rounds)
        detail = self.store.whole_detail if metric.by_interval else self.store.detail
        samples = [
            metrics.Sample(record, detail(self.session, record.seq))
            for record in records
            if record.asked.round >= first
        ]
        return Found(stated(metric, samples).figure, self.session)


def differs(there: Setup, here: Setup, by_model: bool) -> str:
    """What the baseline has measured else, or by what; empty if the same."""
    if there.backend != here.backend:
        apart = there.backend[0] != here.backend[0]
        before, now = (" ".join(one.backend[: 2 - apart]) for one in (there, here))
        return f"by {before}, this run by {now}"
    if there.drive != here.drive and not (by_model and _same_model(there, here)):
        return f"of {there.drive}, this run of {here.drive}"
    if there.size != here.size:
        before, now = (_size_text(one) for one in (there, here))
        return f"of {before}, this run of {now}"
    return ""


def _same_model(there: Setup, here: Setup) -> bool:
    return (there.model, there.simulated) == (here.model, here.simulated)


def _size_text(setup: Setup) -> str:
    capacity, block = setup.size
    return f"{size_text(capacity)} in blocks of {block} B"


def find_baseline(store: Store, key: str, now: Session) -> BaselineSession:
    """The session of a key, for the session `now` that is about to begin.

    Raises StoreError where there is none.
    """
    if key == LAST:
        return BaselineSession(store, _newest(store, now, key, _same_target(now)))
    if key.startswith(ON):
        target = key.removeprefix(ON)
        id = _newest(store, now, key, lambda one: one.is_on(target))
        return BaselineSession(store, id, by_model=True)
    if key.startswith(DRIVE):
        serial = key.removeprefix(DRIVE)
        id = _newest(store, now, key, lambda one: _serial(one.drive) == serial)
        return BaselineSession(store, id, by_model=True)
    if tagged := _tagged(store, key, now):
        return BaselineSession(store, tagged, by_model=True)
    return BaselineSession(store, store.session(key).id)


def _tagged(store: Store, tag: str, now: Session) -> str:
    """The newest of this target that has the tag, else of any; empty if none has."""
    found = [one for one in _candidates(store, now) if tag in one.tags]
    here = [one for one in found if _same_target(now)(one)]
    return next((one.id for one in (*here, *found)), "")


def _newest(
    store: Store, now: Session, key: str, wanted: Callable[[Session], bool]
) -> str:
    for one in _candidates(store, now):
        if wanted(one):
            return one.id
    raise StoreError(
        f"--baseline {key}: the store {store.where} has no earlier session of the plan "
        f"{now.plan!r} there that ended; leave --baseline out of the first run, or "
        "name a session (ioplan ls)",
        StoreFault.NO_SESSION,
    )


def _candidates(store: Store, now: Session) -> Iterable[Session]:
    """Complete sessions of the same plan, the newest first."""
    for one in store.sessions():
        if one.plan == now.plan and one.id != now.id and one.status == "ok":
            yield one


def _same_target(now: Session) -> Callable[[Session], bool]:
    """By what identifies a drive; files by path and host."""
    return lambda one: (
        one.resolved.target_key == now.resolved.target_key
        and one.backend == now.backend
    )


def _serial(drive: Drive | None) -> str:
    return drive.serial if drive else ""
