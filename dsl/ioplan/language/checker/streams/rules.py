"""Checks what only shows when a step's workload and its axes come together."""

from __future__ import annotations

from itertools import permutations
from typing import Any

from ioplan.language.checker.scope import Scope
from ioplan.language.checker.streams.follows import check_follows
from ioplan.language.checker.streams.hosts import check_targets
from ioplan.language.checker.streams.queue_depth import check_depth
from ioplan.language.checker.streams.replay import check_replay
from ioplan.language.checker.streams.stream_builder import (
    alternatives,
    given_by,
    overridden_by,
    values_of,
)
from ioplan.language.clause_table import CLAUSES, slot
from ioplan.language.plan import (
    Axis,
    StreamTemplate,
    WorkloadTemplate,
)
from ioplan.language.quantity import size_text
from ioplan.language.syntax.source import Span
from ioplan.workload import Region

WRITES_ONLY = tuple(clause.word for clause in CLAUSES if clause.writes_only)


def check_streams(
    base: WorkloadTemplate,
    override: StreamTemplate,
    axes: tuple[Axis, ...],
    where: Span,
    scope: Scope,
) -> None:
    """All that a step may run: every workload of its axis, else its own."""
    for template in alternatives(base, axes):
        for stream in template.streams:
            whole = overridden_by(stream, override)
            given = given_by(stream.name, axes)
            _check_complete(whole, given, template, where, scope)
            _check_decided_once(whole, given, where, scope)
            _check_pattern(whole, axes, given, where, scope)
            _check_permuted(whole, axes, given, where, scope)
            _check_random_share(whole, axes, where, scope)
            _check_retries(whole, where, scope)
            check_targets(whole, where, scope)
            check_replay(whole, given, where, scope)
            _check_room(whole, given, where, scope)
            check_depth(whole, axes, where, scope)
            _check_loop(whole, given, where, scope)
            _check_repeats(whole, given, where, scope)
            _check_effect(stream, override, given, scope)
        streams = [overridden_by(stream, override) for stream in template.streams]
        varied = _all_given(streams, axes)
        check_follows(streams, varied, where, scope)
        _check_apart(streams, varied, where, scope)


def _all_given(streams: list[StreamTemplate], axes: tuple[Axis, ...]) -> set[str]:
    return {field for stream in streams for field in given_by(stream.name, axes)}


def _check_apart(
    streams: list[StreamTemplate], varied: set[str], where: Span, scope: Scope
) -> None:
    """Nobody else writes what a stream verifies, on a target of whatever size.

    What only the target's size or an axis decides, the planner refuses.
    """
    if {"region", "read", "trim"} & varied:
        return
    for stream, other in permutations(streams, 2):
        writes = other.attributes.get("read_percent", 0) < 100
        if not stream.attributes.get("verify") or not writes:
            continue
        if _overlaps(stream, other) and _overlaps(other, stream):
            scope.findings.error(
                f"the stream {other.name!r} writes where {stream.name!r} verifies",
                stream.spans.get("verify", where),
                "give them separate regions, such as region 0%..50%",
            )
            return


def _overlaps(one: StreamTemplate, other: StreamTemplate) -> bool:
    """Whether one begins before the other ends, on a target of any size."""
    first: Region = one.attributes.get("region", Region())
    second: Region = other.attributes.get("region", Region())
    percent = second.end_percent - first.start_percent
    more_bytes = second.end_bytes - first.start_bytes
    return percent >= 0 and more_bytes >= 0 and percent + more_bytes > 0


def _check_room(
    stream: StreamTemplate, given: set[str], where: Span, scope: Scope
) -> None:
    """A region of bytes has room for an I/O of each thread, whatever the target."""
    region, has = stream.attributes.get("region"), stream.attributes
    varied = {slot(field) for field in (*stream.refs, *given)}
    if region is None or varied & {"region", "size", "threads"}:
        return
    sizes = [*has.get("read_sizes", ()), *has.get("write_sizes", ())]
    largest = max((one.size_bytes for one in sizes), default=0)
    threads, room = has.get("threads", 1), region.end_bytes - region.start_bytes
    if region.start_percent == region.end_percent and room < largest * threads:
        each = f" for each of {threads} threads" if threads > 1 else ""
        scope.findings.error(
            f"the region of {size_text(room)} is less than one I/O of "
            f"{size_text(largest)}{each}",
            stream.spans.get("region", where),
            "make it larger, for example region 0%..10%",
        )


