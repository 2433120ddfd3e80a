"""Checks runs on several hosts: all streams name theirs, and time ends the run."""

from __future__ import annotations

from ioplan.language.checker.scope import Scope
from ioplan.language.checker.streams.replay import is_replayed
from ioplan.language.checker.streams.stream_builder import overridden_by
from ioplan.language.plan import RunTemplate, StreamTemplate, WorkloadTemplate
from ioplan.language.syntax.source import Span

# Checks streams on several targets: what they share, and what is of one target.

OVER_ALL = {"qd": "qd_over_all", "rate": "rate_over_all"}
"""Who shares it goes with each number: an override gives both again."""
OF_ONE = ("sync", "flush", "verify", "replay")
"""A flush is of one target, and so is what `verify` and a trace know."""


def check_targets(stream: StreamTemplate, where: Span, scope: Scope) -> None:
    """A stream over all targets is one stream: depth and rate are both shared."""
    has, spans = stream.attributes, stream.spans
    if has.get("targets") and has.get("hosts"):
        scope.findings.error(
            "a stream is on several hosts or on several targets, not both",
            spans.get("targets", where),
            "remove one of them",
        )
    shared = {what: has.get(name, False) for what, name in OVER_ALL.items()}
    if not any(shared.values()):
        return
    for what, is_shared in shared.items():
        if what in spans and not is_shared:
            other = "qd" if what == "rate" else "rate"
            scope.findings.error(
                f"{other!r} is over all targets, and {what!r} is not",
                spans[what],
                f"add to it: over all; or remove it from {other!r}",
            )
    for what in OF_ONE:
        if what in spans:
            scope.findings.error(
                f"{what!r} does not apply to a stream over all targets",
                spans[what],
                "remove one of them",
            )


HOSTS = "hosts"


def check_placed(run: RunTemplate, templates: list[WorkloadTemplate], s: Scope) -> None:
    """A run on hosts: all streams say theirs, and time ends it."""
    for template in templates:
        streams = [overridden_by(stream, run.override) for stream in template.streams]
        placed = [stream for stream in streams if _hosts(stream)]
        if not placed:
            continue
        _check_all(streams, run.span, s)
        _check_length(run, _place(placed[0], run.span), s)
        _check_verify(streams, run.span, s)


def check_unplaced(streams: tuple[StreamTemplate, ...], where: Span, s: Scope) -> None:
    """A precondition is brought about by one host, whichever the lab has first."""
    for stream in streams:
        if _hosts(stream):
            s.findings.error(
                "a precondition runs on one host, the first of the target's hosts",
                _place(stream, where),
                "remove the hosts",
            )


def _hosts(stream: StreamTemplate) -> tuple[str, ...]:
    found: tuple[str, ...] = stream.attributes.get(HOSTS, ())
    return found


def _place(stream: StreamTemplate, where: Span) -> Span:
    """The clause, if it stands in what is being checked."""
    span = stream.spans.get(HOSTS, where)
    return span if span.source is where.source else where


def _check_all(streams: list[StreamTemplate], where: Span, s: Scope) -> None:
    for stream in streams:
        if not _hosts(stream):
            s.findings.error(
                f"the stream {stream.name!r} has no hosts, but other streams of the "
                "workload do",
                where,
                "add to it: on hosts …",
            )


def _check_length(run: RunTemplate, place: Span, s: Scope) -> None:
    """Bytes and passes are counted by each host for itself."""
    if is_replayed(run.workload, run.override):
        return  # which is refused on hosts
    if run.passes is not None or run.limit is not None:
        s.findings.error(
            "a run on several hosts must be limited by time, because each host "
            "counts its own bytes",
            place,
            "for example: for 1min",
        )


def _check_verify(streams: list[StreamTemplate], where: Span, s: Scope) -> None:
    """A host knows what it has written itself."""
    if len({host for stream in streams for host in _hosts(stream)}) == 1:
        return
    for stream in streams:
        if stream.attributes.get("verify"):
            s.findings.error(
                "'verify' cannot know what other hosts have written",
                _verify_span(stream, where),
                "remove it, or run on one host",
            )


def _verify_span(stream: StreamTemplate, where: Span) -> Span:
    return stream.spans.get("verify", where)
