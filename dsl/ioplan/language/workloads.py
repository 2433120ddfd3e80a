"""Checks workloads: clauses to templates."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ioplan.language import tree
from ioplan.language.fields import (
    FIELDS,
    Attributes,
    data_of,
    io_size,
    percent,
    slot,
)
from ioplan.language.module import Definition, Module, sort_of
from ioplan.language.plan import Amount, Ref, StreamTemplate, WorkloadTemplate
from ioplan.language.quantity import Quantity, QuantityError
from ioplan.language.scope import Scope
from ioplan.language.source import Span
from ioplan.workload import Hotspot, Hotspots, Region, SizeShare

TIMING = ("for", "warmup", "until", "at most", "over", "range", "slope", "passes")
"""Clauses that say how long, not what; the step that they stand in takes them."""

RANDOM_ONLY = ("hotspots", "zipf", "pareto", "normal")
ONE_QUANTITY = ("size", "read", "trim", "qd", "threads", "align", "sync")
HOW_LONG = {
    "time": "for {}",
    "number": "qd {}",
    "passes": ", {}",
    "share": "read {}",
    "iops": "rate {}",
    "bandwidth": "rate {}",
}


NAMED = {
    "mix": "the mix",
    "size": "the size",
    "pattern": "the pattern",
    "distribution": "where random I/O falls",
}
"""Slots that are no keywords; the others are."""


class Draft:
    """A stream in the making: what has been said, and where."""

    def __init__(self) -> None:
        self.attributes: Attributes = {}
        self.refs: dict[str, str] = {}
        self.spans: dict[str, Span] = {}

    def put(self, field: str, attributes: Attributes, span: Span) -> None:
        """Set what a clause decides; an open field of the same slot is closed."""
        self.refs = {f: n for f, n in self.refs.items() if slot(f) != slot(field)}
        self.attributes.update(attributes)
        self.spans[slot(field)] = span

    def refer(self, field: str, name: str, span: Span) -> None:
        """Leave a field to an axis."""
        self.refs = {f: n for f, n in self.refs.items() if slot(f) != slot(field)}
        self.refs[field] = name
        self.spans[slot(field)] = span

    def template(self, name: str = "main") -> StreamTemplate:
        """The finished stream."""
        return StreamTemplate(
            name=name,
            attributes=dict(self.attributes),
            refs=dict(self.refs),
            spans=dict(self.spans),
        )


Timing = dict[str, tree.Clause]


def split(spec: tree.Spec, scope: Scope) -> tuple[list[tree.Clause], Timing]:
    """What a workload is, and how long it goes on; each said once."""
    asked: list[tree.Clause] = []
    timing: Timing = {}
    for clause in spec.clauses:
        kind = _kind(clause, scope)
        if kind not in TIMING:
            asked.append(clause)
        elif kind in timing:
            _twice(scope, repr(kind), clause.span, timing[kind].span)
        else:
            timing[kind] = clause
    return asked, timing


def _kind(clause: tree.Clause, scope: Scope) -> str:
    """`passes` have no keyword: the quantity tells."""
    if clause.kind != "value" or clause.head:
        return clause.kind
    atom = clause.atoms[0]
    if atom.kind == "quantity":
        return "passes" if "pass" in atom.text else "value"
    named_kind = scope.kind_of_name(atom.text) if atom.kind == "name" else None
    return "passes" if named_kind == "passes" else "value"


def _twice(scope: Scope, what: str, span: Span, earlier: Span) -> None:
    line, column = span.source.position(earlier.start)
    scope.findings.error(
        f"{what} is said twice; first in line {line}, column {column}",
        span,
        "keep one of them",
    )


def workload(
    clauses: list[tree.Clause], spec: tree.Spec, scope: Scope
) -> tuple[WorkloadTemplate | None, StreamTemplate]:
    """The workload that a spec starts from, if any, and what the spec adds."""
    base_clauses = [c for c in clauses if c.kind == "base"]
    base = _base(base_clauses[0], spec, scope) if base_clauses else None
    draft = drafted((c for c in clauses if c.kind != "base"), scope)
    if base_clauses and base is None:
        return None, draft
    empty = StreamTemplate()
    return base or WorkloadTemplate(streams=(empty,)), draft


def _base(
    clause: tree.Clause, spec: tree.Spec, scope: Scope
) -> WorkloadTemplate | None:
    return named(clause.words[0], spec.span, scope)


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
    near = scope.module.suggestion(word.text, tree.Workload)
    scope.findings.unknown(
        word.text,
        f"there is no workload {word.text!r}{near}",
        word.span,
        "a workload begins with random, sequential or the name of another",
    )


def defined(
    definition: tree.Workload, module: Module, scope: Scope
) -> WorkloadTemplate | None:
    """A workload from its definition; made once, unless a param of it varies."""
    if scope.open.params:
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
            _twice(
                scope,
                f"the stream {stream.name.text!r}",
                stream.name.span,
                seen[stream.name.text],
            )
        if stream.name.text in ("read", "write", "trim"):
            scope.findings.error(
                f"a stream cannot be called {stream.name.text!r}, a direction is",
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
    return streams[0].model_copy(update={"name": stream.name.text})


def _streams_of(spec: tree.Spec, scope: Scope) -> tuple[StreamTemplate, ...] | None:
    """The streams of a definition: its base's, with what the spec adds."""
    clauses, timing = split(spec, scope)
    for kind, clause in timing.items():
        scope.findings.error(
            f"{kind!r} says how long, which is not the workload's business",
            clause.span,
            "say it where the workload runs: run NAME for 1min",
        )
    before = scope.findings.noted
    base, added = workload(clauses, spec, scope)
    if base is None or scope.findings.noted > before:
        return None
    return tuple(merged(stream, added) for stream in base.streams)