def _check_complete(
    stream: StreamTemplate,
    given: set[str],
    template: WorkloadTemplate,
    where: Span,
    scope: Scope,
) -> None:
    if stream.attributes.get("replay", stream) is None:
        return  # its trace has an error, which is told
    name = f"the workload {template.name!r}" if template.name else "the workload"
    missing = _lacks(stream, given)
    for what, example in missing:
        scope.findings.missing(f"{name} has no {what}", where, where, example)
    side = None if missing else _one_sided(stream, given)
    if side:
        scope.findings.error(
            f"{name} has no sizes for its {side}s", where, f"add {side} sizes {{ … }}"
        )


def _lacks(stream: StreamTemplate, given: set[str]) -> list[tuple[str, str]]:
    """What a stream has not been told, of what has no default: what, an example.

    `given` are the fields that axes decide.
    """
    known = {slot(f) for f in (*stream.refs, *given)}
    has = stream.attributes
    missing: list[tuple[str, str]] = []
    if "pattern" not in has and "pattern" not in known:
        missing.append(("pattern", "random or sequential"))
    if "size" not in known and not ("read_sizes" in has or "write_sizes" in has):
        missing.append(("block size", "for example 4KiB"))
    if "mix" not in known and "read_percent" not in has:
        missing.append(("mix", "for example 100/0 to read, 0/100 to write"))
    return missing


def _one_sided(stream: StreamTemplate, given: set[str]) -> str | None:
    """The direction whose sizes lack where only the other's were said."""
    if "size" in {slot(f) for f in (*stream.refs, *given)}:
        return None
    has: dict[str, Any] = stream.attributes
    reads = has.get("read_percent")
    if {"read", "mix"} & {*stream.refs, *given}:
        reads = None
    writes = reads is None or reads < 100 or "trim_percent" in has or "trim" in given
    if "write_sizes" not in has and writes:
        return "write"
    if "read_sizes" not in has and (reads is None or reads > 0):
        return "read"
    return None


def _check_decided_once(
    stream: StreamTemplate, given: set[str], where: Span, scope: Scope
) -> None:
    """A field is not left to a name and varied by itself."""
    slots = {slot(field) for field in given}
    for field, amount in stream.refs.items():
        if slot(field) in slots:
            scope.findings.error(
                f"{amount.name!r} would set {field!r}, which is also varied",
                stream.spans.get(slot(field), where),
                "vary one of them",
            )


def _check_pattern(
    stream: StreamTemplate,
    axes: tuple[Axis, ...],
    given: set[str],
    where: Span,
    scope: Scope,
) -> None:
    """A distribution of random I/O needs random I/O."""
    if _may_be_sequential(stream, axes) and _is_skewed(stream, given):
        span = stream.spans.get("distribution", where)
        scope.findings.error(
            "a distribution of random offsets does not apply to a sequential workload",
            span,
            "make it random, or remove this",
        )


def _may_be_sequential(stream: StreamTemplate, axes: tuple[Axis, ...]) -> bool:
    """Whether it is in some cell: an axis of patterns decides, else the workload."""
    patterns: list[object] = [v.key for v in values_of("pattern", stream.name, axes)]
    return "sequential" in (patterns or [stream.attributes.get("pattern")])


def _is_skewed(stream: StreamTemplate, given: set[str]) -> bool:
    """Whether anything says the distribution of random offsets."""
    said = {slot(word) for word in (*stream.refs, *given)}
    return "distribution" in stream.attributes or "distribution" in said


