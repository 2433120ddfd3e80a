"""Checks the parts of a run that its streams have: `starts after`, `ends after`."""

from __future__ import annotations

from collections.abc import Iterable

from ioplan.language.check.scope import Scope
from ioplan.language.check.streams.stream_builder import overridden_by
from ioplan.language.plan import RunTemplate, StreamTemplate, WorkloadTemplate
from ioplan.language.quantity import Quantity, make
from ioplan.language.syntax.source import Span

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
