"""A keyword is a whole word, wherever the grammar lets it stand."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from typing import ClassVar

from hypothesis import given, settings
from hypothesis import strategies as st
from lark import Token

from ioplan.language.syntax.reader import (
    END,
    Reader,
    Stuck,
    grammar,
    pattern_of,
    words_of,
)

SAMPLES = {
    **{"NAME": "x", "BOUND": "b =", "SETTING": "b =", "STRING": '"t"'},
    **{"QUANTITY": "1", "MIX": "1/2", "OPERATOR": "<", "SKEW": "zipf 1"},
    **{"_THEN": ", then"},
}
BEFORE_ORDER = 'test "t" { rounds until steady x'
"""Behind another text the parser is in the same state, and no `order` follows."""
BEHIND = st.sampled_from(["", " ", " 1", " x", " = 1", ' "t"', ", x", " { x", "..2"])
IN_WORD = re.compile(r"(?<=\w)\.?\w")


class Remembering(Reader):
    """What is accepted depends on the parser's stack alone, and there are few."""

    known: ClassVar[dict[tuple[int, ...], set[str]]] = {}

    def accepted(self) -> set[str]:
        stack = tuple(self.parser.parser_state.state_stack)
        if stack not in self.known:
            self.known[stack] = super().accepted()
        return self.known[stack]


def read(text: str) -> Reader:
    """Up to what is wrong in it."""
    reader = Remembering(text)
    with suppress(Stuck):
        reader.read()
    return reader


@cache
def places() -> list[tuple[str, str]]:
    """Each keyword of each state of the parser, behind a text that leads there."""
    found, waiting, known = [], ["", BEFORE_ORDER], set()
    for text in waiting:
        reader = read(text)
        state = reader.parser.parser_state.position, frozenset(reader.accepted())
        at_end = text.endswith(reader.tokens[-1] if reader.tokens else "")
        if state in known or not at_end:
            continue
        known.add(state)
        for terminal in sorted(reader.parser.choices()):
            found += [(text, word) for word in _words(terminal)]
            waiting += [f"{text} {sample}" for sample in _samples(terminal)]
    return found


def _words(terminal: str) -> tuple[str, ...]:
    return words_of(terminal) if terminal.isupper() else ()


def _samples(terminal: str) -> Iterator[str]:
    if terminal in SAMPLES:
        yield SAMPLES[terminal]
    elif terminal.isupper() and terminal != END:
        yield from words_of(terminal) or [pattern_of(terminal)]


def taken_apart(before: str, word: str, behind: str) -> list[Token]:
    """The tokens that end inside a word, after some text."""
    text = f"{before} {word}{behind}"
    ends = [(t.end_pos or 0, t) for t in read(text).tokens]
    return [t for end, t in ends if end > len(before) and IN_WORD.match(text, end)]


def test_each_keyword_has_a_place() -> None:
    words = {word for one in grammar().terminals for word in words_of(one.name)}
    assert {word for _, word in places()} == words


def test_every_place() -> None:
    for before, word in places():
        assert not taken_apart(before, f"{word}s", " 1"), (before, word)


@settings(deadline=None, max_examples=150)
@given(
    st.deferred(lambda: st.sampled_from(places())),
    st.from_regex(r"\.?[A-Za-z0-9_é]{1,3}", fullmatch=True),
    BEHIND,
)
def test_a_longer_word_is_no_keyword(
    place: tuple[str, str], more: str, behind: str
) -> None:
    before, word = place
    assert not taken_apart(before, word + more, behind)


@given(st.sampled_from(["8", "8.5", "4MB/s", "4 KiB/s", "70/30", "2 passes"]), BEHIND)
def test_a_value_ends_with_its_unit(value: str, behind: str) -> None:
    for more in ("for", "_for", "1_", "é"):
        assert not taken_apart('test "T" { run random', value + more, behind)
