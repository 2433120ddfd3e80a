"""Facts of a session, and the header block of SNIA's report format."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ioplan.core.units import bytes_text, metric_text, share_text, time_text
from ioplan.language.checker.clause_values import region_text
from ioplan.language.metric import parse_metric
from ioplan.language.quantity import size_text
from ioplan.records.record import RunRecord
from ioplan.records.session import Session
from ioplan.records.setup import prepared_texts
from ioplan.records.window import window_of
from ioplan.results.report.documents import Facts
from ioplan.results.report.sentences import access_text
from ioplan.results.report.source import drive
from ioplan.workload import Region, Stream

Pairs = Iterator[tuple[str, str]]


def session_facts(label: str, session: Session, records: Sequence[RunRecord]) -> Facts:
    """What ran, on what, by what, when."""
    return Facts(label, tuple(_present(_session(session, records))))


def _present(pairs: Pairs) -> Pairs:
    """Without those that nobody knows."""
    return ((name, text) for name, text in pairs if text)


def _session(session: Session, records: Sequence[RunRecord]) -> Pairs:
    first = records[0] if records else None
    yield "Plan", _joined(session.plan, session.plan_file)
    yield from _target(session, first)
    yield "Backend", _backend(session, records)
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


def _target(session: Session, first: RunRecord | None) -> Pairs:
    target: dict[str, Any] = first.target if first else {}
    identity = target.get("identity", {})
    yield "Target", _joined(drive(session, target), session.target)
    for name in ("vendor", "firmware", "serial"):
        yield name.capitalize(), str(identity.get(name, ""))
    yield "Name in the lab", session.drive.lab_name if session.drive else ""
    capacity = target.get("capacity_bytes")
    yield "Capacity", f"{bytes_text(capacity)} ({capacity} B)" if capacity else ""


def _backend(session: Session, records: Sequence[RunRecord]) -> str:
    """With all ways in which its runs were done: a backend may choose for each."""
    if not records:
        return session.backend
    made = f"{records[0].backend.name} {records[0].backend.version}".strip()
    modes = dict.fromkeys(one.backend.mode for one in records if one.backend.mode)
    return ", ".join((made, *modes))


def _host(host: dict[str, Any]) -> Pairs:
    cpus = host.get("cpus")
    memory = host.get("memory_bytes")
    yield "Host", str(host.get("hostname", ""))
    yield "CPU", _joined(str(host.get("cpu", "")), f"{cpus} logical" if cpus else "")
    yield "Memory", bytes_text(memory) if memory else ""
    kernel = host.get("kernel")
    yield (
        "System",
        _joined(str(host.get("os", "")), f"Linux {kernel}" if kernel else ""),
    )
    yield "Prepared", "; ".join(prepared_texts(host))


def _joined(first: str, second: str) -> str:
    different = second if second != first else ""
    return ", ".join(part for part in (first, different) if part)


def _moment(text: str) -> str:
    """2026-11-21 05:45:12 UTC."""
    return f"{text[:19].replace('T', ' ')} UTC" if text else ""


def pts_header(
    label: str,
    session: Session,
    runs: Sequence[RunRecord],
    prepared: Sequence[RunRecord],
) -> Facts | None:
    """What SNIA's format puts above a test that was run in rounds."""
    tracked = [r for r in runs if r.steady and r.asked.round]
    if not tracked:
        return None
    pairs = _present(_pts(session, runs, prepared, tracked))
    return Facts(f"Test conditions: {label}", tuple(pairs))


def _pts(
    session: Session,
    runs: Sequence[RunRecord],
    prepared: Sequence[RunRecord],
    tracked: Sequence[RunRecord],
) -> Pairs:
    steady = tracked[-1].steady
    assert steady
    window = window_of(runs)
    assert window
    yield "Test", runs[0].asked.test
    yield "Run", f"{_moment(runs[0].started_at)} to {_moment(runs[-1].ended_at)}"
    yield from _target(session, runs[0])
    yield from _host(session.host)
    yield "Tool", f"ioplan {session.ioplan}, {_backend(session, runs)}"
    yield from _stimulus(runs[0].asked.workload.streams[0])
    yield "Preconditioning", "; ".join(dict.fromkeys(map(_prepared, prepared)))
    yield "Tracked", f"{steady.metric}, {_cell(tracked[-1])}"
    rounds = f"measurement window {window.first} to {window.last}"
    yield "Rounds", f"{window.last}; {rounds}"
    unit = parse_metric(steady.metric).unit
    yield "Window values", ", ".join(metric_text(v, unit) for v in steady.values)
    yield "Window mean", metric_text(steady.mean, unit)
    yield "Range", share_text(steady.range_percent, steady.range_limit_percent)
    yield (
        "Slope over window",
        share_text(steady.slope_percent, steady.slope_limit_percent),
    )
    reached = "reached" if steady.is_borne else f"not reached: {steady.claim}"
    yield "Steady state", reached
    if steady.evidence:
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


def _prepared(record: RunRecord) -> str:
    stream = record.asked.job.streams[0]
    name = record.asked.after.name if record.asked.after else ""
    size = size_text(stream.write_sizes[0].size_bytes)
    return (
        f"{name}: {access_text(stream)} {size} writes, "
        f"{bytes_text(record.total.bytes)} in {time_text(record.run_s)}"
    )


def _cell(record: RunRecord) -> str:
    return " ".join(f"{n}={v}" for n, v in record.asked.cell.items()) or "all runs"
