"""A syntax tree in its canonical words.

A statement is a list of pieces: those between which a line may be broken.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from ioplan.language.syntax import tree
from ioplan.language.syntax.grammar import CLAUSE_WORDS, PATTERNS
from ioplan.language.syntax.source import without_comments

APART = ("iops", "pass", "passes")
"""Units that are words of their own stand apart from their number."""

BARE = re.compile(r"[A-Za-z_]\w*(\.\w+)*")
"""A host's name that needs no quotes."""


def item(node: tree.Item) -> list[str]:
    """An item, or the opening line of its block."""
    if isinstance(node, tree.Plan):
        return [f"plan {node.title.span.text}"]
    if isinstance(node, tree.Use):
        alias = f" as {node.alias.text}" if node.alias else ""
        return [f"use {node.path.span.text}{alias}"]
    if isinstance(node, tree.Trace):
        return [f"trace {node.name.text} = {node.path.span.text}"]
    if isinstance(node, tree.Param):
        return [f"param {node.name.text} = {atom(node.value)}"]
    if isinstance(node, tree.Profile):
        return [f"profile {node.name.text} {{"]
    if isinstance(node, tree.OnFailure):
        return [f"on failure {node.what.text}"]
    if isinstance(node, tree.Accept):
        return [f"accept {node.what.span.text}"]
    if isinstance(node, tree.OnUnsteady):
        return [f"on unsteady {node.what.text}"]
    if isinstance(node, tree.OnNothingFound):
        return [f"on nothing found {node.what.text}"]
    if isinstance(node, tree.Precondition):
        return [f"precondition {node.name.text} {{"]
    if isinstance(node, tree.Test):
        return [f"test {node.title.span.text} {{"]
    if node.spec is None:
        return [f"workload {node.name.text} {{"]
    return behind(f"workload {node.name.text} =", spec(node.spec))


def setting(node: tree.Setting) -> list[str]:
    """`run_time = 1s` in a profile."""
    return [f"{node.name.text} = {atom(node.value)}"]


def stream(node: tree.Stream) -> list[str]:
    """`reader = random 4KiB 100/0`."""
    return behind(f"{node.name.text} =", spec(node.spec))


def prepare(node: tree.Prepare) -> list[str]:
    """A step of a precondition."""
    if isinstance(node, tree.Purge):
        return ["purge"]
    if isinstance(node, tree.Named):
        return [node.name.text]
    if isinstance(node, tree.Idle):
        return [f"idle {atom(node.pause)}"]
    return behind("write", spec(node.spec))


def statement(node: tree.Statement, width: int) -> list[str]:
    """A statement, its keyword padded to `width` columns."""
    if isinstance(node, tree.Repeat):
        return [f"{'repeat'.ljust(width)} {atom(node.times)} {{"]
    keyword = type(node).__name__.lower()
    return behind(keyword.ljust(width), _rest(node))


def _rest(node: tree.Statement) -> list[str]:
    """A statement without its keyword."""
    match node:
        case tree.After():
            then = f" then {node.then.text}" if node.then else ""
            each = f" before each {node.before_each.text}" if node.before_each else ""
            return [f"{node.name.text}{then}{each}"]
        case tree.Run():
            pieces = spec(node.spec)
            name = f" as {node.name.text}" if node.name else ""
            return [*pieces[:-1], f"{pieces[-1]}{name}"]
        case tree.Idle():
            return [atom(node.pause)]
        case tree.Vary():
            return behind(f"{_axes(node)} in", commas(map(element, node.elements)))
        case tree.Skip():
            return when(node.condition)
        case tree.Rounds():
            return listed([clause(c) for c in node.clauses])
        case tree.Seek():
            return _seek(node)
        case tree.Expect():
            return _expect(node)
        case tree.Headline():
            at = behind("at", condition(node.condition)) if node.condition else []
            return [node.metric.text, *at]
        case tree.Chart():
            return _chart(node)
    raise AssertionError("a repeat has a block")


def _axes(node: tree.Vary) -> str:
    names = ", ".join(name.text for name in node.names)
    return names if len(node.names) == 1 else f"({names})"


def _seek(node: tree.Seek) -> list[str]:
    pieces = behind(
        f"{node.goal.text} {node.name.text} in", commas(map(element, node.elements))
    )
    if node.share:
        pieces[-1] += f" of {atom(node.share)}"
    if node.where:
        pieces += behind("where", condition(node.where))
    return listed([pieces, *map(_seek_option, node.options)])


def _seek_option(node: tree.Clause) -> list[str]:
    runs = " runs" if node.kind == "at most" else ""
    return [f"{node.kind} {atom(node.atoms[0])}{runs}"]


