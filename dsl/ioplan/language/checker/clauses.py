"""Checks the clauses of a workload: what each sets in the draft of a stream."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import groupby

from msgspec.structs import replace

from ioplan.language.checker.clause_values import (
    data_from,
    gamma_from,
    phases_from,
    ramp_from,
    region_of,
)
from ioplan.language.checker.scope import Scope
from ioplan.language.checker.streams.distributions import hotspots, sizes
from ioplan.language.checker.streams.replay import (
    after,
    as_reads,
    fast,
    footprint,
    only,
    part,
    replay,
)
from ioplan.language.checker.streams.stream_builder import StreamBuilder
from ioplan.language.clause_table import BY_WORD, CONVERTED, SIMPLE_WORDS, slot
from ioplan.language.fields import AUTO_SPARE, MOST_SYNC, count
from ioplan.language.plan import Amount, StreamTemplate
from ioplan.language.quantity import Kind, Quantity
from ioplan.language.syntax import tree
from ioplan.language.syntax.source import Span

Apply = Callable[[tree.Clause, Scope, StreamBuilder], None]

KEYWORDS = {"time": "for", "share": "read", "iops": "rate", "bandwidth": "rate"}
"""What a quantity without its keyword most likely meant."""
NAMED = {
    "mix": "the mix",
    "size": "the size",
    "pattern": "the pattern",
    "random share": "the share of random I/O",
    "distribution": "the distribution of random offsets",
}
"""Slots that are no keywords; the others are."""
FIXED = "fixed", 1.0
"""How I/Os arrive where nothing is said of it."""
KEEP = "keep one of them"
TWICE = {"size": f"{KEEP}; how much a run moves is its length: for 10GiB"}
"""What to do where a slot is given twice."""


def drafted(clauses: Iterable[tree.Clause], scope: Scope) -> StreamTemplate:
    """What clauses say, each thing once."""
    draft = StreamBuilder()
    for clause in _single(clauses, scope):
        name = _slot_of(clause, scope)
        if name in draft.spans:
            said = NAMED.get(name, repr(name)), clause.span, draft.spans[name]
            scope.findings.twice(*said, TWICE.get(name, KEEP))
            continue
        draft.spans[name] = clause.span
        CLAUSES[clause.kind](clause, scope, draft)
    _check_together(draft, scope)
    return draft.template()


def _single(clauses: Iterable[tree.Clause], scope: Scope) -> list[tree.Clause]:
    """Without the `2, 4` of `qd 1, 2, 4`, which is an axis; said once."""
    kept: list[tree.Clause] = []
    for bare, group in groupby(clauses, _is_bare_number):
        found = list(group)
        if bare and kept and _is_count(kept[-1]):
            _listed(kept[-1], found, scope)
        else:
            kept += found
    return kept


def _is_count(clause: tree.Clause) -> bool:
    entry = BY_WORD.get(clause.kind)
    return entry is not None and entry.is_count


def _is_bare_number(clause: tree.Clause) -> bool:
    return clause.kind == "value" and clause.atoms[0].text.isdecimal()


def _listed(first: tree.Clause, rest: list[tree.Clause], scope: Scope) -> None:
    values = ", ".join(c.atoms[0].text for c in (first, *rest))
    scope.findings.error(
        f"{first.kind!r} takes one number",
        replace(rest[0].span, end=rest[-1].span.end),
        f"to vary it: vary {first.kind} in {values}",
    )


def _slot_of(clause: tree.Clause, scope: Scope) -> str:
    if clause.kind != "value":
        return slot(clause.kind)
    atom = clause.atoms[0]
    if atom.kind == "mix":
        return "mix"
    kind = scope.kind_of_atom(atom)
    if kind == "share" and clause.head:
        return "random share"
    return kind if kind in ("mix", "size") else f"value {atom.text}"


def _check_together(draft: StreamBuilder, scope: Scope) -> None:
    both = [k for k in ("read sizes", "write sizes") if k in draft.spans]
    if both and "size" in draft.spans:
        scope.findings.twice("the size", draft.spans[both[0]], draft.spans["size"])
    drawn = [k for k in ("read random", "write random") if k in draft.spans]
    if drawn and "random share" in draft.spans:
        places = draft.spans[drawn[0]], draft.spans["random share"]
        scope.findings.twice("the share of random I/O", *places)


def _pattern(clause: tree.Clause, scope: Scope, draft: StreamBuilder) -> None:
    draft.put("pattern", {"pattern": clause.words[0].text}, clause.span)


def _value(clause: tree.Clause, scope: Scope, draft: StreamBuilder) -> None:
    """A size or a mix, which need no keyword."""
    amount = scope.amount(clause.atoms[0])
    if amount is None:
        return
    kind = scope.kind_of(amount)
    if kind is None:
        return
    if kind in ("size", "mix"):
        _apply(kind, amount, clause, scope, draft)
    elif kind == "share" and clause.head:
        _apply("random share", amount, clause, scope, draft)
    else:
        _no_keyword(amount, kind, clause, scope)


def _no_keyword(amount: Amount, kind: Kind, clause: tree.Clause, scope: Scope) -> None:
    text = amount.text if isinstance(amount, Quantity) else amount.name
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
            f"{text} needs a word before it",
            clause.span,
            f"did you mean {KEYWORDS[kind]} {text}?",
        )


def _apply(
    field: str, amount: Amount, clause: tree.Clause, scope: Scope, draft: StreamBuilder
) -> None:
    """Set a field that one quantity decides, now or by an axis."""
    span = clause.span
    made = scope.judged(amount, clause.atoms[0], CONVERTED[field])
    if not isinstance(amount, Quantity):
        draft.refer(field, amount, span)
    elif made is not None:
        draft.put(field, made, span)


def _one(field: str) -> Apply:
    """A clause that is a keyword and a quantity."""

    def apply(clause: tree.Clause, scope: Scope, draft: StreamBuilder) -> None:
        amount = scope.amount(clause.atoms[0])
        if amount is not None:
            _apply(field, amount, clause, scope, draft)

    return apply


def _qd(clause: tree.Clause, scope: Scope, draft: StreamBuilder) -> None:
    """Whose depth it is goes with the number: an override gives both again."""
    _one("qd")(clause, scope, draft)
    words = {word.text for word in clause.words}
    draft.attributes["qd_scope"] = next(iter(words - {"over all"}), None)
    draft.attributes["qd_over_all"] = "over all" in words


def _shaped(clause: tree.Clause, scope: Scope, draft: StreamBuilder) -> None:
    if clause.atoms[0].text == "auto":
        draft.put("shaped", {"spare_percent": AUTO_SPARE}, clause.span)
    else:
        _one("shaped")(clause, scope, draft)


def _rate(clause: tree.Clause, scope: Scope, draft: StreamBuilder) -> None:
    """Whose rate it is and how I/Os arrive go with it: an override gives both again."""
    _one("rate")(clause, scope, draft)
    _arrive(clause, scope, draft)


def _burst(clause: tree.Clause, scope: Scope, draft: StreamBuilder) -> None:
    if made := phases_from(clause, scope):
        draft.put("burst", made, clause.span)
    _arrive(clause, scope, draft)


def _ramp(clause: tree.Clause, scope: Scope, draft: StreamBuilder) -> None:
    if made := ramp_from(clause, scope):
        draft.put("ramp", made, clause.span)
    _arrive(clause, scope, draft)


def _arrive(clause: tree.Clause, scope: Scope, draft: StreamBuilder) -> None:
    words = {word.text for word in clause.words}
    draft.attributes["rate_scope"] = next(iter(words & {"each", "total"}), None)
    draft.attributes["rate_over_all"] = "over all" in words
    draft.attributes["arrivals"] = ("poisson", 1.0) if "poisson" in words else FIXED
    if "gamma" in words:
        draft.attributes["arrivals"] = gamma_from(clause.atoms[-1], scope) or FIXED


def _pause(clause: tree.Clause, scope: Scope, draft: StreamBuilder) -> None:
    """After how many I/Os goes with the pause: an override says both again."""
    first, *every = clause.atoms
    amount = scope.amount(first)
    if amount is not None:
        _apply("pause", amount, clause, scope, draft)
    found = _every(every[0], scope) if every else 1
    draft.attributes["pause_every"] = found or 1


def _every(atom: tree.Atom, scope: Scope) -> int | None:
    said = scope.quantity(atom, "'every'")
    if said is None:
        return None
    return scope.parameters.guarded(
        atom.span, lambda: count(said, "'every'", MOST_SYNC)
    )


def _when(field: str) -> Apply:
    """A stream's start or end, which no axis decides."""

    def apply(clause: tree.Clause, scope: Scope, draft: StreamBuilder) -> None:
        found = scope.quantity(clause.atoms[0], f"when a stream {field}")
        made = found and scope.judged(found, clause.atoms[0], CONVERTED[field])
        if made:
            draft.put(field, made, clause.span)

    return apply


