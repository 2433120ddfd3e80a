"""Checks replays: what a trace says of a stream, and what cannot be said beside it."""

from __future__ import annotations

from collections.abc import Mapping

from ioplan.language.check.scope import Scope
from ioplan.language.check.streams.stream_builder import StreamBuilder
from ioplan.language.fields import Attributes
from ioplan.language.plan import StreamTemplate, WorkloadTemplate
from ioplan.language.syntax import tree
from ioplan.language.syntax.source import Span
from ioplan.trace.facts import TraceFacts
from ioplan.workload import Replay, SizeShare

OUTSTANDING = 256
"""How many I/Os of a trace may be outstanding where the plan does not say it."""
MOST_SIZES = 32
"""A stream tells so many sizes of a trace; the rare ones count as the largest."""
BESIDE = frozenset(
    (
        *("pattern", "speed", "qd", "data", "dedup", "fua", "errors", "retry", "hang"),
        *("starts", "ends", "offsets"),
    )
)
"""What a trace leaves open."""


def replay(clause: tree.Clause, scope: Scope, draft: StreamBuilder) -> None:
    """All that the trace of that name says."""
    word = clause.words[0]
    draft.attributes["replay"] = None  # meant to be one, whatever is wrong with it
    found = scope.module.find(word.text)
    if found is None or not isinstance(found[0], tree.Trace):
        near = scope.module.suggestion(word.text, tree.Trace)
        scope.findings.unknown(
            word.text,
            f"there is no trace {word.text!r}{near}",
            word.span,
            f'define it before: trace {word.text} = "web.iotrace"',
        )
        return
    facts = found[1].traces.get(found[0].name.text)
    if facts is None:  # its file has an error, which is told
        return
    if not (facts.reads or facts.writes or facts.discards):
        scope.findings.error("the trace has flushes only", word.span)
        return
    draft.attributes.setdefault("qd", OUTSTANDING)
    draft.put("pattern", _said(facts), clause.span)


def _said(facts: TraceFacts) -> Attributes:
    """What the stream has of it; mix and sizes only describe it."""
    data = facts.reads + facts.writes
    reads, writes = shares(facts.read_sizes), shares(facts.write_sizes)
    return {
        "pattern": "random",
        "read_percent": 100 * facts.reads / data if data else 0.0,
        "trim_percent": 100 * facts.discards / (data + facts.discards),
        "read_sizes": reads or writes,
        "write_sizes": writes or reads,
        "align_bytes": facts.grid_bytes,
        "replay": Replay(
            digest=facts.digest,
            ios=facts.ios,
            span_ns=facts.span_ns,
            end_bytes=facts.end_bytes,
            moved_bytes=facts.moved_bytes,
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


def check_replay(
    stream: StreamTemplate, given: set[str], where: Span, scope: Scope
) -> None:
    """A trace says itself what other clauses would, and only a trace has a speed."""
    if "replay" not in stream.attributes:
        for field in ("speed", "offsets"):
            if field in {*stream.spans, *given}:
                scope.findings.error(
                    f"only a replay has {field!r}",
                    stream.spans.get(field, where),
                    "remove it, or write: replay NAME",
                )
        return
    said = {**dict.fromkeys(given, where), **stream.spans}
    for field, span in said.items():
        if field not in BESIDE:
            scope.findings.error(
                f"{NAMED.get(field, repr(field))} does not go with a replay",
                span,
                "remove it: the trace says it",
            )


NAMED = {"size": "a block size", "mix": "a mix", "read": "a mix"}


def is_replayed(base: WorkloadTemplate, override: StreamTemplate) -> bool:
    """Whether all of the workload is, so that its length is that of the trace."""
    said = "replay" in override.attributes
    return said or all("replay" in stream.attributes for stream in base.streams)
