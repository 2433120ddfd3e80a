"""Checks streams whose writes wait for the log that another stream writes."""

from __future__ import annotations

from collections.abc import Sequence

from ioplan.core.text import did_you_mean
from ioplan.language.checker.scope import Scope
from ioplan.language.clause_table import slot
from ioplan.language.plan import StreamTemplate
from ioplan.language.syntax.source import Span

FOLLOWS = "follows"


def check_follows(
    streams: Sequence[StreamTemplate], varied: set[str], where: Span, scope: Scope
) -> None:
    """What a stream follows is another one, whose writes become durable.

    `varied` are the fields that axes decide.
    """
    by_name = {stream.name: stream for stream in streams}
    for stream in streams:
        name: str | None = stream.attributes.get(FOLLOWS)
        span = stream.spans.get(FOLLOWS, where)
        wrong = name and _wrong(stream, name, by_name, varied)
        if wrong:
            scope.findings.error(wrong[0], span, wrong[1])


def _wrong(
    stream: StreamTemplate, name: str, by_name: dict[str, StreamTemplate], v: set[str]
) -> tuple[str, str] | None:
    """What is wrong, and what to do."""
    log = by_name.get(name)
    if log is None:
        others = [one for one in by_name if one != stream.name]
        hint = did_you_mean(name, others)
        said = f"the workload has no stream {name!r}{hint}"
        return said, "name another stream of it, which writes the log"
    if log is stream:
        return f"the stream {name!r} follows itself", "name the stream of the log"
    if log.attributes.get(FOLLOWS):
        return (
            f"the stream {name!r} follows another one itself",
            "remove 'follows' from one of them",
        )
    if not _is_durable(log, v):
        return (
            f"nothing makes the writes of {name!r} durable, so that none may follow",
            f"add to {name!r}: fua, or flush every 1",
        )
    return _placed(stream, log)


def _is_durable(log: StreamTemplate, varied: set[str]) -> bool:
    said = {slot(field) for field in (*log.refs, *varied)}
    return "sync" in said or bool({"fua", "sync"} & {*log.spans})


def _placed(stream: StreamTemplate, log: StreamTemplate) -> tuple[str, str] | None:
    """A host knows only its own log, and a log is one."""
    has, its = stream.attributes, log.attributes
    if has.get("hosts") != its.get("hosts"):
        return (
            f"a host does not know what is durable of {log.name!r} on another",
            "give both the same hosts",
        )
    if len(its.get("targets", ())) > 1 or its.get("over_all"):
        return f"the log {log.name!r} is on several targets", "put it on one"
    return None