def _expect(node: tree.Expect) -> list[str]:
    of = f" of {node.of.text}" if node.of else ""
    metric, later = _metric(node.metric)
    limit = f"{atom(node.limit)}{of}{later}"
    first = f"{metric} {node.operator.text} {limit}"
    return [first, *when(node.condition)]


def _metric(word: tree.Word) -> tuple[str, str]:
    """A metric, and its phase apart where that stands behind the limit."""
    name, during, phase = word.text.partition(" during ")
    if during and "during" not in word.span.text:
        return name, f"{during}{phase}"
    return word.text, ""


def _chart(node: tree.Chart) -> list[str]:
    metrics = commas(word.text for word in node.metrics)
    pieces = behind(node.kind.text, metrics)
    if node.by:
        pieces += behind(node.preposition, commas(word.text for word in node.by))
    if node.per:
        pieces += behind("per", commas(word.text for word in node.per))
    pieces += when(node.condition)
    return listed([pieces, *([scale.text] for scale in node.scales)])


# workloads


def spec(node: tree.Spec) -> list[str]:
    """A workload: its head, then its clauses; no comma before `for`."""
    pieces = [[" ".join(clause(c)) for c in node.clauses if c.head]]
    for part in (c for c in node.clauses if not c.head):
        if part.kind == "for":
            pieces[-1][-1] += f" for {atom(part.atoms[0])}"
        else:
            pieces.append(clause(part))
    return listed(pieces)


ALLOWED = {False: "allowed", True: "allowed up to"}


def clause(node: tree.Clause) -> list[str]:
    """One clause; only an `until` with a condition has several pieces."""
    words = " ".join(word.text for word in node.words)
    atoms = " ".join(map(atom, node.atoms))
    match node.kind:
        case "pattern" | "base":
            return [words]
        case "value":
            return [atoms]
        case "sizes" | "read sizes" | "write sizes" if node.atoms:
            first, last, step = map(atom, node.atoms)
            return [f"{node.kind} {first}..{last} step {step}"]
        case "sizes" | "read sizes" | "write sizes" | "hotspots":
            return [f"{node.kind} {_pairs(node)}"]
        case "part" | "region":
            first, last = map(atom, node.atoms)
            part = f"{first}..{words}{last}"
            return [part if node.kind == "part" else f"region {part}"]
        case "data":
            return [f"data {words} {atoms}".rstrip()]
        case "sync" | "flush" | "errors" | "shaped":
            return [_with_preposition(node, atoms)]
        case "pause":
            return [f"pause {' every '.join(map(atom, node.atoms))}"]
        case "rate" | "burst" | "ramp" | "starts" | "ends" | "cut" | "event":
            return [_over_time(node, words)]
        case "hosts" | "targets":
            return [f"on {node.kind} {', '.join(map(host, node.words))}"]
        case "quoted":
            return [node.words[0].span.text]
        case "until" | "every cell":
            return _until(node, words, atoms)
    return [" ".join(part for part in (node.kind, atoms, words) if part)]


def _with_preposition(node: tree.Clause, atoms: str) -> str:
    """A clause with a word before its value."""
    if node.kind == "shaped":
        return f"shaped, spare {atoms}"
    between = ALLOWED[bool(atoms)] if node.kind == "errors" else "every"
    return f"{node.kind} {between} {atoms}".rstrip()


def _until(node: tree.Clause, words: str, atoms: str) -> list[str]:
    """What ends a step or rounds."""
    if node.kind == "every cell":
        return [" ".join(filter(None, ("until", node.kind, words, "within", atoms)))]
    every = f" every {atoms}" if atoms else ""
    return [f"until steady {words}{every}", *when(node.condition)]


def _over_time(node: tree.Clause, words: str) -> str:
    """A rate, or a part or a moment of a run."""
    if node.kind in ("cut", "event"):
        what = "power" if node.kind == "cut" else node.words[0].span.text
        return f"{node.kind} {what} at {'..'.join(map(atom, node.atoms))}"
    if node.kind in ("starts", "ends"):
        return f"{node.kind} after {atom(node.atoms[0])}"
    count = {"rate": 1, "ramp": 2, "burst": 0}[node.kind]
    rates = "..".join(map(atom, node.atoms[:count]))
    phases = ", then ".join(map(_phase, node.pairs))
    variation = map(atom, node.atoms[count:])
    return " ".join(filter(None, (node.kind, rates, phases, words, *variation)))


def _phase(phase: tuple[Any, ...]) -> str:
    length, rate, name = phase
    return f"{atom(length)} of {atom(rate)}" + (f" as {name}" if name else "")


