"""Makes the syntax tree of what lark has parsed, one method a rule of the grammar."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from lark import Token, Tree
from lark.tree import Meta
from msgspec.structs import replace

from ioplan.language.syntax import canonical, tree
from ioplan.language.syntax.source import Source, Span

ESCAPES = {'\\"': '"', "\\\\": "\\"}


def _clause(kind: str) -> Callable[..., Any]:
    """A method for a clause that consists of atoms and perhaps flags."""

    def build(self: Builder, meta: Meta, parts: list[Any]) -> tree.Clause:
        return self.clause_of(kind, meta, parts)

    return build


class Builder:
    """Makes the syntax tree of one source."""

    def __init__(self, source: Source) -> None:
        self.source = source

    def build(self, parsed: Tree[Token]) -> tree.File:
        """The syntax tree; without recursion, as blocks may be in blocks in blocks."""
        made: dict[int, Any] = {}
        for rule in parsed.iter_subtrees():
            parts = [made.get(id(part), part) for part in rule.children]
            made[id(rule)] = getattr(self, rule.data)(rule.meta, parts)
        whole: tree.File = made[id(parsed)]
        return whole

    def at(self, meta: Meta) -> Span:
        """The place of a rule; an empty one stands at the start."""
        if meta.empty:
            return Span(self.source, 0, 0)
        end = min(meta.end_pos, len(self.source.text))
        return Span(self.source, min(meta.start_pos, end), end)

    def word(self, token: Token) -> tree.Word:
        """A token with its place."""
        start = token.start_pos or 0
        return tree.Word(Span(self.source, start, start + len(token)), str(token))

    def quoted(self, token: Token) -> tree.Word:
        """A string without its quotes; the place includes them."""
        word, text = self.word(token), str(token)[1:-1]
        for written, meant in ESCAPES.items():
            text = text.replace(written, meant)
        return tree.Word(word.span, text)

    def clause_of(self, kind: str, meta: Meta, parts: list[Any]) -> tree.Clause:
        """A clause out of whatever its rule holds."""
        words = [self.word(p) for p in parts if isinstance(p, Token)]
        words += [p for p in parts if isinstance(p, tree.Word)]
        conditions = [p for p in parts if isinstance(p, tree.Condition)]
        return tree.Clause(
            self.at(meta),
            kind,
            atoms=tuple(p for p in parts if isinstance(p, tree.Atom)),
            words=tuple(words),
            pairs=tuple(p for p in parts if isinstance(p, tuple)),
            condition=conditions[0] if conditions else None,
        )

    # items

    def start(self, meta: Meta, items: list[Any]) -> tree.File:
        return tree.File(self.source, tuple(items))

    def plan(self, meta: Meta, parts: list[Any]) -> tree.Plan:
        return tree.Plan(self.at(meta), self.quoted(parts[0]))

    def use(self, meta: Meta, parts: list[Any]) -> tree.Use:
        alias = self.word(parts[1]) if parts[1] else None
        return tree.Use(self.at(meta), self.quoted(parts[0]), alias)

    def trace(self, meta: Meta, parts: list[Any]) -> tree.Trace:
        return tree.Trace(self.at(meta), self.word(parts[0]), self.quoted(parts[1]))

    def param(self, meta: Meta, parts: list[Any]) -> tree.Param:
        return tree.Param(self.at(meta), self.word(parts[0]), parts[1])

    def setting(self, meta: Meta, parts: list[Any]) -> tree.Setting:
        return tree.Setting(self.at(meta), self.word(parts[0]), parts[1])

    def profile(self, meta: Meta, parts: list[Any]) -> tree.Profile:
        name, *settings = parts
        return tree.Profile(self.at(meta), self.word(name), tuple(settings))

    def on_failure(self, meta: Meta, parts: list[Any]) -> tree.OnFailure:
        return tree.OnFailure(self.at(meta), self.word(parts[0]))

    def on_unsteady(self, meta: Meta, parts: list[Any]) -> tree.OnUnsteady:
        return tree.OnUnsteady(self.at(meta), self.word(parts[0]))

    def on_nothing_found(self, meta: Meta, parts: list[Any]) -> tree.OnNothingFound:
        return tree.OnNothingFound(self.at(meta), self.word(parts[0]))

    def accept(self, meta: Meta, parts: list[Any]) -> tree.Accept:
        return tree.Accept(self.at(meta), self.quoted(parts[0]))

    def workload(self, meta: Meta, parts: list[Any]) -> tree.Workload:
        name, *rest = parts
        if isinstance(rest[0], tree.Spec):
            return tree.Workload(self.at(meta), self.word(name), rest[0])
        return tree.Workload(self.at(meta), self.word(name), None, tuple(rest))

    def stream(self, meta: Meta, parts: list[Any]) -> tree.Stream:
        return tree.Stream(self.at(meta), self.word(parts[0]), parts[1])

    def precondition(self, meta: Meta, parts: list[Any]) -> tree.Precondition:
        name, *steps = parts
        return tree.Precondition(self.at(meta), self.word(name), tuple(steps))

    def test(self, meta: Meta, parts: list[Any]) -> tree.Test:
        title, *statements = parts
        return tree.Test(self.at(meta), self.quoted(title), tuple(statements))

    # steps

    def purge(self, meta: Meta, parts: list[Any]) -> tree.Purge:
        return tree.Purge(self.at(meta))

    def write(self, meta: Meta, parts: list[Any]) -> tree.Write:
        return tree.Write(self.at(meta), parts[0])

    def named(self, meta: Meta, parts: list[Any]) -> tree.Named:
        return tree.Named(self.at(meta), self.word(parts[0]))

    def after(self, meta: Meta, parts: list[Any]) -> tree.After:
        name, then, each = (self.word(part) if part else None for part in parts)
        assert name
        return tree.After(self.at(meta), name, then, each)

    def run(self, meta: Meta, parts: list[Any]) -> tree.Run:
        spec, name = parts
        return tree.Run(self.at(meta), spec, self.word(name) if name else None)

    def idle(self, meta: Meta, parts: list[Any]) -> tree.Idle:
        return tree.Idle(self.at(meta), parts[0])

    def repeat(self, meta: Meta, parts: list[Any]) -> tree.Repeat:
        times, *steps = parts
        return tree.Repeat(self.at(meta), times, tuple(steps))

    # statements

    def axes(self, meta: Meta, parts: list[Any]) -> list[tree.Word]:
        return [self.word(part) for part in parts]

    def vary(self, meta: Meta, parts: list[Any]) -> tree.Vary:
        names, *elements = parts
        return tree.Vary(self.at(meta), tuple(names), tuple(elements))

    def skip(self, meta: Meta, parts: list[Any]) -> tree.Skip:
        return tree.Skip(self.at(meta), *parts)

    def rounds(self, meta: Meta, parts: list[Any]) -> tree.Rounds:
        return tree.Rounds(self.at(meta), tuple(parts))

    def seek(self, meta: Meta, parts: list[Any]) -> tree.Seek:
        goal, name, *rest = parts
        elements = [part for part in rest if isinstance(part, tree.Element)]
        share, where, *options = rest[len(elements) :]
        return tree.Seek(
            self.at(meta),
            self.word(goal),
            self.word(name),
            tuple(elements),
            share,
            where,
            tuple(options),
        )

    def knee_share(self, meta: Meta, parts: list[Any]) -> tree.Atom:
        found: tree.Atom = parts[0]
        return found

    def expect(self, meta: Meta, parts: list[Any]) -> tree.Expect:
        metric, recovery, during, operator, limit, of, later, condition = parts
        name = self.of_what(self.word(metric), recovery, during)
        if of is None or of.text == "baseline":
            name, later = self.of_what(name, later), None
        return tree.Expect(
            self.at(meta),
            name,
            self.word(operator),
            limit,
            of and self.of_what(of, later),
            condition,
        )

    def of_what(self, metric: tree.Word, *parts: tree.Word | None) -> tree.Word:
        """The whole name of a metric, with what it is of, and during which phase."""
        for part in parts:
            if part is not None:
                between = self.source.text[metric.span.end : part.span.start]
                end = metric.span.end if between.strip() else part.span.end
                span = Span(metric.span.source, metric.span.start, end)
                metric = tree.Word(span, f"{metric.text} {part.text}")
        return metric

    def during(self, meta: Meta, parts: list[Any]) -> tree.Word:
        return tree.Word(self.at(meta), f"during {'..'.join(map(str, parts))}")

    def drawn_metric(self, meta: Meta, parts: list[Any]) -> tree.Word:
        name, *whole = parts
        return self.of_what(self.word(name), *whole)

    def drawn_metrics(
        self, meta: Meta, parts: list[Any]
    ) -> list[tuple[str, tree.Word]]:
        scales = ("log ", "linear and")
        kinds = ("scale" if one.text.startswith(scales) else "name" for one in parts)
        return list(zip(kinds, parts, strict=True))

    def recovery(self, meta: Meta, parts: list[Any]) -> tree.Word:
        of, to, held = parts
        held = f" for {held.span.text}" if held else ""
        return tree.Word(self.at(meta), f"of {of} to {to.span.text}{held}")

    def beyond(self, meta: Meta, parts: list[Any]) -> tree.Word:
        of, side, limit = parts
        return tree.Word(self.at(meta), f"of {of} {side} {limit.span.text}")

    def baseline(self, meta: Meta, parts: list[Any]) -> tree.Word:
        return self.word(parts[0])

    def headline(self, meta: Meta, parts: list[Any]) -> tree.Headline:
        metric, of, during, condition = parts
        name = self.of_what(self.word(metric), of, during)
        return tree.Headline(self.at(meta), name, condition)

    def chart(self, meta: Meta, parts: list[Any]) -> tree.Chart:
        kind, metrics, by, per, when = parts
        preposition, by_words = by or ("by", [])
        condition, scales = when or (None, [])
        mixed = [*metrics, *by_words, *(per or [])]
        return tree.Chart(
            self.at(meta),
            self.word(kind),
            metrics=_names(metrics),
            preposition=preposition,
            by=_names(by_words),
            per=_names(per or []),
            condition=condition,
            scales=tuple(w for k, w in mixed if k == "scale") + tuple(scales),
        )

    def listed(self, meta: Meta, parts: list[Any]) -> list[tuple[str, tree.Word]]:
        return [
            ("name", self.word(part)) if isinstance(part, Token) else ("scale", part)
            for part in parts
        ]

    def chart_by(self, meta: Meta, parts: list[Any]) -> tuple[str, list[Any]]:
        is_by = self.at(meta).text.startswith("by")
        return "by" if is_by else "over", parts[0]

    def chart_per(self, meta: Meta, parts: list[Any]) -> list[Any]:
        found: list[Any] = parts[0]
        return found

    def chart_when(self, meta: Meta, parts: list[Any]) -> tuple[Any, list[Any]]:
        return parts[0], parts[1:]

    def log_scale(self, meta: Meta, parts: list[Any]) -> tree.Word:
        return tree.Word(self.at(meta), f"log {parts[0]}")

    def both_scales(self, meta: Meta, parts: list[Any]) -> tree.Word:
        return tree.Word(self.at(meta), "linear and log")

    # workloads

    def spec(self, meta: Meta, parts: list[Any]) -> tree.Spec:
        head, *clauses = parts
        return tree.Spec(self.at(meta), (*head, *with_names(clauses)))

    def head(self, meta: Meta, parts: list[Any]) -> list[tree.Clause]:
        return [self.as_clause(part, head=True) for part in parts]

    def clause(self, meta: Meta, parts: list[Any]) -> tree.Clause:
        return self.as_clause(parts[0], head=False)

    def as_clause(self, part: Any, head: bool) -> tree.Clause:
        """An atom that stands by itself is a clause of kind `value`."""
        if isinstance(part, tree.Atom):
            return tree.Clause(part.span, "value", atoms=(part,), head=head)
        assert isinstance(part, tree.Clause)
        return tree.Clause(
            part.span,
            part.kind,
            part.atoms,
            part.words,
            part.pairs,
            part.condition,
            head,
        )

    def random(self, meta: Meta, parts: list[Any]) -> tree.Clause:
        return self.pattern_of(meta, "random")

    def sequential(self, meta: Meta, parts: list[Any]) -> tree.Clause:
        return self.pattern_of(meta, "sequential")

    def pattern_of(self, meta: Meta, text: str) -> tree.Clause:
        """Which of the two patterns."""
        word = tree.Word(self.at(meta), text)
        return tree.Clause(self.at(meta), "pattern", words=(word,))

    def sizes(self, meta: Meta, parts: list[Any]) -> tree.Clause:
        kind = " ".join(str(parts[0]).split())
        return self.clause_of(kind, meta, parts)

    def hosts(self, meta: Meta, parts: list[Any]) -> tree.Clause:
        return tree.Clause(self.at(meta), "hosts", words=(self._host(parts[0]),))

    def targets(self, meta: Meta, parts: list[Any]) -> tree.Clause:
        return tree.Clause(self.at(meta), "targets", words=(self._host(parts[0]),))

    def over_all(self, meta: Meta, parts: list[Any]) -> tree.Word:
        return tree.Word(self.at(meta), "over all")

    def host(self, meta: Meta, parts: list[Any]) -> tree.Clause:
        return tree.Clause(self.at(meta), "quoted", words=(self._host(parts[0]),))

    def _host(self, token: Token) -> tree.Word:
        return self.quoted(token) if token.type == "STRING" else self.word(token)

    def share(self, meta: Meta, parts: list[Any]) -> tuple[Any, ...]:
        return tuple(parts)

    spot = phase = share

    def drawn(self, meta: Meta, parts: list[Any]) -> tree.Clause:
        kind = " ".join(str(parts[0]).split())
        return self.clause_of(kind, meta, parts[1:])

    def simple(self, meta: Meta, parts: list[Any]) -> tree.Clause:
        return self.clause_of(str(parts[0]), meta, parts[1:])

    def data(self, meta: Meta, parts: list[Any]) -> tree.Clause:
        word = parts[0]
        if isinstance(word, tree.Element):
            name = tree.Word(word.span, "compressible")
            return self.clause_of("data", meta, [name, *word.atoms])
        return self.clause_of("data", meta, parts)

    def flag(self, meta: Meta, parts: list[Any]) -> tree.Word:
        return tree.Word(self.at(meta), self.at(meta).text)

    def every_cell(self, meta: Meta, parts: list[Any]) -> tree.Clause:
        metric, within = parts
        words = (self.word(metric),) if metric else ()
        return tree.Clause(self.at(meta), "every cell", words=words, atoms=within.atoms)

    each = total = poisson = gamma = plus = flag
    base = _clause("base")
    replay = _clause("replay")
    qd = _clause("qd")
    rate = _clause("rate")
    burst = _clause("burst")
    ramp = _clause("ramp")
    pause = _clause("pause")
    starts = _clause("starts")
    ends = _clause("ends")
    region = _clause("region")
    sync = _clause("sync")
    flush = _clause("flush")
    fua = _clause("fua")
    follows = _clause("follows")
    verify = _clause("verify")
    errors = _clause("errors")
    retry = _clause("retry")
    hang = _clause("hang")
    offsets = _clause("offsets")
    footprint = _clause("footprint of")
    part = _clause("part")
    fast = _clause("as fast as possible")
    after_completion = _clause("after completion")
    only = _clause("only")
    as_reads = _clause("writes as reads")
    cut = _clause("cut")

    def event(self, meta: Meta, parts: list[Any]) -> tree.Clause:
        name, *moment = parts
        return self.clause_of("event", meta, [self.quoted(name), *moment])

    permuted = _clause("permuted")
    shaped = _clause("shaped")
    hotspots = _clause("hotspots")
    warmup = _clause("warmup")
    interval = _clause("interval")
    lasting = _clause("for")
    until = _clause("until")
    least = _clause("at least")
    most = _clause("at most")
    within = _clause("within")
    order = _clause("order")
    most_runs = _clause("at most")
    confirm = _clause("confirm")
    over = _clause("over")
    range = _clause("range")
    slope = _clause("slope")

    # values

    def literal(self, meta: Meta, parts: list[Any]) -> tree.Atom:
        token = parts[0]
        return tree.Atom(self.word(token).span, token.type.lower(), str(token))

    atom_literal = given = literal

    def atom(self, meta: Meta, parts: list[Any]) -> tree.Atom:
        found: tree.Atom = parts[0]
        return found

    def share_of(self, meta: Meta, parts: list[Any]) -> tree.Atom:
        share, title = parts
        return tree.Atom(self.at(meta), "share", self.quoted(title).text, (share,))

    def bracketed(self, meta: Meta, parts: list[Any]) -> tree.Atom:
        return replace(self._quotient(parts[0]), span=self.at(meta))

    def added(self, meta: Meta, parts: list[Any]) -> tree.Atom:
        return self.reckoned(meta, "+", parts)

    def less(self, meta: Meta, parts: list[Any]) -> tree.Atom:
        return self.reckoned(meta, "-", parts)

    def times(self, meta: Meta, parts: list[Any]) -> tree.Atom:
        return self.reckoned(meta, "*", parts)

    def over_by(self, meta: Meta, parts: list[Any]) -> tree.Atom:
        return self.reckoned(meta, "/", parts)

    def reckoned(self, meta: Meta, operator: str, parts: list[Any]) -> tree.Atom:
        """What an operator makes of two values; `a / 8/2` goes from left to right."""
        left, right = parts
        left, span = self._quotient(left), self.at(meta)
        if right.kind == "mix" and operator in "*/":
            first, second = self._quotient(right).parts
            left = tree.Atom(span, "reckoned", operator, (left, first))
            return tree.Atom(span, "reckoned", "/", (left, second))
        return tree.Atom(span, "reckoned", operator, (left, self._quotient(right)))

    def _quotient(self, atom: tree.Atom) -> tree.Atom:
        """What the lexer took for a mix, as one number by another."""
        if atom.kind != "mix":
            return atom
        numbers = (part.strip() for part in atom.text.split("/"))
        parts = tuple(tree.Atom(atom.span, "quantity", one) for one in numbers)
        return tree.Atom(atom.span, "reckoned", "/", parts)

    def condition(self, meta: Meta, parts: list[Any]) -> tree.Condition:
        found: tree.Condition = parts[0]
        return found

    def junction(self, meta: Meta, parts: list[Any]) -> tree.Junction:
        return tree.Junction(self.at(meta), "or", tuple(parts))

    def conjunction(self, meta: Meta, parts: list[Any]) -> tree.Junction:
        return tree.Junction(self.at(meta), "and", tuple(parts))

    def negated(self, meta: Meta, parts: list[Any]) -> tree.Junction:
        return tree.Junction(self.at(meta), "not", tuple(parts))

    def comparison(self, meta: Meta, parts: list[Any]) -> tree.Comparison:
        left, recovery, during, operator, value, later = parts
        name = tree.Word(left.span, canonical.atom(left))
        name = self.of_what(name, recovery, during, later)
        reckoned = None if left.kind == "name" else left
        return tree.Comparison(
            self.at(meta), name, self.word(operator), value, reckoned
        )

    def element_of(self, kind: str, meta: Meta, parts: list[Any]) -> tree.Element:
        """One entry of a `vary`."""
        return tree.Element(self.at(meta), kind, tuple(parts))

    def single(self, meta: Meta, parts: list[Any]) -> tree.Element:
        return self.element_of("single", meta, parts)

    def span(self, meta: Meta, parts: list[Any]) -> tree.Element:
        return self.element_of("span", meta, parts)

    def doubling(self, meta: Meta, parts: list[Any]) -> tree.Element:
        return self.element_of("doubling", meta, parts)

    def stepped(self, meta: Meta, parts: list[Any]) -> tree.Element:
        return self.element_of("stepped", meta, parts)

    def together(self, meta: Meta, parts: list[Any]) -> tree.Element:
        return self.element_of("together", meta, parts)

    def poisson_rate(self, meta: Meta, parts: list[Any]) -> tree.Element:
        return self.element_of("poisson", meta, parts[:1])

    def gamma_rate(self, meta: Meta, parts: list[Any]) -> tree.Element:
        return self.element_of("gamma", meta, [parts[0], parts[-1]])

    def skewed(self, meta: Meta, parts: list[Any]) -> tree.Element:
        return self.element_of(str(parts[0]), meta, parts[1:])

    def spots(self, meta: Meta, parts: list[Any]) -> tree.Element:
        pairs = [part for part in parts if isinstance(part, tuple)]
        return self.element_of("hotspots", meta, [a for pair in pairs for a in pair])

    def compressible_range(self, meta: Meta, parts: list[Any]) -> tree.Element:
        return self.element_of("compressible range", meta, parts)

    def compressible(self, meta: Meta, parts: list[Any]) -> tree.Element:
        return self.element_of("compressible", meta, parts)

    def element(self, meta: Meta, parts: list[Any]) -> tree.Element:
        found: tree.Element = parts[0]
        return found


def with_names(clauses: list[tree.Clause]) -> Iterator[tree.Clause]:
    """`on hosts h1, h2` is one clause: names behind it are hosts, too. Or targets."""
    hosts: tree.Clause | None = None
    for clause in clauses:
        word = _host_of(clause) if hosts else None
        if hosts and word:
            span = Span(word.span.source, hosts.span.start, word.span.end)
            hosts = replace(hosts, span=span, words=(*hosts.words, word))
            continue
        if hosts:
            yield hosts
        hosts = clause if clause.kind in ("hosts", "targets") else None
        if not hosts:
            yield clause
    if hosts:
        yield hosts


def _host_of(clause: tree.Clause) -> tree.Word | None:
    if clause.kind == "quoted":
        return clause.words[0]
    is_name = clause.kind == "value" and clause.atoms[0].kind == "name"
    atom = clause.atoms[0] if is_name else None
    return tree.Word(atom.span, atom.text) if atom else None


def _names(listed: list[tuple[str, tree.Word]]) -> tuple[tree.Word, ...]:
    return tuple(word for kind, word in listed if kind == "name")
