"""Checks preconditions: named states, flattened into the steps that lead there."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from ioplan.language.bind.bind import scaled_ns, workload_of
from ioplan.language.checker.modules import Definition, Module, sort_of
from ioplan.language.checker.scope import Scope
from ioplan.language.checker.shaped import check_found_spare, shaped_limits
from ioplan.language.checker.spelled import atoms_of, spelled
from ioplan.language.checker.steady_clause import check_without, until_of
from ioplan.language.checker.streams.hosts import check_unplaced
from ioplan.language.checker.streams.phases import check_untimed
from ioplan.language.checker.streams.replay import is_replayed
from ioplan.language.checker.streams.rules import check_streams
from ioplan.language.checker.streams.stream_builder import overridden_by
from ioplan.language.checker.timing import Timing, amount_of, only, split
from ioplan.language.checker.workloads import workload
from ioplan.language.fields import AutoSpare, percent
from ioplan.language.plan import (
    Precondition,
    PrepareStep,
    PurgeStep,
    RestStep,
    StreamTemplate,
    WorkloadTemplate,
    WriteStep,
)
from ioplan.language.quantity import Quantity
from ioplan.language.syntax import tree
from ioplan.language.syntax.grammar import OF_UNTIL
from ioplan.workload import Workload

MOST_STEPS = 100
WRITE_TIMING = ("passes", "for", "until", *OF_UNTIL)


def precondition(
    word: tree.Word, scope: Scope, time_scale: float
) -> Precondition | None:
    """The precondition of that name, as a test asks for it."""
    return _found(word, in_test(word.text, scope), scope, time_scale)


def in_test(name: str, scope: Scope) -> tuple[Definition, Module] | None:
    """What a precondition's name means in a test: what the profile has in its place."""
    found = scope.module.find(name)
    return scope.parameters.instead.get(id(found[0]), found) if found else None


def _found(
    word: tree.Word,
    found: tuple[Definition, Module] | None,
    scope: Scope,
    time_scale: float,
) -> Precondition | None:
    if found is None or not isinstance(found[0], tree.Precondition):
        _no_precondition(word, scope, found[0] if found else None)
        return None
    return defined(found[0], found[1], scope, time_scale)


def _no_precondition(word: tree.Word, scope: Scope, known: Definition | None) -> None:
    if known:
        scope.findings.error(
            f"{word.text!r} is {sort_of(known)}, not a precondition", word.span
        )
        return
    near = scope.module.suggestion(word.text, tree.Precondition)
    scope.findings.unknown(
        word.text,
        f"there is no precondition {word.text!r}{near}",
        word.span,
        "define it with: precondition NAME { … }",
    )


def defined(
    node: tree.Precondition, module: Module, scope: Scope, time_scale: float
) -> Precondition | None:
    """A precondition from its definition, made once; no axis decides in it."""
    made = scope.parameters.preconditions
    if id(node) not in made:
        made[id(node)] = None  # ends a circle
        made[id(node)] = _defined(node, Scope(module, scope.parameters), time_scale)
    return made[id(node)]


def _defined(
    node: tree.Precondition, inside: Scope, time_scale: float
) -> Precondition | None:
    steps: list[PrepareStep] = []
    for step in node.steps:
        made = _steps(step, node, inside, time_scale)
        if made is None:
            return None
        steps += made
        if len(steps) > MOST_STEPS:
            inside.findings.error(
                f"the precondition has more than {MOST_STEPS} steps", step.span
            )
            return None
    if not steps:
        inside.findings.missing(
            "a precondition needs a step",
            node.name.span,
            node.span,
            "purge, write …, idle … or the name of another precondition",
        )
        return None
    check_found_spare(steps, node, inside)
    return Precondition(name=node.name.text, steps=tuple(steps))


def _steps(
    step: tree.Prepare, node: tree.Precondition, scope: Scope, time_scale: float
) -> list[PrepareStep] | None:
    if isinstance(step, tree.Purge):
        return [PurgeStep()]
    if isinstance(step, tree.Named):
        return _nested(step, node, scope, time_scale)
    if isinstance(step, tree.Idle):
        pause = scope.of_kind(step.pause, "a pause", "time")
        if not isinstance(pause, Quantity):
            return None
        text = f"idle {pause.text}"
        return [RestStep(pause_ns=scaled_ns(pause, time_scale), text=text)]
    written = _write(step, scope, time_scale)
    return [written] if written else None


