"""The sessions of a report: records, labels, sources, facts, and SNIA's header."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import PurePath
from typing import Any

from msgspec import Struct

from ioplan.core.units import bytes_text, metric_text, share_text
from ioplan.language.checker.clause_values import region_text
from ioplan.language.plan import (
    FULL,
    CheckedPlan,
    RepeatTemplate,
    RunTemplate,
    StepTemplate,
    Test,
)
from ioplan.planner.places import Place, not_measured, places_of
from ioplan.planner.steps import Run
from ioplan.records.record import RunRecord
from ioplan.records.session import Session
from ioplan.records.setup import prepared_texts
from ioplan.records.window import window_of
from ioplan.results.report.blocks import Facts
from ioplan.results.report.headlines.doubts import Doubts, doubts, is_virtual
from ioplan.results.report.judgements import Judgement, judgements
from ioplan.results.report.sentences import access_text, place_text, written_text
from ioplan.workload import Region, Stream

# What sessions are called in a report: as short as tells them apart.

Target = dict[str, Any]


def labels(sessions: Sequence[Session], targets: Sequence[Target]) -> list[str]:
    """A label for each session: its drive, then what else is needed.

    Sessions of the same label take firmware, backend, serial number, and at last
    the end of their id, as far as these differ between them.
    """
    pairs = list(zip(sessions, targets, strict=True))
    texts = [drive(session, target) for session, target in pairs]
    for addition in ADDITIONS:
        labelled = list(zip(texts, (addition(*pair) for pair in pairs), strict=True))
        alike = Counter(text for text, _ in {*labelled})
        texts = [f"{t}, {v}" if v and alike[t] > 1 else t for t, v in labelled]
    return texts


ADDITIONS: tuple[Callable[[Session, Target], str], ...] = (
    lambda _, target: _identity(target, "firmware"),
    lambda session, _: session.backend,
    lambda _, target: _identity(target, "serial"),
    lambda session, _: session.id.rpartition("-")[2],
    lambda session, _: session.id,
)


def _identity(target: Target, name: str) -> str:
    return str(target.get("identity", {}).get(name) or "")


def drive(session: Session, target: Target) -> str:
    """The model of a drive, else the name of its file."""
    file = PurePath(session.target).name or session.target
    return _identity(target, "model") or file


class Source(Struct, frozen=True):
    """Where the figures of a session come from, as short texts.

    A picture names it when it leaves its report.
    """

    label: str
    drive: str
    firmware: str
    date: str
    session: str
    tool: str
    simulated: bool = False
    profile: str = ""
    """Which part of the plan was measured; empty of all of it."""


def how_measured(records: Sequence[RunRecord]) -> str:
    simulated = {is_virtual(record.backend.name) for record in records}
    if len(simulated) > 1:
        return "measured and simulated"
    return "simulated" if True in simulated else "measured"


def workload(test: Test | None) -> str:
    """What a test runs, in the plan's words, with the values of its params."""
    texts = (text.removeprefix("run ") for text in _runs(test.steps if test else ()))
    return "; ".join(dict.fromkeys(texts))


def _runs(steps: Iterable[StepTemplate]) -> Iterator[str]:
    for step in steps:
        if isinstance(step, RunTemplate):
            yield step.text.partition(" {")[0]
        elif isinstance(step, RepeatTemplate):
            yield from _runs(step.steps)


# What ran, on what, by what, when.

Pairs = Iterator[tuple[str, str]]


def session_facts(part: Reported) -> Facts:
    return known_facts(part.label, _session(part, part.session))


def known_facts(heading: str, pairs: Iterable[tuple[str, str]]) -> Facts:
    return Facts(heading, tuple(pair for pair in pairs if pair[1]))


def _session(part: Reported, session: Session) -> Pairs:
    yield "Plan", _joined(session.plan, session.plan_file)
    yield from _target(session, part.target)
    yield "Backend", _backend(session, part.records)
    yield from _host(session.host)
    yield "Started", _moment(session.started_at)
    yield "Ended", _moment(session.ended_at or "")
    yield "Status", session.status
    yield "Session", session.id
    yield "Job", session.job or ""
    yield "Started by", session.person
    yield "Tags", ", ".join(session.tags)
    yield "Note", session.note
    yield "Made by", f"ioplan {session.ioplan}"


def _target(session: Session, target: Target) -> Pairs:
    yield "Target", _joined(drive(session, target), session.target)
    for name in ("vendor", "firmware", "serial"):
        yield name.capitalize(), _identity(target, name)
    yield "Name in the lab", session.drive.lab_name if session.drive else ""
    capacity = target.get("capacity_bytes")
    yield "Capacity", f"{bytes_text(capacity)} ({capacity} B)" if capacity else ""


def _program(session: Session, records: Sequence[RunRecord]) -> str:
    backend = records[0].backend if records else None
    return f"{backend.name} {backend.version}".strip() if backend else session.backend


def _backend(session: Session, records: Sequence[RunRecord]) -> str:
    """With all ways in which its runs were done: a backend may choose for each."""
    modes = dict.fromkeys(run.backend.mode for run in records if run.backend.mode)
    return ", ".join((_program(session, records), *modes))


def _host(host: dict[str, Any]) -> Pairs:
    cpus, memory, kernel = (host.get(n) for n in ("cpus", "memory_bytes", "kernel"))
    system = f"Linux {kernel}" if kernel else ""
    yield "Host", str(host.get("hostname", ""))
    yield "CPU", _joined(str(host.get("cpu", "")), f"{cpus} logical" if cpus else "")
    yield "Memory", bytes_text(memory) if memory else ""
    yield "System", _joined(str(host.get("os", "")), system)
    yield "Prepared", "; ".join(prepared_texts(host))


