"""Checks workloads: named or written out, alone or over a base."""

from __future__ import annotations

from msgspec.structs import replace

from ioplan.language.checker.clauses import drafted
from ioplan.language.checker.modules import Definition, Module, sort_of
from ioplan.language.checker.scope import Scope
from ioplan.language.checker.streams.stream_builder import overridden_by
from ioplan.language.checker.timing import split
from ioplan.language.foreign_words import answer
from ioplan.language.plan import StreamTemplate, WorkloadTemplate
from ioplan.language.syntax import tree
from ioplan.language.syntax.source import Span
from ioplan.workload import COUNTED


def workload(
    clauses: list[tree.Clause], spec: tree.Spec, scope: Scope
) -> tuple[WorkloadTemplate | None, StreamTemplate]:
    """The workload that a spec starts from, if any, and what the spec adds."""
    scope.findings.note_damage(spec.span)
    base_clauses = [c for c in clauses if c.kind == "base"]
    base = named(base_clauses[0].words[0], spec.span, scope) if base_clauses else None
    draft = drafted((c for c in clauses if c.kind != "base"), scope)
    if base_clauses and base is None:
        return None, draft
    empty = StreamTemplate()
    return base or WorkloadTemplate(streams=(empty,)), draft


def named(word: tree.Word, before: Span, scope: Scope) -> WorkloadTemplate | None:
    """The workload of that name, which stands earlier or in another file."""
    found = scope.module.find(word.text)
    if found is None or not isinstance(found[0], tree.Workload):
        _no_workload(word, scope, found[0] if found else None)
        return None
    definition, module = found[0], found[1]
    if module is scope.module and definition.span.end > before.start:
        scope.findings.error(
            f"the workload {word.text!r} is defined later, or by itself",
            word.span,
            "define it before it is used",
        )
        return None
    return defined(definition, module, scope.within(module))


def _no_workload(word: tree.Word, scope: Scope, known: Definition | None) -> None:
    if known:
        scope.findings.error(
            f"{word.text!r} is {sort_of(known)}, not a workload", word.span
        )
        return
    here = answer(word.text)
    near = "" if here else scope.module.suggestion(word.text, tree.Workload)
    scope.findings.unknown(
        word.text,
        f"there is no workload {word.text!r}{near}",
        word.span,
        here or "a workload begins with random, sequential or the name of another",
    )


def defined(
    definition: tree.Workload, module: Module, scope: Scope
) -> WorkloadTemplate | None:
    """A workload from its definition; made once, unless a param of it varies."""
    if scope.axis_names.params:
        return _defined(definition, scope)
    made = scope.parameters.workloads
    if id(definition) not in made:
        made[id(definition)] = _defined(definition, Scope(module, scope.parameters))
    return made[id(definition)]


def _defined(definition: tree.Workload, scope: Scope) -> WorkloadTemplate | None:
    name = definition.name.text
    if definition.spec:
        streams = _streams_of(definition.spec, scope)
        return WorkloadTemplate(name=name, streams=streams) if streams else None
    made = [_named_stream(stream, scope) for stream in definition.streams]
    _unique(definition.streams, scope)
    if any(stream is None for stream in made):
        return None
    return WorkloadTemplate(name=name, streams=tuple(s for s in made if s))


def _unique(streams: tuple[tree.Stream, ...], scope: Scope) -> None:
    seen: dict[str, Span] = {}
    for stream in streams:
        if stream.name.text in seen:
            scope.findings.twice(
                f"the stream {stream.name.text!r}",
                stream.name.span,
                seen[stream.name.text],
            )
        if stream.name.text in COUNTED:
            scope.findings.error(
                f"{stream.name.text!r} is a direction, not a name of a stream",
                stream.name.span,
                "call it reader or writer, for example",
            )
        seen.setdefault(stream.name.text, stream.name.span)


def _named_stream(stream: tree.Stream, scope: Scope) -> StreamTemplate | None:
    streams = _streams_of(stream.spec, scope)
    if streams is None:
        return None
    if len(streams) > 1:
        scope.findings.error(
            "a stream cannot start from a workload of several streams",
            stream.spec.span,
        )
        return None
    return replace(streams[0], name=stream.name.text)


def _streams_of(spec: tree.Spec, scope: Scope) -> tuple[StreamTemplate, ...] | None:
    """The streams of a definition: its base's, with what the spec adds."""
    clauses, timing = split(spec, scope)
    for kind, clause in timing.items():
        scope.findings.error(
            f"{kind!r} sets the length of a run, which is not part of a workload",
            clause.span,
            "set it in the run: run NAME for 1min",
        )
    before = scope.findings.error_count
    base, added = workload(clauses, spec, scope)
    if base is None or scope.findings.error_count > before:
        return None
    return tuple(overridden_by(stream, added) for stream in base.streams)
