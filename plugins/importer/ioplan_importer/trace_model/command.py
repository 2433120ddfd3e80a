"""`ioplan model`: a recorded trace as a plan that can be published."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from ioplan.cli.commands.trace.traces import left_out, prepared_trace, trace_faults
from ioplan.cli.display.output import print_line, print_message
from ioplan.cli.exit_codes import HELD
from ioplan.cli.sessions.stores import STDOUT, opened
from ioplan.core.text import counted
from ioplan.trace.convert import source_of
from ioplan.trace.facts import TraceError
from ioplan.trace.prepared import Prepared
from ioplan_importer.trace_model.clauses import outline
from ioplan_importer.trace_model.distance import distance
from ioplan_importer.trace_model.fit import Fit, fit
from ioplan_importer.trace_model.phases import phase_edges
from ioplan_importer.trace_model.profile import Phase, phases
from ioplan_importer.trace_model.simulated import measured_lines, part_of
from ioplan_importer.writer import plan_text

Measure = Callable[[Prepared, str], Iterable[str]]
"""More comments for a model, from its trace and its text."""


def model(
    *,
    path: Path,
    output: Path | None,
    volume: str | None,
    not_simulated: bool,
    force: bool,
) -> int:
    """Write the plan of a trace; returns 0."""
    with trace_faults(path):
        measure = _nothing if not_simulated else _simulated
        text, ios = model_of(path, volume, measure)
    with opened(output, force) as out:
        out.write(text.encode())
    if output and output != STDOUT:
        print_line(f"{output}: a model of {counted(ios, 'I/O')}")
    return HELD


def _nothing(_: Prepared, __: str) -> Iterable[str]:
    return ()


def _simulated(trace: Prepared, text: str) -> Iterator[str]:
    """Of a long trace, its first part and a model of that. Prints what it finds."""
    print_message("running both on a simulated drive (--not-simulated leaves it out)")
    with TemporaryDirectory() as folder:
        part = part_of(trace, Path(folder))
        if part is not trace:
            text = model_text("the first part", part)
        for line in measured_lines(part, text, trace.header.count):
            print_message(line)
            yield line


def model_of(
    path: Path, volume: str | None = None, measure: Measure = _nothing
) -> tuple[str, int]:
    """The plan of a trace, and the number of its I/Os. Raises TraceError, OSError."""
    with TemporaryDirectory() as folder:
        trace, found = prepared_trace(path, Path(folder), volume)
        said = (*_head(source_of(path).name, trace), *left_out(found))
        return model_text(path.name, trace, said, measure), trace.header.count


def model_text(
    name: str,
    trace: Prepared,
    said: tuple[str, ...] = (),
    measure: Measure = _nothing,
) -> str:
    """The plan; `said` are comments for its head. Raises TraceError without a rate."""
    if not trace.header.span_ns:
        raise TraceError("all its I/Os have one time: there is no rate to model")
    counts = phases(trace, phase_edges(trace))
    if not counts:
        raise TraceError("only flushes in it: there is no load to model")
    fits = [fit(one) for one in counts]
    comments = (*said, *_limits(counts, fits), *_distance(counts, fits))
    made = outline(name, fits, trace.header.end_bytes)
    text = plan_text(made, name, comments)
    more = tuple(measure(trace, text))
    return plan_text(made, name, (*comments, *more)) if more else text


def _head(format_name: str, trace: Prepared) -> Iterator[str]:
    yield f"A model of {counted(trace.header.count, 'I/O')} ({format_name})."


def _limits(counts: list[Phase], fits: list[Fit]) -> Iterator[str]:
    """What a plan cannot say, as far as it occurs."""
    yield "What it does not have:"
    yield "- which I/O waited for which: gaps are independent of each other"
    yield "- which places are used again, or read after they were written"
    if rare := sum(map(_rare, counts, fits)):
        yield f"- {counted(rare, 'I/O')} of rarer sizes, which have the nearest other"


def _rare(phase: Phase, one: Fit) -> int:
    """I/Os of sizes that the model does not have."""
    return sum(
        count
        for found, kept in zip(phase.sizes, one.sizes, strict=True)
        for size, count in found.items()
        if size not in kept
    )


def _distance(counts: list[Phase], fits: list[Fit]) -> Iterator[str]:
    found = distance(counts, fits)
    yield (
        "Distance from the trace (Kolmogorov-Smirnov, 0 equal, 1 disjoint): "
        f"sizes {found.sizes:.3f}, gaps {found.gaps:.3f}, places {found.places:.3f}"
    )
