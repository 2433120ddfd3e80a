"""Parses by the tables of an LALR(1) grammar, its lexer led by the parser's state.

The tables are lark's (see `parse_tables`), and so is what they mean; lark itself takes
longer to import than to check a plan.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

END = "$END"
Matcher = Callable[[str, int], int]
"""The end of what a terminal matches at a place, or -1."""


class Token(str):
    """A word of the text, and the name of its terminal."""

    __slots__ = ("start", "type")
    start: int
    type: str


class Extent(NamedTuple):
    """Where a rule begins and ends; an empty rule is nowhere."""

    start: int
    end: int


NOWHERE = Extent(-1, -1)


class Stuck(Exception):
    """The text cannot go on at `position`; `accepted` are terminals that could."""

    def __init__(self, position: int, accepted: set[str]) -> None:
        super().__init__(position, accepted)
        self.position, self.accepted = position, accepted


class Rule(NamedTuple):
    """What becomes of `size` symbols: `take` of them, made into one by `method`.

    Each of `take` is the index of a symbol, whether its own parts take its place, and
    how many absent options come before it; `absent` options come at the end.
    """

    origin: str
    size: int
    method: str
    take: list[tuple[int, bool, int]]
    absent: int
    only_child: bool


class Parser:
    """One grammar. Its tables are those that `parse_tables.tables` returns."""

    def __init__(self, tables: dict[str, Any]) -> None:
        self.rules = [Rule(*rule) for rule in tables["rules"]]
        self.states: list[dict[str, int]] = tables["states"]
        self.contexts: list[tuple[list[str], dict[str, dict[str, str]]]]
        self.contexts = tables["contexts"]
        self.context_of: list[int] = tables["context_of"]
        self.terminals: dict[str, tuple[str, bool]] = tables["terminals"]
        self.first: int = tables["first"]
        self.last: int = tables["last"]
        self.matchers: dict[str, Matcher] = {}
        self.blank = re.compile(tables["blank"])

    def parse(self, text: str, builder: object) -> Any:
        """What the builder makes of the whole text. Raises Stuck."""
        return ParseState(self, text, builder).result()

    def matcher(self, terminal: str) -> Matcher:
        """Made when it is first needed: few plans use all words."""
        if terminal not in self.matchers:
            pattern, literal = self.terminals[terminal]
            self.matchers[terminal] = _literal(pattern) if literal else _regex(pattern)
        return self.matchers[terminal]


def _literal(word: str) -> Matcher:
    length = len(word)
    return lambda text, at: at + length if text.startswith(word, at) else -1


def _regex(pattern: str) -> Matcher:
    match = re.compile(pattern).match

    def end(text: str, at: int) -> int:
        found = match(text, at)
        return found.end() if found else -1

    return end


class ParseState:
    """One text on its way through the states."""

    def __init__(self, parser: Parser, text: str, builder: object) -> None:
        self.parser, self.text, self.builder = parser, text, builder
        self.states = [parser.first]
        self.values: list[Any] = []
        self.extents: list[Extent] = []

    def result(self) -> Any:
        """The value of the whole text. Raises Stuck."""
        for token in self._tokens():
            self._reduce_for(token.type, token.start)
            self.states.append(self.parser.states[self.states[-1]][token.type])
            self.values.append(token)
            self.extents.append(Extent(token.start, token.start + len(token)))
        self._reduce_for(END, len(self.text))
        return self.values[-1]

    def _tokens(self) -> Iterator[Token]:
        """Each word as a state of the parser reads it. Raises Stuck."""
        text, parser, at = self.text, self.parser, 0
        while (at := parser.blank.match(text, at).end()) < len(text):  # type: ignore[union-attr]
            names, keywords = parser.contexts[parser.context_of[self.states[-1]]]
            for name in names:
                end = parser.matcher(name)(text, at)
                if end > at:
                    break
            else:
                raise Stuck(at, self._accepted())
            token = Token(text[at:end])
            token.type = keywords[name].get(token, name) if name in keywords else name
            token.start, at = at, end
            yield token

    def _reduce_for(self, terminal: str, at: int) -> None:
        """Close all rules that end before a terminal. Raises Stuck."""
        states, rows = self.states, self.parser.states
        before: list[int] = []
        while True:
            action = rows[states[-1]].get(terminal)
            if action is None:
                self.states = before or states  # with all that could have followed
                raise Stuck(at, self._accepted())
            if action >= 0:
                return
            before = before or states.copy()
            rule = self.parser.rules[-action - 1]
            self._reduce(rule)
            states.append(rows[states[-1]][rule.origin])
            if terminal == END and states[-1] == self.parser.last:
                return

    def _reduce(self, rule: Rule) -> None:
        """Make one value of the last symbols."""
        first = len(self.values) - rule.size
        parts, extent = self.values[first:], _around(self.extents[first:])
        del self.states[first + 1 :], self.values[first:], self.extents[first:]
        self.values.append(self._value(rule, _taken(rule, parts), extent))
        self.extents.append(extent)

    def _value(self, rule: Rule, parts: list[Any], extent: Extent) -> Any:
        if rule.only_child and len(parts) == 1:
            return parts[0]
        return (
            getattr(self.builder, rule.method)(extent, parts) if rule.method else parts
        )

    def _accepted(self) -> set[str]:
        """The terminals with which the text could really go on."""
        row = self.parser.states[self.states[-1]]
        terminals = {name for name in row if name.isupper()}
        return {name for name in terminals if self._goes_on(name)} or terminals

    def _goes_on(self, terminal: str) -> bool:
        """Whether no rule that ends here forbids a terminal after all."""
        states, rows = self.states.copy(), self.parser.states
        while (action := rows[states[-1]].get(terminal)) is not None:
            if action >= 0:
                return True
            rule = self.parser.rules[-action - 1]
            del states[len(states) - rule.size :]
            states.append(rows[states[-1]][rule.origin])
            if terminal == END and states[-1] == self.parser.last:
                return True
        return False


def _around(extents: list[Extent]) -> Extent:
    """From the first symbol to the last one that is somewhere."""
    known = [one for one in extents if one is not NOWHERE]
    return Extent(known[0].start, known[-1].end) if known else NOWHERE


def _taken(rule: Rule, parts: list[Any]) -> list[Any]:
    """The parts that a rule keeps, with None for each absent option."""
    taken: list[Any] = []
    for index, inline, absent in rule.take:
        if absent:
            taken += [None] * absent
        if not inline:
            taken.append(parts[index])
        elif taken:
            taken += parts[index]
        else:
            taken = parts[index]  # not copied: a list of n items would take n * n
    return taken + [None] * rule.absent if rule.absent else taken
