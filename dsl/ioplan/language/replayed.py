"""What a trace says of a stream that replays it, or some of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ioplan.language.fields import Attributes
from ioplan.language.plan import Seek
from ioplan.trace.facts import TraceError, TraceFacts
from ioplan.trace.known import KnownTrace
from ioplan.workload import Replay, SizeShare, Stream

TRACE, PART = "trace", "trace_part"
"""Where a template's attributes have its trace, and the part of it that is meant."""
MOST_SIZES = 32
"""A stream tells so many sizes of a trace; the rare ones count as the largest."""


def with_trace(attributes: Attributes) -> Attributes:
    """The attributes, with what the trace says of those of its I/Os that are meant."""
    try:
        facts = facts_meant(attributes)
    except (TraceError, OSError):  # which is told where the part is
        return attributes
    if facts is None:
        return attributes
    only = attributes.get("only", "all")
    chosen = facts.selected(only, attributes.get("writes_as_reads", False))
    if not chosen.moving.ios:
        return attributes
    return {**attributes, **_said(chosen, attributes[TRACE].covers)}


def facts_meant(attributes: Attributes) -> TraceFacts | None:
    """The facts of the trace, or of the part meant. Raises TraceError, OSError."""
    trace: KnownTrace | None = attributes.get(TRACE)
    if trace is None:
        return None
    return trace.part(attributes[PART]) if PART in attributes else trace.facts


def _said(facts: TraceFacts, covers: str) -> Attributes:
    """What the stream has of it; mix and sizes only describe it."""
    moving, changes = facts.moving, facts.writes + facts.discards
    data = facts.reads.ios + facts.writes.ios
    reads, writes = shares(facts.reads.sizes), shares(changes.sizes)
    return {
        "pattern": "random",
        "read_percent": 100 * facts.reads.ios / data if data else 0.0,
        "trim_percent": 100 * facts.discards.ios / moving.ios,
        "read_sizes": reads or writes,
        "write_sizes": writes or reads,
        "align_bytes": facts.grid_bytes,
        "replay": Replay(
            digest=facts.digest,
            ios=facts.ios,
            span_ns=facts.span_ns,
            end_bytes=moving.end_bytes,
            moved_bytes=moving.moved_bytes,
            from_ns=facts.from_ns,
            to_ns=facts.to_ns,
            quiet_ns=moving.quiet_ns,
            fua=moving.fua,
            covers=covers,
        ),
    }


def shares(counts: Mapping[int, int]) -> tuple[SizeShare, ...]:
    """Counts of sizes as shares, the smallest size first."""
    common = sorted(counts, key=lambda size: counts[size], reverse=True)
    kept = {size: counts[size] for size in sorted(common[: MOST_SIZES - 1])}
    rest = sum(counts.values()) - sum(kept.values())
    if rest:
        kept[max(counts)] = kept.get(max(counts), 0) + rest
    total = sum(counts.values())
    return tuple(
        SizeShare(size_bytes=size, percent=100 * count / total)
        for size, count in sorted(kept.items())
    )


QUESTIONS = {
    "recorded": "what this drive does with that load; an I/O starts even where the "
    "application would have waited (open loop), so that more may be outstanding",
    "fast": "how fast this drive does the same I/Os in the recorded order (closed "
    "loop); the recorded times are left out",
    "after": "how this drive does for an application that waits for its I/O; each "
    "starts when those are complete that were so in the recording",
}
"""What a replay answers, by its pace."""
PACES = {
    "recorded": "at the recorded times",
    "fast": "as fast as possible",
    "after": "after completion",
}
MOST_SPEEDS = 5
SOUGHT = 0.0
"""In place of a speed that a seek is to find."""


def questions(streams: Iterable[Stream], seek: Seek | None = None) -> list[str]:
    """Which question the replays among these answer; of a pace, one line.

    The speed that the test seeks is not known yet.
    """
    sought = seek.axis if seek else ""
    speeds: dict[str, set[float]] = {}
    for stream in streams:
        if stream.replay:
            found = speeds.setdefault(stream.pace, set())
            is_sought = sought in ("speed", f"{stream.name}.speed")
            found.add(SOUGHT if is_sought else stream.speed)
    return [
        f"replay {PACES[pace]}{_speeds(sorted(some))}: {QUESTIONS[pace]}"
        for pace, some in speeds.items()
    ]


def _speeds(speeds: list[float]) -> str:
    if SOUGHT in speeds:
        return ", at the speed that is sought"
    if speeds == [1.0]:
        return ""
    if len(speeds) > MOST_SPEEDS:
        return f", speed {speeds[0]:g} to {speeds[-1]:g}"
    return f", speed {', '.join(f'{one:g}' for one in speeds)}"