def merged(base: StreamTemplate, added: StreamTemplate) -> StreamTemplate:
    """A stream with what is added to it; the addition wins."""
    said = {slot(field) for field in added.refs} | set(added.spans)
    refs = {f: n for f, n in base.refs.items() if slot(f) not in said}
    return StreamTemplate(
        name=base.name,
        attributes={**base.attributes, **added.attributes},
        refs={**refs, **added.refs},
        spans={**base.spans, **added.spans},
    )


def drafted(clauses: Iterable[tree.Clause], scope: Scope) -> StreamTemplate:
    """What clauses say, each thing once."""
    draft = Draft()
    for clause in clauses:
        name = _slot_of(clause, scope)
        if name in draft.spans:
            _twice(scope, NAMED.get(name, repr(name)), clause.span, draft.spans[name])
            continue
        draft.spans[name] = clause.span
        CLAUSES[clause.kind](clause, scope, draft)
    _check_together(draft, scope)
    return draft.template()


def _slot_of(clause: tree.Clause, scope: Scope) -> str:
    if clause.kind != "value":
        return slot(clause.kind)
    atom = clause.atoms[0]
    if atom.kind == "mix":
        return "mix"
    kind = scope.kind_of_name(atom.text)
    if atom.kind != "name":
        with scope.findings.unsaid():
            value = scope.parameters.parsed(atom.text, atom.span)
        kind = value.kind if value else None
    return kind if kind in ("mix", "size") else f"value {atom.text}"


def _check_together(draft: Draft, scope: Scope) -> None:
    both = [k for k in ("read sizes", "write sizes") if k in draft.spans]
    if both and "size" in draft.spans:
        _twice(scope, "the size", draft.spans[both[0]], draft.spans["size"])


def _pattern(clause: tree.Clause, scope: Scope, draft: Draft) -> None:
    draft.put("pattern", {"pattern": clause.words[0].text}, clause.span)


