"""Records as tables for the terminal; 80 columns when there is room for no more."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich import box
from rich.table import Table

from ioplan.core.text import line
from ioplan.core.units import (
    bandwidth_text,
    bytes_text,
    iops_text,
    latency_text,
    metric_text,
    time_text,
)
from ioplan.language.quantity import size_text
from ioplan.records.record import DirectionResult, RunRecord, Verdict
from ioplan.records.session import Session

MOST_ROWS = 64
SHOWN = (99.0, 99.9)


def session_table(sessions: Iterable[tuple[Session, int]]) -> Table:
    """Sessions with the number of their runs, newest first."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("session", no_wrap=True)
    for heading in ("plan", "target"):
        table.add_column(heading, overflow="fold")
    table.add_column("backend", no_wrap=True)
    table.add_column("runs", justify="right", no_wrap=True)
    table.add_column("status", no_wrap=True)
    for session, runs in sessions:
        cells = (session.id, session.plan, session.target, session.backend)
        table.add_row(*map(line, cells), str(runs), session.status)
    return table


def run_table(records: Sequence[RunRecord], sparks: Sequence[str] = ()) -> Table:
    """The runs of one test: a row a cell, a column an axis; `sparks` are theirs."""
    axes = list(dict.fromkeys(axis for r in records for axis in r.asked.cell))
    extra = told_apart(records)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in (*axes, *extra):
        table.add_column(line(heading), justify="right", overflow="fold")
    for heading in ("IOPS", "MB/s", "mean", "p99", "p99.9", "max"):
        table.add_column(heading, justify="right", no_wrap=True)
    if sparks:
        table.add_column("in time", no_wrap=True)
    for number, record in enumerate(records[:MOST_ROWS]):
        place = [line(record.asked.cell.get(axis, "")) for axis in axes]
        spark = sparks[number : number + 1]
        table.add_row(*place, *places_of(record, extra), *_figures(record), *spark)
    return table


def told_apart(records: Sequence[RunRecord]) -> list[str]:
    """Columns for what is told apart by more than its cell."""
    found = []
    if len({r.asked.step for r in records}) > 1:
        found.append("step")
    if any(r.asked.iteration for r in records):
        found.append("repeat")
    if any(r.asked.round for r in records):
        found.append("round")
    return found


def places_of(record: RunRecord, extra: list[str]) -> list[str]:
    """What stands in those columns."""
    asked = record.asked
    values = {
        "step": asked.step + 1,
        "repeat": asked.iteration,
        "round": asked.round,
    }
    return [str(values[name]) for name in extra]


def _figures(record: RunRecord) -> list[str]:
    shown, what = shown_of(record)
    if record.status != "ok" and not shown.ios:
        return [record.status, "", "", "", "", ""]
    mark = " !" if is_marked(record) else ""
    return [
        what + iops_text(shown.iops) + mark,
        bandwidth_text(shown.bandwidth_bytes_per_s),
        *latencies(shown),
    ]


def is_marked(record: RunRecord) -> bool:
    """Whether there are figures, but not of all that was asked for."""
    return record.status != "ok" and bool(shown_of(record)[0].ios)


def shown_of(record: RunRecord) -> tuple[DirectionResult, str]:
    """Reads and writes; where nothing else was done, trims, and that word."""
    trims = record.directions.get("trim")
    return (trims, "trim ") if trims and not record.total.ios else (record.total, "")


def latencies(result: DirectionResult) -> list[str]:
    """Mean, p99, p99.9 and max; a percentile without support is in brackets."""
    latency = result.latency
    if latency is None:
        return ["–"] * 4
    by_percent = {p.percent: p for p in latency.percentiles}
    shown = []
    for percent in SHOWN:
        found = by_percent.get(percent)
        text = latency_text(found.latency_ns if found else None)
        shown.append(text if found is None or found.supported else f"({text})")
    return [latency_text(latency.mean_ns), *shown, latency_text(latency.max_ns)]


def prepare_line(record: RunRecord) -> str:
    """One line on a preparation."""
    stream = record.asked.workload.streams[0]
    size = stream.write_sizes[0].size_bytes
    state = record.asked.after.name if record.asked.after else ""
    text = (
        f"{state}: {stream.pattern} {size_text(size)} writes, "
        f"{bytes_text(record.total.bytes)} "
        f"in {time_text(record.run_s)}, "
        f"{bandwidth_text(record.total.bandwidth_bytes_per_s)} MB/s"
    )
    if record.steady:
        why = f"not steady: {record.steady.why}"
        text += ", steady" if record.steady.reached else f", {why}"
    return text


def verdict_line(record: RunRecord, verdict: Verdict, limits: bool = False) -> str:
    """One line on an expectation, with the cell it was judged on."""
    cell = " ".join(f"{axis}={value}" for axis, value in record.asked.cell.items())
    actual = (
        measured([verdict]) if limits else metric_text(verdict.actual, verdict.unit)
    )
    why = f" ({verdict.why})" if verdict.why else ""
    where = f" [{cell}]" if cell else ""
    return f"{verdict.outcome}: {verdict.expectation}{where}: {actual}{why}"


def measured(verdicts: Sequence[Verdict]) -> str:
    """`86.3 us to 224 us, limit 250 ms`: the plan may give the limit a name."""
    unit = verdicts[0].unit
    actual = sorted({v.actual for v in verdicts if v.actual is not None})
    limits = {v.limit for v in verdicts if v.limit is not None}
    ends = dict.fromkeys(metric_text(a, unit) for a in (*actual[:1], *actual[-1:]))
    text = " to ".join(ends) or metric_text(None, unit)
    if len(limits) != 1 or limits == set(actual):
        return text
    return f"{text}, limit {metric_text(limits.pop(), unit)}"


def verdict_lines(
    records: Sequence[RunRecord], limits: bool = False
) -> list[tuple[str, str]]:
    """Outcome and line; an expectation that held everywhere takes one line.

    With `limits`, each line has the figures and what they were held against.
    """
    by_line: dict[str, list[tuple[RunRecord, Verdict]]] = {}
    for record in records:
        for verdict in record.verdicts:
            by_line.setdefault(verdict.expectation, []).append((record, verdict))
    lines: list[tuple[str, str]] = []
    for expectation, judged in by_line.items():
        held = [verdict for _, verdict in judged if verdict.outcome == "held"]
        if held:
            where = f" in {len(held)} of {len(judged)} cells" if len(judged) > 1 else ""
            told = limits and any(v.actual != v.limit for v in held)
            figures = f": {measured(held)}" if told else ""
            lines.append(("held", f"held{where}: {expectation}{figures}"))
        lines += [
            (verdict.outcome, verdict_line(record, verdict, limits))
            for record, verdict in judged
            if verdict.outcome != "held"
        ]
    return lines


def final_rounds(records: Sequence[RunRecord]) -> list[RunRecord]:
    """Of rounds, the last one; of anything else, all."""
    last = max((r.asked.round for r in records), default=0)
    return [r for r in records if r.asked.round == last]
