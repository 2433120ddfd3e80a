"""The phases that the runs of a test have: what `during` may name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ioplan.core.text import did_you_mean
from ioplan.language.bind.bind import amount_of, workload_of
from ioplan.language.bind.matrix import Cell, cell_text
from ioplan.language.checker.scope import Scope
from ioplan.language.checker.streams.stream_builder import alternatives, overridden_by
from ioplan.language.metric import Metric, stretch_ns
from ioplan.language.plan import Axis, RunTemplate, StreamTemplate, WorkloadTemplate
from ioplan.language.quantity import Quantity, make
from ioplan.language.syntax.source import Span
from ioplan.workload import FOREVER_NS, phases_of

# Checks the parts of a run that its streams have: `starts after`, `ends after`.

STARTS, ENDS = "starts", "ends"


def check_times(
    run: RunTemplate, templates: Iterable[WorkloadTemplate], scope: Scope
) -> None:
    """Each stream has a part of the run, and they cover its beginning and its end."""
    for template in templates:
        streams = [overridden_by(stream, run.override) for stream in template.streams]
        timed = [stream for stream in streams if is_timed(stream)]
        if not timed:
            continue
        shortest = _shortest(run, scope)
        if shortest is None:
            scope.findings.error(
                "'starts after', 'ends after' and 'ramp' require a run that is "
                "limited by time",
                _place(timed[0], run.span),
                "for example: for 1min",
            )
            continue
        for stream in timed:
            _check_part(stream, shortest, run.span, scope)
        _check_cover(streams, shortest, run.span, scope)


def check_untimed(
    streams: Iterable[StreamTemplate],
    where: Span,
    what: str,
    scope: Scope,
    ruled_out: tuple[str, ...] = ("ramp",),
) -> None:
    """`what` is no run in which streams have parts, or rates of these shapes."""
    for stream in streams:
        if has_part(stream) or _shape_of_rate(stream) in ruled_out:
            place = _place(stream, where)
            scope.findings.error(
                f"{what}: all of its streams run for the whole run",
                place,
                "leave this out",
            )
            return


def is_timed(stream: StreamTemplate) -> bool:
    """Whether the stream runs for a part of the run only, or with a ramp."""
    return has_part(stream) or _shape_of_rate(stream) == "ramp"


def has_part(stream: StreamTemplate) -> bool:
    """Whether it starts late or ends early."""
    return STARTS in stream.spans or ENDS in stream.spans


def _shape_of_rate(stream: StreamTemplate) -> str:
    """`phases` or `ramp`, where it changes."""
    _, _, *shape = stream.attributes.get("rate") or (None, None)
    return str(shape[0][0]) if shape else ""


def _place(stream: StreamTemplate, where: Span) -> Span:
    found = (stream.spans.get(name) for name in (STARTS, ENDS, "rate"))
    return next((span for span in found if span), where)


def _shortest(run: RunTemplate, scope: Scope) -> Quantity | None:
    """The least time that the run may have; None if it is not time that ends it."""
    if run.run is None or run.rule:
        return None
    return min(scope.values_of(run.run), key=lambda one: one.value)


def _check_part(
    stream: StreamTemplate, run: Quantity, where: Span, scope: Scope
) -> None:
    """The stream begins before it ends, and both are within the run."""
    starts_ns = stream.attributes.get("starts_ns", 0)
    ends_ns = stream.attributes.get("ends_ns") or run.value
    if starts_ns >= run.value:
        scope.findings.error(
            f"the run is over after {run.text}, before the stream starts",
            stream.spans.get(STARTS, where),
            "run longer, or start it earlier",
        )
    elif ends_ns > run.value:
        scope.findings.error(
            f"the run is over after {run.text}, before the stream ends",
            stream.spans.get(ENDS, where),
            "run longer, or remove this: by default a stream ends with the run",
        )
    elif ends_ns <= starts_ns:
        scope.findings.error(
            f"the stream ends before it starts, after {_text(starts_ns)}",
            stream.spans.get(ENDS, where),
            "both are counted from the start of the run",
        )


def _text(time_ns: float) -> str:
    return make("time", time_ns).text


def _check_cover(
    streams: list[StreamTemplate], run: Quantity, where: Span, scope: Scope
) -> None:
    """Some stream begins with the run, and some ends with it."""
    if not any(stream.attributes.get("starts_ns", 0) == 0 for stream in streams):
        scope.findings.error(
            "no stream begins with the run",
            streams[0].spans.get(STARTS, where),
            "remove it from one; for idle time before a run write: idle 2s",
        )
    ends_ns = [stream.attributes.get("ends_ns") or run.value for stream in streams]
    if max(ends_ns) < run.value:
        scope.findings.error(
            f"no stream runs until the end of the run, after {run.text}",
            streams[0].spans.get(ENDS, where),
            f"run for {_text(max(ends_ns))}, or remove it from one",
        )


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