def _value(clause: tree.Clause, scope: Scope, draft: Draft) -> None:
    """A size or a mix, which need no keyword."""
    amount = scope.amount(clause.atoms[0])
    if amount is None:
        return
    kind = scope.kind_of(amount)
    if kind is None:
        return
    if kind in ("size", "mix"):
        _apply(kind, amount, clause, scope, draft)
        return
    text = amount.text if isinstance(amount, Quantity) else amount.name
    help = HOW_LONG[kind].format(text)
    if kind == "passes":
        scope.findings.error(
            f"{text} needs a comma before it",
            clause.span,
            f"for example run random 4KiB 100/0, {text}",
        )
    elif kind == "number":
        scope.findings.error(
            f"{text} has no unit",
            clause.span,
            f"a size is written {text}KiB or {text}B; a queue depth qd {text}",
        )
    else:
        scope.findings.error(
            f"{text} needs a word before it", clause.span, f"did you mean {help}?"
        )


def _apply(
    field: str, amount: Amount, clause: tree.Clause, scope: Scope, draft: Draft
) -> None:
    """Set a field that one quantity decides, now or by an axis."""
    span = clause.span
    made = scope.judged(amount, clause.atoms[0], FIELDS[field])
    if isinstance(amount, Ref):
        draft.refer(field, amount.name, span)
    elif made is not None:
        draft.put(field, made, span)


def _one(field: str) -> Callable[[tree.Clause, Scope, Draft], None]:
    """A clause that is a keyword and a quantity."""

    def apply(clause: tree.Clause, scope: Scope, draft: Draft) -> None:
        amount = scope.amount(clause.atoms[0])
        if amount is not None:
            _apply(field, amount, clause, scope, draft)

    return apply


def _qd(clause: tree.Clause, scope: Scope, draft: Draft) -> None:
    """Whose depth it is goes with the number: an override says both anew."""
    _one("qd")(clause, scope, draft)
    draft.attributes["qd_scope"] = clause.words[0].text if clause.words else None


def _rate(clause: tree.Clause, scope: Scope, draft: Draft) -> None:
    """How I/Os arrive goes with the rate: an override says both anew."""
    _one("rate")(clause, scope, draft)
    draft.attributes["arrivals"] = "poisson" if clause.words else "fixed"


def _align(clause: tree.Clause, scope: Scope, draft: Draft) -> None:
    if clause.atoms[0].text == "size":
        draft.put("align", {"align_bytes": None}, clause.span)
    else:
        _one("align")(clause, scope, draft)


def _sizes(clause: tree.Clause, scope: Scope, draft: Draft) -> None:
    shares = [_share(pair, scope) for pair in clause.pairs]
    if any(share is None for share in shares):
        return
    sizes = tuple(share for share in shares if share)
    _adds_up((s.percent for s in sizes), "the shares", clause.span, scope)
    distinct = {share.size_bytes for share in sizes}
    if len(distinct) < len(sizes):
        scope.findings.error("a size stands twice", clause.span, "add its shares up")
    names = {
        "sizes": ("read_sizes", "write_sizes"),
        "read sizes": ("read_sizes",),
        "write sizes": ("write_sizes",),
    }
    draft.put(clause.kind, dict.fromkeys(names[clause.kind], sizes), clause.span)


def _share(pair: tuple[tree.Atom, tree.Atom], scope: Scope) -> SizeShare | None:
    size_atom, share_atom = pair
    size = scope.quantity(size_atom, "a size of a distribution")
    share = scope.quantity(share_atom, "a share of a distribution")
    if size is None or share is None:
        return None
    guarded = scope.parameters.guarded
    size_bytes = guarded(size_atom.span, lambda: io_size(size))
    shared = guarded(share_atom.span, lambda: _positive(share))
    if size_bytes is None or shared is None:
        return None
    return SizeShare(size_bytes=size_bytes, percent=shared)


def _positive(share: Quantity) -> float:
    value = percent(share, "a share")
    if value <= 0:
        raise QuantityError("a share is more than 0 %", "leave the entry out")
    return value


def _adds_up(shares: Iterable[float], what: str, span: Span, scope: Scope) -> None:
    total = round(sum(shares), 6)
    if total != 100:
        scope.findings.error(f"{what} add up to {total:g} %, not 100 %", span)