def _align(clause: tree.Clause, scope: Scope, draft: StreamBuilder) -> None:
    if clause.atoms[0].text == "size":
        draft.put("align", {"align_bytes": None}, clause.span)
    else:
        _one("align")(clause, scope, draft)


def _region(clause: tree.Clause, scope: Scope, draft: StreamBuilder) -> None:
    first, last = clause.atoms
    made = region_of(first, last, clause.span, scope, is_length=bool(clause.words))
    if made:
        draft.put("region", made, clause.span)


def _data(clause: tree.Clause, scope: Scope, draft: StreamBuilder) -> None:
    made = data_from(clause.words[0].text, clause.atoms, scope)
    if made:
        draft.put("data", made, clause.span)


def _verify(clause: tree.Clause, scope: Scope, draft: StreamBuilder) -> None:
    draft.put("verify", {"verify": True}, clause.span)


def _fua(clause: tree.Clause, scope: Scope, draft: StreamBuilder) -> None:
    draft.put("fua", {"fua": True}, clause.span)


def _follows(clause: tree.Clause, scope: Scope, draft: StreamBuilder) -> None:
    draft.put("follows", {"follows": clause.words[0].text}, clause.span)


def _errors(clause: tree.Clause, scope: Scope, draft: StreamBuilder) -> None:
    """How many may fail; without a number, all but one."""
    both = {"errors_allowed": None, "errors_allowed_percent": None}
    draft.put("errors", both | {"errors_allowed_percent": 100.0}, clause.span)
    if not clause.atoms:
        return
    found = scope.quantity(clause.atoms[0], "'errors allowed up to'")
    made = found and scope.judged(found, clause.atoms[0], CONVERTED["errors"])
    if made:
        draft.put("errors", both | made, clause.span)


