"""A trace and its model, run on a drive, which is by default a simulated one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec import Struct

from ioplan.cli import RunCall, SessionStart, requested, requested_plan, run_session
from ioplan.core import ExplainedError, counted, digits
from ioplan.records import RunRecord, new_session_id
from ioplan.results.store import Store
from ioplan.trace import Prepared, write

SPACE = "1GiB"
MOST_IOS = 100_000
"""Of a longer trace the first ones are run, and a model of these."""
FILLED = """
precondition filled {
  write sequential 128KiB, 1 pass
  write random 4KiB, 2 passes
}
"""
TEST = 'test "The recorded load" {'
REPLAY = f"""
trace web = "web.iotrace"
{TEST}
  run replay web, offsets scaled
}}
"""
Figures = dict[str, float]


class Compared(Struct, frozen=True):
    """A figure of a run of the trace, and of one of its model."""

    name: str
    trace: float
    model: float

    def __str__(self) -> str:
        ratio = f"{self.model / self.trace:.2f}" if self.trace else "–"
        return f"{self.name} {digits(self.trace)} / {digits(self.model)} / {ratio}"


def part_of(trace: Prepared, folder: Path) -> Prepared:
    """The trace, or its first I/Os if it has more than are run. Raises OSError."""
    if trace.header.count <= MOST_IOS:
        return trace
    write(folder / "part.iotrace", [trace.ios[:MOST_IOS]])
    return Prepared.open(folder / "part.iotrace")


def compared(trace: Prepared, model: str, backend: str = "sim") -> list[Compared]:
    """Of two runs on a new target of SPACE, the simulated one written at random before.

    `model` is a plan. Raises ExplainedError for a run that failed, and OSError.
    """
    with TemporaryDirectory() as name:
        folder = Path(name)
        write(folder / "web.iotrace", [trace.ios])
        one, other = (_figures(text, backend, folder) for text in (REPLAY, model))
    return [Compared(name, one[name], other[name]) for name in one if name in other]


def _figures(text: str, backend: str, folder: Path) -> Figures:
    plan = folder / "plan.ioplan"
    plan.write_text(_prepared(text) if backend == "sim" else text)
    asked = requested(
        {
            "backend": backend,
            "create": SPACE,
            "targets": [str(folder / "scratch.bin")],
            "settings": [f"space={SPACE}"] if "param space" in text else [],
        }
    )
    store, start = folder / "runs.db", SessionStart(new_session_id())
    call = RunCall(request=asked, plan=plan, store=store, quiet=True)
    with Store.open(store) as opened:
        run_session(requested_plan(plan, asked), call, opened, start)
        *_, record = opened.records(start.id)
    if record.status != "ok":
        raise ExplainedError(record.message)
    return dict(_measured(record))


def _prepared(text: str) -> str:
    """The plan with the drive preconditioned before its test."""
    head, test, body = text.partition(TEST)
    return f"{head}{FILLED}{test}\n  after filled{body}"


def _measured(record: RunRecord) -> Iterator[tuple[str, float]]:
    """By direction IOPS, p50 and p99 in us; and the write amplification."""
    for way, found in record.directions.items():
        if found.latency:
            by = {one.percent: one.latency_ns for one in found.latency.percentiles}
            yield f"{way} IOPS", found.iops
            yield f"{way} p50 (us)", by[50.0] / 1000
            yield f"{way} p99 (us)", by[99.0] / 1000
    wear = record.wear
    if wear and wear.media_written_bytes and wear.host_written_bytes:
        yield (
            "write amplification",
            wear.media_written_bytes / wear.host_written_bytes,
        )


def measured_lines(trace: Prepared, model: str, ios: int) -> Iterator[str]:
    """What the two do on a simulated drive, as comments of the plan; `ios` are those
    of the whole trace."""
    first = "" if trace.header.count == ios else f", first {counted(MOST_IOS, 'I/O')}"
    try:
        found = compared(trace, model)
    except (ExplainedError, OSError) as error:
        yield f"Not measured on a simulated drive: {error}"
        return
    yield f"On a simulated drive of {SPACE}{first}: trace / model / ratio"
    yield from (f"- {one}" for one in found)
