"""The phases that the runs of a test have: what `during` may name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ioplan.core.text import did_you_mean
from ioplan.language.bind.bind import amount_of, workload_of
from ioplan.language.bind.matrix import Cell, cell_text
from ioplan.language.check.scope import Scope
from ioplan.language.check.streams.stream_builder import overridden_by
from ioplan.language.check.streams.times import has_part
from ioplan.language.check.streams.varied import alternatives
from ioplan.language.metric import Metric, stretch_ns
from ioplan.language.plan import Axis, RunTemplate, StreamTemplate, WorkloadTemplate
from ioplan.language.quantity import make
from ioplan.language.syntax.source import Span
from ioplan.workload import FOREVER_NS, phases_of

HINT = (
    "name one: burst 5s of 9_000 iops as peak, then 25s of 500 iops; the name of a "
    "stream with 'starts after' or 'ends after' is one; or write 10s..20s"
)


def phase_names(stream: StreamTemplate) -> Iterator[str]:
    """A stream that has a part of the run is a phase; a burst may name more."""
    if has_part(stream):
        yield stream.name
    _, _, *shape = stream.attributes.get("rate") or (None, None)
    if shape and shape[0][0] == "phases":
        yield from (name for *_, name in shape[0][1] if name)


def phases_of_runs(
    runs: Iterable[RunTemplate], axes: tuple[Axis, ...]
) -> dict[str, list[RunTemplate]]:
    """All phases, each with the runs that may have it."""
    found: dict[str, list[RunTemplate]] = {}
    for run in runs:
        for template in alternatives(run.workload, axes):
            for stream in template.streams:
                for name in phase_names(overridden_by(stream, run.override)):
                    found.setdefault(name, []).append(run)
    return found


def check_names(
    run: RunTemplate, templates: Iterable[WorkloadTemplate], scope: Scope
) -> None:
    """No two phases of a run have the same name."""
    for template in templates:
        seen: set[str] = set()
        for base in template.streams:
            stream = overridden_by(base, run.override)
            for name in phase_names(stream):
                if name in seen:
                    scope.findings.error(
                        f"two phases are called {name!r}",
                        stream.spans.get("rate", run.span),
                        "give each a name of its own",
                    )
                    return
                seen.add(name)


def check_phase(
    metric: Metric,
    span: Span,
    runs: tuple[RunTemplate, ...],
    axes: tuple[Axis, ...],
    scope: Scope,
) -> bool:
    """Whether a run that is meant has the phase of a metric; else an error."""
    phase = metric.phase or ""
    if ".." in phase:
        return _check_stretch(phase, span, runs, scope)
    known = phases_of_runs(runs, axes)
    if phase in known:
        return True
    scope.findings.unknown(
        phase,
        f"no run of this test has a phase {phase!r}{did_you_mean(phase, known)}",
        span,
        f"its phases: {', '.join(known)}" if known else HINT,
    )
    return False


def _check_stretch(
    phase: str, span: Span, runs: tuple[RunTemplate, ...], scope: Scope
) -> bool:
    """A stretch is of a run that time ends, and that is not over before it begins."""
    _, end_ns = stretch_ns(phase)
    lengths = [one.value for run in runs if run.run for one in scope.values_of(run.run)]
    if not runs or any(run.run is None for run in runs):
        scope.findings.error(
            f"during {phase} requires a run that is limited by time",
            span,
            "for example: for 1min",
        )
        return False
    if end_ns > min(lengths):
        scope.findings.error(
            f"the run is over after {make('time', min(lengths)).text}, before {phase}",
            span,
            "run longer, or let it end earlier",
        )
        return False
    return True


def check_comes(
    phase: str,
    span: Span,
    runs: tuple[RunTemplate, ...],
    cells: Iterable[Cell],
    scope: Scope,
) -> bool:
    """Whether a phase begins within a run of each cell that has it; else an error."""
    for cell in cells:
        found = [times for run in runs for times in _times(phase, run, cell)]
        if found and all(begin_ns >= end_ns for begin_ns, end_ns in found):
            begin, end = (make("time", ns).text for ns in min(found))
            place = f" where {cell_text(cell)}" if cell else ""
            scope.findings.error(
                f"{phase!r} never comes{place}: it begins at {begin}, and its stream "
                f"is over after {end}",
                span,
                "run longer, let it begin earlier, or say which cells have it: when …",
            )
            return False
    return True


def _times(phase: str, run: RunTemplate, cell: Cell) -> Iterator[tuple[int, int]]:
    """When a phase first begins, and when its stream is over."""
    run_ns = round(amount_of(run.run, cell).value) if run.run else FOREVER_NS
    for stream in workload_of(run.workload, run.override, cell).streams:
        for one in phases_of(stream):
            if one.name == phase:
                yield one.start_ns, min(run_ns, one.end_ns or run_ns)