def _offsets(clause: tree.Clause, scope: Scope, draft: StreamBuilder) -> None:
    draft.put("offsets", {"offsets": clause.words[0].text}, clause.span)


def _permuted(clause: tree.Clause, scope: Scope, draft: StreamBuilder) -> None:
    draft.put("permuted", {"permuted": True}, clause.span)


def _named(clause: tree.Clause, scope: Scope, draft: StreamBuilder) -> None:
    """Hosts, targets. Which they are is the lab's to say; here each is named once."""
    seen: dict[str, Span] = {}
    for word in clause.words:
        if word.text in seen:
            one = f"the {clause.kind.removesuffix('s')} {word.text!r}"
            scope.findings.twice(one, word.span, seen[word.text])
        seen.setdefault(word.text, word.span)
    draft.put(clause.kind, {clause.kind: tuple(seen)}, clause.span)


def _quoted(clause: tree.Clause, scope: Scope, draft: StreamBuilder) -> None:
    scope.findings.error(
        f"{clause.span.text} has no meaning here",
        clause.span,
        'only names of hosts and targets are quoted: on hosts h1, "rack-2"',
    )


CLAUSES: dict[str, Apply] = {
    **{word: _one(word) for word in SIMPLE_WORDS},
    "pattern": _pattern,
    "replay": replay,
    "value": _value,
    "read random": _one("read random"),
    "write random": _one("write random"),
    "qd": _qd,
    "rate": _rate,
    "burst": _burst,
    "ramp": _ramp,
    "pause": _pause,
    "starts": _when("starts"),
    "ends": _when("ends"),
    "sync": _one("sync"),
    "flush": _one("flush"),
    "align": _align,
    "sizes": sizes,
    "read sizes": sizes,
    "write sizes": sizes,
    "region": _region,
    "data": _data,
    "fua": _fua,
    "follows": _follows,
    "verify": _verify,
    "errors": _errors,
    "retry": _when("retry"),
    "hang": _when("hang"),
    "offsets": _offsets,
    "footprint of": footprint,
    "part": part,
    "as fast as possible": fast,
    "after completion": after,
    "only": only,
    "writes as reads": as_reads,
    "permuted": _permuted,
    "shaped": _shaped,
    "hotspots": hotspots,
    "hosts": _named,
    "targets": _named,
    "quoted": _quoted,
}
