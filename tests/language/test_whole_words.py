"""A keyword is a whole word, wherever the grammar lets it stand."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from functools import cache

from hypothesis import given, settings
from hypothesis import strategies as st

from ioplan.language.syntax.grammar import grammar, words_of
from ioplan.language.syntax.lalr import Stuck, Token
from ioplan_editor.complete.place import Prefix, Recorder

SAMPLES = {
    **{"NAME": "x", "BOUND": "b =", "SETTING": "b =", "STRING": '"t"'},
    **{"QUANTITY": "1", "MIX": "1/2", "OPERATOR": "<", "SKEW": "zipf 1"},
    **{"_THEN": ", then"},
}
BEHIND = st.sampled_from(["", " ", " 1", " x", " = 1", ' "t"', ", x", " { x", "..2"])
IN_WORD = re.compile(r"(?<=\w)\.?\w")


class Reader(Prefix):
    """Reads a text up to what is wrong in it."""

    def __init__(self, text: str) -> None:
        super().__init__(grammar(), text, Recorder())
        self.tokens: list[Token] = []
        with suppress(Stuck):
            self.read()

    def push(self, token: Token) -> None:
        super().push(token)
        self.tokens.append(token)

    @property
    def at_end(self) -> bool:
        """Whether all of it was read."""
        last = self.tokens[-1] if self.tokens else ""
        return self.text.rstrip().endswith(last)


@cache
def places() -> list[tuple[str, str]]:
    """Each keyword of each state of the parser, behind a text that leads there."""
    found, waiting, known = [], [""], set()
    for text in waiting:
        reader = Reader(text)
        state = reader.states[-1], frozenset(reader.accepted())
        if state in known or not reader.at_end:
            continue
        known.add(state)
        for terminal in sorted(grammar().states[reader.states[-1]]):
            found += [(text, word) for word in words_of(terminal)]
            waiting += [f"{text} {sample}" for sample in _samples(terminal)]
    return found


def _samples(terminal: str) -> Iterator[str]:
    if terminal in SAMPLES:
        yield SAMPLES[terminal]
    elif terminal in grammar().terminals:
        yield from words_of(terminal) or grammar().terminals[terminal][:1]


def taken_apart(before: str, word: str, behind: str) -> list[Token]:
    """The tokens that end inside a word, after some text."""
    text = f"{before} {word}{behind}"
    ends = [(t.start + len(t), t) for t in Reader(text).tokens]
    return [t for end, t in ends if end > len(before) and IN_WORD.match(text, end)]


def test_each_keyword_has_a_place() -> None:
    words = {word for name in grammar().terminals for word in words_of(name)}
    assert {word for _, word in places()} == words


def test_every_place() -> None:
    for before, word in places():
        assert not taken_apart(before, f"{word}s", " 1"), (before, word)


@settings(deadline=None, max_examples=500)
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
