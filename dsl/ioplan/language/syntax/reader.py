"""Reads a text by grammar.lark, word by word; lark is the parser.

A package has the parser's tables from its build, a checkout from its first use, and
again after each change of the grammar or of lark. Where they cannot be kept, they are
made each time. They lie nowhere but beside this file: a pickle can do anything, but who
can write there could change ioplan itself.
"""

from __future__ import annotations

import os
import pickle
import re
from contextlib import suppress
from copy import copy
from functools import cache
from pathlib import Path
from typing import Any

import lark
from lark import Lark, Token, Tree, UnexpectedInput
from lark.lexer import PatternRE, TerminalDef

from ioplan.language.syntax.grammar import text as grammar_text

KEPT = Path(__file__).with_name("grammar.tables")
END = "$END"
WORD_END = r"(?!\.?\w)"
"""Where a name ends: it has letters, digits, `_`, and dots between them."""
ENDS_IN_A_LETTER = re.compile(r"[a-z]\Z")
KEYWORD = re.compile(r"\(?(?:\?:)?([a-z]+(?:(?:\||\\s\+)[a-z]+)*)\)?\(\?.*")
"""A terminal that is one of some words, with a look-ahead."""


class Stuck(Exception):
    """The text cannot go on at `position`; `accepted` are terminals that could."""

    def __init__(self, position: int, accepted: set[str]) -> None:
        super().__init__(position, accepted)
        self.position, self.accepted = position, accepted


class Reader:
    """A text on its way through the grammar, and the words that were read."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.parser: Any = grammar().parse_interactive(text)  # of lark, without types
        self.tokens: list[Token] = []

    def read(self) -> None:
        """As far as the text goes. Raises Stuck."""
        state = self.parser.parser_state
        before = [*state.state_stack]
        try:
            for token in self.parser.lexer_thread.lex(state):
                self.parser.feed_token(token)
                self.tokens.append(token)
                before = [*state.state_stack]
        except UnexpectedInput as error:
            raise self._stuck(error.pos_in_stream or 0, before) from None

    def tree(self) -> Tree[Token]:
        """The rules of the whole text. Raises Stuck."""
        self.read()
        before = [*self.parser.parser_state.state_stack]
        try:
            whole: Tree[Token] = self.parser.feed_eof()
        except UnexpectedInput:
            raise self._stuck(len(self.text), before) from None
        return whole

    def _stuck(self, position: int, before: list[Any]) -> Stuck:
        """With all that could have followed before any rule was closed."""
        self.parser.parser_state.state_stack[:] = before
        return Stuck(position, self.accepted())

    @property
    def values(self) -> list[Any]:
        """What was read: finished rules, and words of rules that are not."""
        return [*self.parser.parser_state.value_stack]

    def accepted(self) -> set[str]:
        """The terminals that may come next."""
        listed = {name for name in self.parser.choices() if name.isupper()}
        return self.parser.accepts() or listed

    def after(self, terminal: str) -> Reader:
        """A reader of this text with one more word; it has no values."""
        other = copy(self)
        other.parser = self.parser.copy(deepcopy_values=False)
        state = other.parser.parser_state
        state.parse_conf = copy(state.parse_conf)
        state.parse_conf.callbacks = {}
        other.parser.feed_token(Token(terminal, ""))
        return other


@cache
def grammar() -> Lark:
    """The parser, made once."""
    key = f"{(lark.__version__, WORD_END, grammar_text())}\n".encode()
    with suppress(OSError, EOFError, pickle.UnpicklingError), KEPT.open("rb") as kept:
        if kept.readline() == key:
            return Lark.load(kept)
    made = Lark(
        grammar_text(),
        parser="lalr",
        propagate_positions=True,
        maybe_placeholders=True,
        edit_terminals=whole_words,
    )
    with suppress(OSError):
        _keep(made, key)
    return made


def _keep(made: Lark, key: bytes) -> None:
    """Write tables so that no reader ever sees half of them. Raises OSError."""
    fresh = KEPT.with_suffix(f".{os.getpid()}")
    with fresh.open("wb") as file:
        file.write(key)
        made.save(file)
    fresh.replace(KEPT)


def whole_words(terminal: TerminalDef) -> None:
    """Let what ends in a letter end only where a name would, and come before names.

    Where no name may stand, a lexer would else find `by` in `bytes`.
    """
    pattern = terminal.pattern.value
    if ENDS_IN_A_LETTER.search(pattern):
        whole = f"(?:{pattern})" if "|" in pattern else pattern
        terminal.pattern = PatternRE(f"{whole}{WORD_END}")
        terminal.priority = terminal.priority or 1


def pattern_of(terminal: str) -> str:
    """What a terminal looks like, a keyword or a value as a regular expression."""
    return grammar().get_terminal(terminal).pattern.value


@cache
def words_of(terminal: str) -> tuple[str, ...]:
    """The keywords that a terminal stands for; none for names, values and signs."""
    found = None if terminal == END else KEYWORD.fullmatch(pattern_of(terminal))
    return tuple(found[1].replace(r"\s+", " ").split("|")) if found else ()
