"""Where a cursor is in the grammar: what stands before it, and what may follow.

The text before the word that is being written is parsed as far as it goes. What the
parser then has on its stack is the unfinished statement, and what it accepts is what
may be written: both come from the grammar, so that a new clause needs nothing here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from lark import Token, Tree

from ioplan.language import (
    COMMENT,
    ITEM_START,
    WRONG,
    Reader,
    Stuck,
    without_comments,
    words_of,
)

WORD = re.compile(
    r"(?:[A-Za-z_]\w*(?:\.\w*)*|[0-9][\d_]*(?:\.\d+)?[A-Za-zµ%]*(?:/[\ds]*)?)\Z"
)
ROW_REST = re.compile(r"[^\n{}]*")
MOST_REPAIRS = 8
MOST_EXPANSIONS = 3


class Place:
    """A place in a text: `word` is what is being written there, from `start` on."""

    def __init__(self, text: str, offset: int) -> None:
        self.text, self.offset = text, offset
        found = WORD.search(text[:offset])
        self.word = found[0] if found else ""
        self.start = offset - len(self.word)
        code = without_comments(text)
        begins = [m.start() for m in ITEM_START.finditer(code, 0, self.start)]
        self.item_start = begins[-1] if begins else 0
        after = ITEM_START.search(code, offset)
        self.item = code[self.item_start : after.start() if after else None]
        self.state = _read(code[self.item_start : self.start])
        self.accepted = self.state.accepted()

    @property
    def words(self) -> list[Token]:
        """The unfinished statement: its words on the stack, the last one last."""
        return list(_words(self.state.values))

    @property
    def end_before(self) -> int:
        """Where the last word before it ends."""
        before = without_comments(self.text)[: self.start]
        return len(before.rstrip())

    def in_text(self) -> str | None:
        """What a text in quotes says before the cursor, where it is in one."""
        row = self.text[self.text.rfind("\n", 0, self.offset) + 1 : self.offset]
        closed = COMMENT.sub("", row)
        if "#" in row and not closed.count('"'):
            return None
        return closed.rpartition('"')[2] if closed.count('"') % 2 else None

    def in_comment(self) -> bool:
        """Whether nothing that is written there counts."""
        row = self.text.rfind("\n", 0, self.offset) + 1
        return any(
            found[1] and found.start(1) < self.offset
            for found in COMMENT.finditer(self.text, row, self.offset)
        )

    def keywords(self, state: Reader | None = None) -> Iterator[str]:
        """Each keyword that may stand here, with those that must follow it."""
        here = state or self.state
        for terminal in sorted(here.accepted()):
            for word in words_of(terminal):
                yield from _expanded(here, terminal, word)

    def after_comma(self) -> Reader | None:
        """The state after a comma, where one may stand."""
        return self.state.after("COMMA") if "COMMA" in self.accepted else None


def _read(text: str) -> Reader:
    """The state at the end of a text, what is wrong in it left out."""
    for _ in range(MOST_REPAIRS):
        state = Reader(text)
        try:
            state.read()
            return state
        except Stuck as stuck:
            text = _without(text, stuck.position)
    return Reader("")


def _without(text: str, at: int) -> str:
    """The text without what is wrong at a place: the rest of its row, up to a brace.

    In the row that is being written only one word goes.
    """
    rest = ROW_REST.match(text, at)
    if not rest or rest.end() == len(text):
        rest = WRONG.match(text, at)
    end = rest.end() if rest else at + 1
    return text[:at] + " " * (max(end, at + 1) - at) + text[max(end, at + 1) :]


def _words(values: list[Any]) -> Iterator[Token]:
    """Words that are in no finished rule, but in lists: their rules have no name."""
    for value in values:
        if isinstance(value, Token):
            yield value
        elif isinstance(value, Tree) and value.data.startswith("_"):
            yield from _words(value.children)


def _expanded(state: Reader, terminal: str, word: str, depth: int = 0) -> Iterator[str]:
    """A keyword with what must follow: `at most`, `until steady`, `before each`."""
    after = state.after(terminal)
    accepted = after.accepted()
    only_words = all(words_of(one) for one in accepted)
    following = [(one, text) for one in sorted(accepted) for text in words_of(one)]
    if not only_words or len(following) > 2 or depth == MOST_EXPANSIONS:
        yield word
        return
    for one, text in following:
        yield from (f"{word} {rest}" for rest in _expanded(after, one, text, depth + 1))