def _check_permuted(
    stream: StreamTemplate,
    axes: tuple[Axis, ...],
    given: set[str],
    where: Span,
    scope: Scope,
) -> None:
    """Only of evenly spread random I/O of one size can each block come once."""
    if not stream.attributes.get("permuted"):
        return
    has, span = stream.attributes, stream.spans.get("permuted", where)
    if _may_be_sequential(stream, axes):
        scope.findings.error("only random I/O can be permuted", span, "make it random")
    if _is_skewed(stream, given):
        scope.findings.error("permuted I/O is uniform", span, "remove one of them")
    sizes = (*has.get("read_sizes", ()), *has.get("write_sizes", ()))
    if "size" not in given_by(stream.name, axes) and len({*sizes}) > 1:
        scope.findings.error(
            "only I/O of one size can be permuted", span, "write one size"
        )


def _check_retries(stream: StreamTemplate, where: Span, scope: Scope) -> None:
    """Nobody knows what a write that failed has stored."""
    if stream.attributes.get("retries") and stream.attributes.get("verify"):
        scope.findings.error(
            "'retry' is not allowed with 'verify': what a write that failed has stored "
            "is unknown",
            stream.spans.get("retry", where),
            "remove one of them",
        )


def _check_random_share(
    stream: StreamTemplate, axes: tuple[Axis, ...], where: Span, scope: Scope
) -> None:
    """Only drawn offsets have a rest that goes on."""
    said = [stream.spans[name] for name in RANDOM_SHARES if name in stream.spans]
    if not said:
        return
    has, span = stream.attributes, said[0]
    why = ""
    if _may_be_sequential(stream, axes):
        why = "sequential I/O has no random part"
    elif has.get("permuted"):
        why = "permuted I/O visits each block once"
    elif has.get("verify"):
        why = "'verify' redraws offsets that are in flight"
    elif not _any_drawn(stream, given_by(stream.name, axes)):
        why = "none of its I/O would be random; write sequential"
    if why:
        scope.findings.error(
            f"a share of random I/O is not allowed here: {why}",
            span,
            "remove one of them",
        )


RANDOM_SHARES = ("random share", "read random", "write random")


def _any_drawn(stream: StreamTemplate, given: set[str]) -> bool:
    """Whether each mix that the stream may have has some random I/O."""
    has, reads = stream.attributes, stream.attributes.get("read_percent", 50)
    shares = [has.get("read_random", 100)] if reads else []
    shares += [has.get("write_random", 100)] if reads < 100 else []
    if {"read", "mix"} & {*given, *stream.refs}:
        return all(shares)
    return any(shares)


def _check_loop(
    stream: StreamTemplate, given: set[str], where: Span, scope: Scope
) -> None:
    """A rate is an open loop, a pause belongs to a closed one."""
    if {"rate", "pause"} <= {*stream.spans, *given}:
        scope.findings.error(
            "a stream has a rate or a pause, not both",
            stream.spans.get("pause", where),
            "a rate starts I/Os by time, a pause waits for completions",
        )


def _check_repeats(
    stream: StreamTemplate, given: set[str], where: Span, scope: Scope
) -> None:
    """What is the same everywhere, or nowhere, is no share."""
    if "dedup" not in {*stream.spans, *given}:
        return
    data = stream.attributes.get("data")
    why = "'verify' writes a unique stamp into each block"
    if data is not None and data.kind == "zeros":
        why = "zeros are all the same"
    elif not stream.attributes.get("verify"):
        return
    scope.findings.error(
        f"'dedup' is not allowed here: {why}",
        stream.spans.get("dedup", where),
        "remove one of them",
    )


def _check_effect(
    base: StreamTemplate, override: StreamTemplate, given: set[str], scope: Scope
) -> None:
    """Nothing is dropped silently: clauses about writing need something written.

    A workload that says what it writes may well be run read-only.
    """
    stream = overridden_by(base, override)
    reads = stream.attributes.get("read_percent")
    varied = {"read", "trim"} & given or {"read", "mix", "trim"} & set(stream.refs)
    if reads != 100 or varied or stream.attributes.get("trim_percent"):
        return
    for field in WRITES_ONLY:
        said_here = field in override.spans or "mix" not in override.spans
        if field in stream.spans and said_here:
            scope.findings.error(
                f"{field!r} does not apply to a workload that only reads",
                stream.spans[field],
                "remove it, or add writes to the mix",
            )
