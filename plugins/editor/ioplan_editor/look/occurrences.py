"""Every name of a text: what it stands for, and where that is defined."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec import Struct
from msgspec.structs import astuple

from ioplan.language import AXIS_FIELDS, Definition, Module, Span, flat
from ioplan.language.syntax import tree
from ioplan_editor.document import Document, covers


class Symbol(Struct, frozen=True):
    """What names stand for: a definition of a file, or of a block (`scope`) in it."""

    sort: str
    path: Path | None
    name: str
    scope: str = ""


class Occurrence(Struct, frozen=True):
    """A name in a text; `node` is the definition that it stands for."""

    symbol: Symbol
    span: Span
    is_definition: bool = False
    node: tree.Node | None = None


def occurrences(document: Document) -> list[Occurrence]:
    """All names of a text that stand for something, in its order."""
    return document.once("occurrences", lambda: _in_order(document))


def _in_order(document: Document) -> list[Occurrence]:
    return sorted(_Walk(document).file(), key=lambda one: one.span.start)


def occurrence_at(document: Document, offset: int) -> Occurrence | None:
    """The name at a place."""
    at = (one for one in occurrences(document) if covers(one.span, offset))
    return next(at, None)


class _Walk:
    """Goes through a file; `local` are the names that a test's axes define."""

    def __init__(self, document: Document) -> None:
        self.document, self.module = document, document.module
        self.test = ""
        self.local: dict[str, tree.Word] = {}
        self.streams: dict[str, Symbol] = {}

    def file(self) -> Iterator[Occurrence]:
        for item in self.document.file.items:
            yield from self._item(item)

    def _item(self, item: tree.Item) -> Iterator[Occurrence]:
        if isinstance(item, tree.Use) and item.alias:
            yield self._define("alias", item.alias, item)
        elif isinstance(item, tree.Profile):
            yield self._define("profile", item.name, item)
            for setting in item.settings:
                yield from self._refer(setting.name)
                yield from self._refer(setting.value)
        elif isinstance(item, tree.Test):
            yield from self._in_test(item)
        elif isinstance(item, Definition):
            yield self._define(_sort(item), item.name, item)
            for stream in getattr(item, "streams", ()):
                yield self._define("stream", stream.name, stream, item.name.text)
            yield from self._names(item)

    def _in_test(self, node: tree.Test) -> Iterator[Occurrence]:
        self.test = node.title.text
        self.local, self.streams = self._locals(node), self._streams(node)
        for statement in node.statements:
            yield from self._statement(statement)
        for step in flat(node.statements):
            if isinstance(step, tree.Run) and step.name:
                yield self._define("step", step.name, step, self.test)
        self.local, self.streams = {}, {}

    def _locals(self, node: tree.Test) -> dict[str, tree.Word]:
        """Names of axes that are neither fields nor params."""
        words = (w for s in node.statements for w in _axes(s))
        return {
            word.text: word
            for word in reversed(list(words))
            if word.text.rpartition(".")[2] not in AXIS_FIELDS
            and not self.module.find(word.text)
        }

    def _streams(self, node: tree.Test) -> dict[str, Symbol]:
        """What a metric may be of: named steps, and streams of workloads."""
        runs = [step for step in flat(node.statements) if isinstance(step, tree.Run)]
        named = (step.name.text for step in runs if step.name)
        here, test = self.document.path, node.title.text
        found = {name: Symbol("step", here, name, test) for name in named}
        for name in _texts(node.statements):
            known = self.module.find(name)
            for stream in getattr(known[0], "streams", ()) if known else ():
                path = self._path(known[1]) if known else None
                symbol = Symbol("stream", path, stream.name.text, _bare(name))
                found.setdefault(stream.name.text, symbol)
        return found

    def _statement(self, node: tree.Statement) -> Iterator[Occurrence]:
        if isinstance(node, tree.Vary):
            for word in node.names:
                yield from self._axis(word, word is self.local.get(word.text))
            yield from self._names(node.elements)
        elif isinstance(node, tree.Seek):
            yield from self._axis(
                node.name, node.name is self.local.get(node.name.text)
            )
            yield from self._names((*node.elements, *filter(None, [node.where])))
        elif isinstance(node, tree.After):
            yield from self._names(tuple(w for w in (node.name, node.then) if w))
            yield from self._axis(node.before_each) if node.before_each else ()
        elif isinstance(node, tree.Expect):
            yield from self._metric(node.metric)
            if node.of and node.of.text in self.streams:
                yield self._part(node.of, node.of.text, self.streams[node.of.text])
            yield from self._names((node.limit, *filter(None, [node.condition])))
        elif isinstance(node, tree.Headline):
            yield from self._metric(node.metric)
            yield from self._names(tuple(filter(None, [node.condition])))
        elif isinstance(node, tree.Chart):
            for word in node.metrics:
                yield from self._metric(word)
            for word in (*node.by, *node.per):
                yield from self._axis(word)
            yield from self._names(tuple(filter(None, [node.condition])))
        else:
            yield from self._names(node)

    def _names(self, node: object) -> Iterator[Occurrence]:
        """The names below a node."""
        if isinstance(node, tree.Comparison):
            for name in _named(node.reckoned) if node.reckoned else (node.name,):
                yield from self._axis(name)
            yield from self._names(node.value)
        elif isinstance(node, tree.Clause):
            yield from self._clause(node)
        elif isinstance(node, tree.Named):
            yield from self._refer(node.name)
        elif isinstance(node, tree.Atom):
            for name in _named(node):
                yield from self._refer(name)
        elif isinstance(node, tree.Word):
            yield from self._refer(node)
            yield from () if isinstance(node, tree.Word) else self._names(node.parts)
        elif isinstance(node, tuple | list):
            for part in node:
                yield from self._names(part)
        elif isinstance(node, tree.Node) and not isinstance(node, tree.Trace):
            skipped = getattr(node, "name", None)
            for part in astuple(node):
                if part is not skipped and not isinstance(part, Span):
                    yield from self._names(part)

    def _clause(self, node: tree.Clause) -> Iterator[Occurrence]:
        """A workload's name, a metric, or names of values; hosts are the lab's."""
        for word in node.words:
            if node.kind == "until":
                yield from self._metric(word)
            elif node.kind in ("base", "replay"):
                yield from self._refer(word)
        yield from self._names((*node.atoms, *node.pairs))
        if node.condition:
            yield from self._names(node.condition)

    def _axis(
        self, word: tree.Word | tree.Atom, first: bool = False
    ) -> Iterator[Occurrence]:
        """A field, a field of a stream, a param, or a name of the test's own."""
        stream, dot, _ = word.text.partition(".")
        if dot and stream in self.streams:
            yield self._part(word, stream, self.streams[stream])
        elif word.text in self.local:
            yield self._local(word, first)
        else:
            yield from self._refer(word)

    def _metric(self, word: tree.Word) -> Iterator[Occurrence]:
        first = word.text.partition(".")[0]
        if first in self.streams and first != word.text:
            yield self._part(word, first, self.streams[first])

    def _local(self, word: tree.Word | tree.Atom, first: bool = False) -> Occurrence:
        symbol = Symbol("axis", self.document.path, word.text, self.test)
        return Occurrence(symbol, word.span, first, self.local[word.text])

    def _part(
        self, word: tree.Word | tree.Atom, text: str, symbol: Symbol
    ) -> Occurrence:
        span = self.document.span(word.span.start, word.span.start + len(text))
        return Occurrence(symbol, span)

    def _refer(self, word: tree.Word | tree.Atom) -> Iterator[Occurrence]:
        """A name of this file, or of another one with its prefix."""
        if word.text in self.local:
            yield self._local(word)
            return
        found = self.module.find(word.text)
        if not found:
            return
        node, module = found
        prefix, dot, name = word.text.rpartition(".")
        if dot:
            alias = Symbol("alias", self.document.path, prefix)
            span = self.document.span(word.span.start, word.span.start + len(prefix))
            yield Occurrence(alias, span, node=self._use(prefix))
        symbol = Symbol(_sort(node), self._path(module), name)
        span = self.document.span(word.span.end - len(name), word.span.end)
        yield Occurrence(symbol, span, node=node)

    def _use(self, prefix: str) -> tree.Use | None:
        uses = (one for one in self.document.items(tree.Use) if one.alias)
        return next(
            (one for one in uses if one.alias and one.alias.text == prefix), None
        )

    def _define(
        self, sort: str, word: tree.Word, node: tree.Node, scope: str = ""
    ) -> Occurrence:
        symbol = Symbol(sort, self.document.path, word.text, scope)
        return Occurrence(symbol, word.span, True, node)

    def _path(self, module: Module) -> Path | None:
        return self.document.path_of(module.source)


def _axes(node: tree.Statement) -> tuple[tree.Word, ...]:
    """The names that a statement varies."""
    if isinstance(node, tree.Seek):
        return (node.name,)
    return node.names if isinstance(node, tree.Vary) else ()


def _named(atom: tree.Atom) -> Iterator[tree.Atom]:
    """The names in a value that may be reckoned."""
    if atom.kind == "name":
        yield atom
    for part in atom.parts:
        yield from _named(part)


def _sort(node: Definition) -> str:
    return type(node).__name__.lower()


def _bare(name: str) -> str:
    return name.rpartition(".")[2]


def _texts(nodes: Iterable[object]) -> Iterator[str]:
    """All words and atoms below some nodes."""
    for node in nodes:
        if isinstance(node, tree.Word | tree.Atom):
            yield node.text
        elif isinstance(node, tuple):
            yield from _texts(node)
        elif isinstance(node, tree.Node):
            yield from _texts(astuple(node))