def _nested(
    step: tree.Named, node: tree.Precondition, scope: Scope, time_scale: float
) -> list[PrepareStep] | None:
    """Another precondition; it stands earlier, so there is no circle."""
    found = scope.module.find(step.name.text)
    if found and found[1] is scope.module and found[0].span.end > node.span.start:
        scope.findings.error(
            f"{step.name.text!r} is defined later, or by itself",
            step.span,
            "define it before it is used",
        )
        return None
    made = _found(step.name, found, scope, time_scale)
    return list(made.steps) if made else None


def _write(step: tree.Write, scope: Scope, time_scale: float) -> WriteStep | None:
    clauses, timing = split(step.spec, scope)
    only(timing, WRITE_TIMING, "a precondition's write", scope)
    before = scope.findings.error_count
    base, added = workload(clauses, step.spec, scope)
    if base is None or scope.findings.error_count > before:
        return None
    made = _written(base, added, step, scope)
    if made is None:
        return None
    is_shaped = any(stream.spare_percent for stream in made.streams)
    limits = (
        shaped_limits(made, timing, step, scope)
        if is_shaped
        else _limits(timing, is_replayed(base, added), step, scope, time_scale)
    )
    if limits is None:
        return None
    streams = (*base.streams, added)
    spares = [one.attributes.get("spare_percent") for one in streams]
    return WriteStep(
        workload=made,
        text=spelled(step.span, atoms_of(step.spec), scope),
        finds_spare=any(isinstance(one, AutoSpare) for one in spares),
        **limits,
    )


def _written(
    base: WorkloadTemplate, added: StreamTemplate, step: tree.Write, scope: Scope
) -> Workload | None:
    """What is written: reads have no place here, so the mix need not be said."""
    streams = tuple(_writing(overridden_by(stream, added)) for stream in base.streams)
    template = WorkloadTemplate(name=base.name, streams=streams)
    errors = scope.findings.error_count
    check_streams(template, StreamTemplate(), (), step.span, scope)
    check_unplaced(streams, step.span, scope)
    check_untimed(streams, step.span, "a write is not a run", scope)
    for stream in streams:
        if stream.attributes["read_percent"] > 0:
            _reads(stream, step, scope)
    if scope.findings.error_count > errors:
        return None
    return workload_of(template, StreamTemplate(), {})


def _writing(stream: StreamTemplate) -> StreamTemplate:
    """A stream that writes, unless it says otherwise."""
    attributes = {"read_percent": 0.0, **stream.attributes}
    return replace(stream, attributes=attributes)


def _reads(stream: StreamTemplate, step: tree.Write, scope: Scope) -> None:
    mix = stream.spans.get("mix", step.span)
    here = mix.source is step.span.source and mix.overlaps(step.span)
    scope.findings.error(
        "a precondition's write does not read",
        mix if here else step.span,
        "remove the mix" if here else "add to it: read 0%",
    )


def _limits(
    timing: Timing, is_once: bool, step: tree.Write, scope: Scope, time_scale: float
) -> dict[str, Any] | None:
    """How much is written, in the words of WriteStep; of a trace, it as a whole."""
    if is_once:
        for one in timing.values():
            scope.findings.error("a trace is written once", one.span, "remove this")
        return None if timing else {"passes": 1.0}
    passes = amount_of(timing, "passes", scope, "passes")
    lasting = amount_of(timing, "for", scope, "time")
    said = [kind for kind in ("passes", "for", "until") if kind in timing]
    if len(said) != 1:
        place = timing[said[1]].span if said else step.span
        scope.findings.error(
            "the length of the write is given twice"
            if said
            else "the write has no length",
            place,
            "2 passes, or: for 1h, or: until steady iops every 1min, at most 4 passes",
        )
        return None
    if "until" in timing:
        return _until(timing, scope, time_scale)
    if not check_without(timing, scope):
        return None
    if isinstance(passes, Quantity):
        return {"passes": float(passes.value)}
    if isinstance(lasting, Quantity):
        return {"run_ns": scaled_ns(lasting, time_scale)}
    return None


def _until(timing: Timing, scope: Scope, time_scale: float) -> dict[str, Any] | None:
    found = until_of(timing, scope, "passes", "time")
    if found is None or not isinstance(found.most, Quantity):
        return None
    most = found.most
    limit: dict[str, object] = (
        {"passes": float(most.value)}
        if most.kind == "passes"
        else {"run_ns": scaled_ns(most, time_scale)}
    )
    every: dict[str, object] = (
        {"every_percent": percent(found.every, "'every'")}
        if found.every.kind == "share"
        else {"every_ns": scaled_ns(found.every, time_scale)}
    )
    return {"rule": found.rule, **every, **limit}
