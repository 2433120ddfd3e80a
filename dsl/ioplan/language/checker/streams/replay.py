"""Checks replays: which trace is meant, and what cannot be said beside it."""

from __future__ import annotations

from ioplan.language.checker.scope import Scope
from ioplan.language.checker.streams.stream_builder import StreamBuilder
from ioplan.language.fields import Attributes, of_kind
from ioplan.language.plan import StreamTemplate, WorkloadTemplate
from ioplan.language.replayed import PART, TRACE, facts_meant, with_trace
from ioplan.language.syntax import tree
from ioplan.language.syntax.source import Span
from ioplan.trace.facts import TraceError
from ioplan.trace.known import KnownTrace

OUTSTANDING = 256
"""How many I/Os of a trace may be outstanding where the plan does not say it."""
COVERING = 32
"""How many writes of a footprint may be."""
PACES = ("as fast as possible", "after completion")
CHOICES = ("offsets", "only", "writes as reads", "part", *PACES)
"""What is said of a replay, and of nothing else."""
BESIDE = frozenset(
    (
        *("pattern", "speed", "qd", "data", "dedup", "fua", "errors", "retry", "hang"),
        *("region", "starts", "ends", *CHOICES),
    )
)
"""What a trace leaves open."""


def replay(clause: tree.Clause, scope: Scope, draft: StreamBuilder) -> None:
    """All that the trace of that name says."""
    word = clause.words[0]
    draft.attributes["replay"] = None  # meant to be one, whatever is wrong with it
    known = _named(word, scope)
    if known is None:  # or its file has an error, which is told
        return
    if not known.facts.moving.ios:
        scope.findings.error("the trace has flushes only", word.span)
        return
    draft.attributes.setdefault("qd", OUTSTANDING)
    draft.put("pattern", with_trace({TRACE: known}), clause.span)


def _named(word: tree.Word, scope: Scope) -> KnownTrace | None:
    found = scope.module.find(word.text)
    if found is not None and isinstance(found[0], tree.Trace):
        return found[1].traces.get(found[0].name.text)
    near = scope.module.suggestion(word.text, tree.Trace)
    scope.findings.unknown(
        word.text,
        f"there is no trace {word.text!r}{near}",
        word.span,
        f'define it before: trace {word.text} = "web.iotrace"',
    )
    return None


def footprint(clause: tree.Clause, scope: Scope, draft: StreamBuilder) -> None:
    """What the trace touches is written, each place once, in the order of places."""
    word = clause.words[0]
    draft.attributes["replay"] = None
    known = _named(word, scope)
    if known is None:
        return
    try:
        covering = known.footprint()
    except (TraceError, OSError) as error:
        scope.findings.error(str(error), word.span)
        return
    draft.attributes.setdefault("qd", COVERING)
    said = {**with_trace({TRACE: covering}), "pace": "fast"}
    draft.put("pattern", said, clause.span)


def part(clause: tree.Clause, scope: Scope, draft: StreamBuilder) -> None:
    """From when to when of the trace."""
    what = "an end of a part of a trace"
    times: list[int] = []
    for atom in clause.atoms:
        found = scope.quantity(atom, what)
        time = found and scope.judged(
            found, atom, lambda one: of_kind(one, what, "time")
        )
        times += [round(time.value)] if time else []
    draft.spans["part"] = clause.span
    if len(times) < len(clause.atoms):
        return
    if times[0] >= times[1]:
        scope.findings.error(
            "a part of a trace ends after it begins",
            clause.atoms[1].span,
            "for example 10min..20min",
        )
        return
    draft.put("part", {PART: tuple(times)}, clause.span)


def fast(clause: tree.Clause, scope: Scope, draft: StreamBuilder) -> None:
    """Without the recorded times."""
    draft.put("as fast as possible", {"pace": "fast"}, clause.span)


def after(clause: tree.Clause, scope: Scope, draft: StreamBuilder) -> None:
    """Each after those that it may have waited for."""
    draft.put("after completion", {"pace": "after"}, clause.span)


def only(clause: tree.Clause, scope: Scope, draft: StreamBuilder) -> None:
    """One kind of its I/Os."""
    draft.put("only", {"only": clause.words[0].text}, clause.span)


def as_reads(clause: tree.Clause, scope: Scope, draft: StreamBuilder) -> None:
    """Nothing is written."""
    draft.put("writes as reads", {"writes_as_reads": True}, clause.span)


def check_replay(
    stream: StreamTemplate, given: set[str], where: Span, scope: Scope
) -> None:
    """A trace says itself what other clauses would, and only a trace has a speed."""
    if "replay" not in stream.attributes:
        for field in ("speed", *CHOICES):
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
                HELP.get(field, "remove it: the trace says it"),
            )
    _check_pace(stream.attributes, said, scope)
    _check_choice(stream.attributes, said, scope)


HELP = {
    "hosts": "a job to several hosts has no traces; run the plan with --target for "
    "each of them, which takes a trace that is copied there (docs/traces.md)"
}
NAMED = {"hosts": "'on hosts'", "size": "a block size", "mix": "a mix", "read": "a mix"}


def _check_pace(has: Attributes, said: dict[str, Span], scope: Scope) -> None:
    known: KnownTrace | None = has.get(TRACE)
    if known and known.covers and "offsets" in said:
        scope.findings.error(
            "a footprint is written where the trace was recorded",
            said["offsets"],
            "remove it: wrapped or scaled, it would be elsewhere than what is read",
        )
    if all(pace in said for pace in PACES):
        scope.findings.error(
            "a replay has one pace",
            said[PACES[1]],
            f"remove {PACES[0]!r} or {PACES[1]!r}",
        )
    elif has.get("pace") == "after" and known and not known.facts.answered:
        scope.findings.error(
            "the trace does not say when its I/Os were complete",
            said["after completion"],
            "remove it, or convert a trace that does: docs/traces.md lists which do",
        )
    if has.get("pace") == "fast" and "speed" in said:
        scope.findings.error(
            "what is replayed as fast as possible has no speed",
            said["speed"],
            "remove one of them",
        )


def _check_choice(has: Attributes, said: dict[str, Span], scope: Scope) -> None:
    """Something is chosen, and something is left."""
    try:
        facts, only = facts_meant(has), has.get("only", "all")
    except (TraceError, OSError) as error:
        scope.findings.error(str(error), said["part"])
        return
    if facts is None:
        return
    for field, kind in (("only", only), ("writes as reads", "writes")):
        if field in said and kind != "all" and not getattr(facts, kind).ios:
            scope.findings.error(f"the trace has no {kind}", said[field], "remove it")
            return
    if only == "reads" and "writes as reads" in said:
        scope.findings.error(
            "the writes are left out by 'only reads'",
            said["writes as reads"],
            "remove one of them",
        )


def is_replayed(base: WorkloadTemplate, override: StreamTemplate) -> bool:
    """Whether all of the workload is, so that its length is that of the trace."""
    said = "replay" in override.attributes
    return said or all("replay" in stream.attributes for stream in base.streams)
