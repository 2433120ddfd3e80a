"""The seek of one cell: which probe is next, and what all of their records tell."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from ioplan.language.bind.bind import sought_value, workload_of
from ioplan.language.metric import UNITS
from ioplan.language.plan import Axis, CellValue, Seek, Test
from ioplan.language.quantity import Quantity, make
from ioplan.planner.seek.knee import Knee, KneeSearch
from ioplan.planner.seek.search import Finding, Probe, Search
from ioplan.planner.steps import Needed, Run, SeekOf
from ioplan.records.record import RunDetail, RunRecord
from ioplan.records.seek import Found, Probed
from ioplan.results.measure.measurement import Measurement
from ioplan.runner.execute.outcome import NothingFound
from ioplan.workload import DIRECTIONS

# What the tests of a session have found so far, for those that take a share of it.


class FoundValues:
    """The records of the tests that later ones need, and what they come to."""

    def __init__(self) -> None:
        self.records: dict[str, list[RunRecord]] = defaultdict(list)

    def add(self, record: RunRecord) -> None:
        """A run of a cell is over, now or in an earlier part of the session."""
        if record.status == "ok" and record.asked.kind == "run":
            self.records[record.asked.test].append(record)

    def bound(self, run: Run) -> Run:
        """The run with what it needs to know. Raises NothingFound."""
        if not run.needs:
            return run
        cell = dict(run.cell)
        for needed in run.needs:
            found = self._found(needed, run)
            name = needed.share.found_name
            cell[name] = CellValue(text=found.text, key=found.value, quantity=found)
        step = run.template
        workload = workload_of(step.workload, step.override, cell)
        return replace(run, workload=workload, planned_id=run.run_id)

    def _found(self, needed: Needed, run: Run) -> Quantity:
        test, at = needed.share.test, dict(needed.cell)
        records = [
            one
            for one in self.records[test.title]
            if at.items() <= one.asked.cell.items()
        ]
        kind = needed.share.highest.kind
        values = [value for one in records if (value := _value(one)) is not None]
        if values:
            return make(kind, max(values))
        where = " ".join(f"{name}={text}" for name, text in at.items())
        raise NothingFound(
            f"{run.test.title}: {run}: {test.title!r} found "
            f"nothing{' where ' if where else ''}{where}"
        )


def _value(record: RunRecord) -> float | None:
    """What a seek found; without one the IOPS."""
    if record.found:
        return record.found.value
    return record.total.iops or None


CONFIDENCE_PERCENT = 95.0


class CellSeek:
    """A search and the records of its probes."""

    def __init__(self, step: SeekOf, start: float | None) -> None:
        self.step = step
        knee, share = step.seek.goal == "knee", step.seek.share_percent / 100
        self.search: Search | KneeSearch
        self.search = (
            KneeSearch(step.bounds, share) if knee else Search(step.bounds, start)
        )
        self.records: list[RunRecord] = []

    def next_probe(self) -> Probe | None:
        """What is to be tried now; None when the search has ended."""
        return self.search.next_probe()

    def add(self, record: RunRecord) -> None:
        """The record of that probe."""
        probed = record.asked.seek
        assert probed and probed.decision, "the seek ended because a probe failed"
        self.records.append(record)
        if isinstance(self.search, KneeSearch):
            self.search.answer(_throughput(record, self.step.seek.axis))
        elif probed.decision != "measured":
            self.search.answer(probed.decision)

    @property
    def finding(self) -> Finding:
        """What is known so far."""
        found = self.search.finding()
        return found.finding if isinstance(found, Knee) else found

    @property
    def value(self) -> float | None:
        """What was found."""
        return self.finding.value

    @property
    def confirming(self) -> RunRecord | None:
        """The last record at the value that was found: its figures stand for it."""
        value = self.value
        found = (one for one in reversed(self.records) if value_of(one) == value)
        return next(found, None)

    def found(self) -> Found:
        """What a record says of it."""
        seek, finding = self.step.seek, self.finding
        upward = seek.goal == "highest"
        value, limit = finding.value, finding.upper if upward else finding.lower
        limit = None if limit == value else limit
        return Found(
            seek=seek.text,
            goal=seek.goal,
            axis=seek.axis,
            kind=seek.kind,
            value=value,
            unit=UNITS[seek.kind],
            text=_text(seek, value),
            yes_at=value,
            no_at=limit,
            no_text=_text(seek, limit),
            censored=self._is_censored(value, limit),
            confirmed=finding.confirmed,
            monotone=finding.monotone,
            **self._interval(),
            confidence_percent=CONFIDENCE_PERCENT,
            undecided=sum(one.answer == "undecided" for one in finding.probes),
            probes=len(finding.probes),
            bytes=sum(_moved_bytes(one) for one in self.records),
            run_s=sum(one.run_s for one in self.records),
        )

    def _interval(self) -> dict[str, Any]:
        """Where a knee may be; of other goals the two answers next to it tell."""
        knee = self.search.finding()
        if not isinstance(knee, Knee) or knee.finding.value is None:
            return {}
        seek, ends = self.step.seek, (knee.low, knee.high)
        low, high = (_text(seek, end) for end in ends)
        text = {(True, True): f"{low} to {high}", (True, False): f"{low} or more"}
        known = knee.low is not None, knee.high is not None
        interval = text.get(known, "unknown, as the probes tell no noise")
        return {"low": knee.low, "high": knee.high, "interval": interval}

    def _is_censored(self, value: float | None, limit: float | None) -> bool:
        """Whether the range ended before the answer did: throughput may still grow
        there, or the condition hold."""
        if isinstance(self.search, KneeSearch):
            return value is not None and self.search.grows
        values, goal = self.search.values, self.step.seek.goal
        end = values[0 if goal == "lowest" else len(values) - 1]
        return value is not None and value == end and limit is None

    def record(self, seq: int) -> RunRecord:
        """The record of what was found, as the next of its session."""
        confirming = self.confirming
        base = confirming or self.records[-1]
        run = self.step.finding
        place: dict[str, Any] = {"kind": "run", "cell": run.cell_text, "seek": None}
        return base.model_copy(
            update={
                "seq": seq,
                "run_id": run.run_id,
                "asked": base.asked.model_copy(update=place),
                "found": self.found(),
                **({} if confirming else _no_figures()),
            }
        )


def _no_figures() -> dict[str, Any]:
    """Where nothing was found, no run stands for it."""
    empty = Measurement()
    return {
        "run_s": 0.0,
        "streams": (),
        "directions": {},
        "total": empty.total,
        "cpu": None,
        "cpu_percent": None,
        "telemetry": None,
        "wear": None,
        "warnings": (),
    }


NO_DETAIL = RunDetail.model_construct()


def value_of(record: RunRecord) -> float | None:
    """The value that a probe tried."""
    return record.asked.seek.value if record.asked.seek else None


def _text(seek: Seek, value: float | None) -> str:
    return "" if value is None else sought_value(seek, value).text


def _throughput(record: RunRecord, axis: str) -> float:
    """I/Os per second; bytes, where their size is what is sought."""
    by_bytes = axis.rpartition(".")[2] == "size"
    parts = [p for d, p in record.directions.items() if d in DIRECTIONS]
    return sum(one.bandwidth_bytes_per_s if by_bytes else one.iops for one in parts)


def _moved_bytes(record: RunRecord) -> int:
    return sum(part.bytes for part in record.directions.values())


def probed(step: SeekOf, probe: Probe) -> Probed:
    """What the record of a probe says of it, before it is decided."""
    return Probed(
        axis=step.seek.axis,
        value=probe.value,
        unit=UNITS[step.seek.kind],
        phase=probe.phase,
        number=probe.number,
    )


class Neighbours:
    """What the cells of a test have found so far: where the next begins."""

    def __init__(self, test: Test | None = None) -> None:
        self.test = test
        self.found: dict[tuple[int, ...], float] = {}

    def add(self, step: SeekOf, value: float | None) -> None:
        """A cell's answer."""
        if value is not None:
            self.found[self._place(step)] = value

    def start(self, step: SeekOf) -> float | None:
        """The answer of the latest cell that is one step of one axis away."""
        place = self._place(step)
        near = (v for at, v in reversed(self.found.items()) if _is_next(at, place))
        return next(near, None)

    def _place(self, step: SeekOf) -> tuple[int, ...]:
        return tuple(_rows(step.test.axes, step))


def _rows(axes: tuple[Axis, ...], step: SeekOf) -> Iterator[int]:
    """Where a cell is on each axis."""
    for axis in axes:
        yield axis.values.index(tuple(step.cell[name] for name in axis.names))


def _is_next(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    return sum(abs(a - b) for a, b in zip(one, other, strict=True)) == 1