def host(node: tree.Word) -> str:
    """A host's name, in quotes where the language needs them."""
    is_bare = BARE.fullmatch(node.text) and node.text not in (*CLAUSE_WORDS, *PATTERNS)
    is_quoted = node.span.text.startswith('"')
    return node.text if is_bare or not is_quoted else node.span.text


def _pairs(node: tree.Clause) -> str:
    between = " in " if node.kind == "hotspots" else " "
    pairs = (between.join(map(atom, pair)) for pair in node.pairs)
    return f"{{ {', '.join(pairs)} }}"


# conditions and values


def when(node: tree.Condition | None) -> list[str]:
    """`when …`, or nothing."""
    return [] if node is None else behind("when", condition(node))


def condition(node: tree.Condition) -> list[str]:
    """A condition, with the brackets that its tree needs."""
    if isinstance(node, tree.Comparison):
        value = node.value
        text = element(value) if isinstance(value, tree.Element) else atom(value)
        name, later = _metric(node.name)
        left = atom(node.reckoned) if node.reckoned else name
        return [f"{left} {node.operator.text} {text}{later}"]
    if node.operator == "not":
        return behind("not", _inner(node.parts[0], ("and", "or")))
    bracketed = ("or",) if node.operator == "and" else ()
    inner = [_inner(part, (*bracketed, node.operator)) for part in node.parts]
    first, *others = inner
    return first + [piece for o in others for piece in behind(node.operator, o)]


def _inner(node: tree.Condition, bracketed: tuple[str, ...]) -> list[str]:
    pieces = condition(node)
    if isinstance(node, tree.Junction) and node.operator in bracketed:
        return [f"({' '.join(pieces)})"]
    return pieces


def element(node: tree.Element) -> str:
    """One entry of a `vary`, or what an axis is compared with."""
    atoms = [atom(a) for a in node.atoms]
    match node.kind:
        case "span":
            return "..".join(atoms)
        case "doubling":
            return f"{'..'.join(atoms)} doubling"
        case "stepped":
            return f"{atoms[0]}..{atoms[1]} step {atoms[2]}"
        case "together":
            return f"({', '.join(atoms)})"
        case "compressible" | "zipf" | "pareto" | "normal":
            return f"{node.kind} {atoms[0]}"
        case "compressible range":
            return f"compressible {atoms[0]}..{atoms[1]} step {atoms[2]}"
        case "poisson":
            return f"{atoms[0]} poisson"
        case "gamma":
            return f"{atoms[0]} gamma {atoms[1]}"
        case "hotspots":
            pairs = zip(atoms[::2], atoms[1::2], strict=True)
            return f"{{ {', '.join(f'{io} in {space}' for io, space in pairs)} }}"
    return atoms[0]


def atom(node: tree.Atom) -> str:
    """A value without needless blanks; its digits as they were written."""
    if node.kind == "reckoned":
        text = _reckoned(node)
        return f"({text})" if is_mix(text) else text
    if node.kind == "share":
        written = without_comments(node.span.text)
        title = written[written.index('"') :]
        return f"{atom(node.parts[0])} of {title}"
    text = "".join(node.text.split())
    if node.kind != "quantity":
        return text
    number = text.rstrip("abcdefghijklmnopqrstuvwxyz")
    unit = text[len(number) :]
    return f"{number} {unit}" if unit in APART else text


def _reckoned(node: tree.Atom) -> str:
    """With the brackets that its tree needs."""
    left, right = node.parts
    is_product = node.text in "*/"
    first = _operand(left, "+-" if is_product else "")
    last = _operand(right, "+-*/" if is_product else "+-")
    return f"{first} {node.text} {last}"


def _operand(node: tree.Atom, bracketed: str) -> str:
    if node.kind != "reckoned":
        return atom(node)
    text = _reckoned(node)
    return f"({text})" if node.text in bracketed else text


def is_mix(text: str) -> bool:
    """Whether the lexer would take a quotient for a mix."""
    return re.fullmatch(r"[\d_.]+ / [\d_.]+", text) is not None


# pieces


def behind(first: str, pieces: list[str]) -> list[str]:
    """Pieces with a word before the first."""
    return [f"{first} {pieces[0]}", *pieces[1:]]


def commas(parts: Iterable[str]) -> list[str]:
    """Single pieces with commas between them."""
    return listed([[part] for part in parts])


def listed(parts: list[list[str]]) -> list[str]:
    """Parts with commas between them."""
    ended = [[*part[:-1], f"{part[-1]},"] for part in parts[:-1]]
    return [piece for part in (*ended, parts[-1]) for piece in part]