def _region(clause: tree.Clause, scope: Scope, draft: Draft) -> None:
    made = region_of(clause.atoms[0], clause.atoms[1], clause.span, scope)
    if made:
        draft.put("region", made, clause.span)


def region_of(
    first: tree.Atom, last: tree.Atom, span: Span, scope: Scope
) -> Attributes | None:
    """A part of the target from its two edges."""
    edges = [_edge(atom, scope) for atom in (first, last)]
    start, end = edges
    if start is None or end is None:
        return None
    if start >= end:
        scope.findings.error("the region is empty", span, "for example region 0%..50%")
        return None
    return {"region": Region(start_percent=start, end_percent=end)}


def _edge(atom: tree.Atom, scope: Scope) -> float | None:
    edge = scope.quantity(atom, "a region's edge")
    if edge is None:
        return None
    return scope.parameters.guarded(atom.span, lambda: percent(edge, "a region's edge"))


def _data(clause: tree.Clause, scope: Scope, draft: Draft) -> None:
    made = data_from(clause.words[0].text, clause.atoms, scope)
    if made:
        draft.put("data", made, clause.span)


def data_from(
    kind: str, atoms: tuple[tree.Atom, ...], scope: Scope
) -> Attributes | None:
    """What is written, from its word and perhaps its share."""
    if not atoms:
        return data_of(kind)
    share = scope.quantity(atoms[0], "the share that compresses")
    if share is None:
        return None
    made = scope.parameters.guarded(
        atoms[0].span, lambda: percent(share, "the share that compresses")
    )
    return None if made is None else data_of(kind, made)


def _verify(clause: tree.Clause, scope: Scope, draft: Draft) -> None:
    draft.put("verify", {"verify": True}, clause.span)


def _hotspots(clause: tree.Clause, scope: Scope, draft: Draft) -> None:
    spots = [_spot(pair, scope) for pair in clause.pairs]
    if any(spot is None for spot in spots):
        return
    made = tuple(spot for spot in spots if spot)
    _adds_up((s.io_percent for s in made), "the shares of I/O", clause.span, scope)
    _adds_up((s.space_percent for s in made), "the shares of space", clause.span, scope)
    draft.put("hotspots", {"distribution": Hotspots(spots=made)}, clause.span)


def _spot(pair: tuple[tree.Atom, tree.Atom], scope: Scope) -> Hotspot | None:
    shares = [scope.quantity(atom, "a share of a hotspot") for atom in pair]
    made = [
        scope.judged(share, atom, _positive) if share else None
        for share, atom in zip(shares, pair, strict=True)
    ]
    io_share, space_share = made
    if io_share is None or space_share is None:
        return None
    return Hotspot(io_percent=io_share, space_percent=space_share)


CLAUSES: dict[str, Callable[[tree.Clause, Scope, Draft], None]] = {
    **{field: _one(field) for field in (*ONE_QUANTITY, "zipf", "pareto", "normal")},
    "pattern": _pattern,
    "value": _value,
    "qd": _qd,
    "rate": _rate,
    "align": _align,
    "sizes": _sizes,
    "read sizes": _sizes,
    "write sizes": _sizes,
    "region": _region,
    "data": _data,
    "verify": _verify,
    "hotspots": _hotspots,
}


def lacks(stream: StreamTemplate, given: set[str]) -> list[tuple[str, str]]:
    """What a stream has not been told, of what has no default: what, an example.

    `given` are the fields that axes decide.
    """
    known = {slot(f) for f in (*stream.refs, *given)}
    has = stream.attributes
    missing: list[tuple[str, str]] = []
    if "pattern" not in has and "pattern" not in known:
        missing.append(("a pattern", "random or sequential"))
    if "size" not in known and not ("read_sizes" in has or "write_sizes" in has):
        missing.append(("a block size", "for example 4KiB"))
    if "mix" not in known and "read_percent" not in has:
        missing.append(("a mix", "for example 100/0 to read, 0/100 to write"))
    return missing


def one_sided(stream: StreamTemplate, given: set[str]) -> str | None:
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