def _joined(*texts: str) -> str:
    return ", ".join(filter(None, dict.fromkeys(texts)))


def _moment(text: str) -> str:
    """2026-11-21 05:45:12 UTC."""
    return f"{text[:19].replace('T', ' ')} UTC" if text else ""


def pts_header(part: Reported, test: str) -> Facts | None:
    """What SNIA's format puts above a test that was run in rounds."""
    tracked = [run for run in part.of(test, "run") if run.steady and run.asked.round]
    if not tracked:
        return None
    conditions = _pts(part, test, tracked[-1])
    return known_facts(f"Test conditions: {part.label}", conditions)


def _pts(part: Reported, test: str, last: RunRecord) -> Pairs:
    session, runs = part.session, part.of(test, "run")
    steady, window = last.steady, window_of(runs)
    assert steady and window
    yield "Test", test
    yield "Run", f"{_moment(runs[0].started_at)} to {_moment(runs[-1].ended_at)}"
    yield from _target(session, runs[0].target)
    yield from _host(session.host)
    yield "Tool", f"ioplan {session.ioplan}, {_backend(session, runs)}"
    yield from _stimulus(runs[0].asked.workload.streams[0])
    prepared = map(written_text, part.of(test, "prepare"))
    yield "Preconditioning", "; ".join(dict.fromkeys(prepared))
    yield "Tracked", f"{steady.metric}, {place_text(last.asked.cell) or 'all runs'}"
    rounds = f"measurement window {window.first} to {window.last}"
    yield "Rounds", f"{window.last}; {rounds}"
    yield "Window values", ", ".join(metric_text(v, steady.unit) for v in steady.values)
    yield "Window mean", metric_text(steady.mean, steady.unit)
    yield "Range", share_text(steady.range_percent, steady.range_limit_percent)
    slope = share_text(steady.slope_percent, steady.slope_limit_percent)
    yield "Slope over window", slope
    reached = "reached" if steady.is_borne else f"not reached: {steady.claim}"
    yield "Steady state", reached
    yield "State of the drive", steady.evidence


def _stimulus(stream: Stream) -> Pairs:
    yield "Access", access_text(stream)
    yield "Threads", str(stream.threads)
    yield "Outstanding I/Os per thread", str(stream.qd)
    yield "Data pattern", stream.data.kind
    yield "Active range", _range_text(stream.region)


def _range_text(region: Region) -> str:
    if region.start_bytes or region.end_bytes:
        return region_text(region).replace("..", " to ")
    return f"{region.start_percent:g} to {region.end_percent:g} %"


# Sessions as a report has them: records, plan, and what of it was not measured.


class Reported(Struct, frozen=True, dict=True):
    """A session of the report, with its label, its records and its plan.

    `places` are those of the plan where not all of it has run; else it is empty.
    """

    session: Session
    label: str
    records: list[RunRecord]
    plan: CheckedPlan | None = None
    places: Mapping[Place, Run] = {}

    @property
    def target(self) -> Target:
        return self.records[0].target if self.records else {}

    @cached_property
    def missing(self) -> list[Run]:
        return not_measured(self.places, self.records)

    def missing_of(self, test: str) -> list[Run]:
        return [run for run in self.missing if run.test.title == test]

    @cached_property
    def doubts(self) -> Doubts:
        return doubts(self.records)

    @cached_property
    def source(self) -> Source:
        session, profile = self.session, self.session.request.profile
        backend = self.records[0].backend.name if self.records else session.backend
        return Source(
            label=self.label,
            drive=drive(session, self.target),
            firmware=_identity(self.target, "firmware"),
            date=session.started_at[:10],
            session=session.id,
            tool=f"ioplan {session.ioplan}, {_program(session, self.records)}",
            simulated=is_virtual(backend),
            profile="" if profile == FULL else profile,
        )

    @property
    def is_known(self) -> bool:
        """Whether it can be said what was not measured."""
        return self.session.status == "ok" or self.plan is not None

    def judged(self, test: str = "") -> list[Judgement]:
        """What became of the expectations of a test, or of all."""
        if not test:
            return judgements(self.records, self.places)
        places = {at: run for at, run in self.places.items() if at[0] == test}
        return judgements(self.of(test, "run"), places)

    def of(self, test: str, *kinds: str) -> list[RunRecord]:
        own = (record for record in self.records if record.asked.test == test)
        return [record for record in own if record.asked.kind in kinds]


def reported(
    sessions: Sequence[Session],
    records: Sequence[list[RunRecord]],
    plans: Mapping[str, CheckedPlan | None],
) -> list[Reported]:
    """Sessions with their records; `plans` has the plan of each that is still one."""
    targets = [own[0].target if own else {} for own in records]
    places: dict[int, dict[Place, Run]] = {}  # of a plan that many sessions ran, once
    parts = []
    for session, label, own in zip(
        sessions, labels(sessions, targets), records, strict=True
    ):
        plan = plans.get(session.id)
        if is_open := plan is not None and session.status != "ok":
            places[id(plan)] = places.get(id(plan)) or places_of(plan)
        unfinished = places[id(plan)] if is_open else {}
        parts.append(Reported(session, label, own, plan, unfinished))
    return parts
