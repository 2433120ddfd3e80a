"""A keyword is a whole word, wherever the grammar lets it stand."""

import re
from contextlib import suppress
from functools import cache
from typing import ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ioplan.language.syntax import reader
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

    def accepted(self):
        stack = tuple(self.parser.parser_state.state_stack)
        if stack not in self.known:
            self.known[stack] = super().accepted()
        return self.known[stack]


def read(text):
    """Up to what is wrong in it."""
    reader = Remembering(text)
    with suppress(Stuck):
        reader.read()
    return reader


@cache
def places():
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


def _words(terminal):
    return words_of(terminal) if terminal.isupper() else ()


def _samples(terminal):
    if terminal in SAMPLES:
        yield SAMPLES[terminal]
    elif terminal.isupper() and terminal != END:
        yield from words_of(terminal) or [pattern_of(terminal)]


def taken_apart(before, word, behind):
    """The tokens that end inside a word, after some text."""
    text = f"{before} {word}{behind}"
    ends = [(t.end_pos or 0, t) for t in read(text).tokens]
    return [t for end, t in ends if end > len(before) and IN_WORD.match(text, end)]


@pytest.mark.long
def test_each_keyword_has_a_place():
    words = {word for one in grammar().terminals for word in words_of(one.name)}
    assert {word for _, word in places()} == words


@pytest.mark.long
def test_every_place():
    for before, word in places():
        assert not taken_apart(before, f"{word}s", " 1"), (before, word)


@pytest.mark.long
@settings(deadline=None, max_examples=150)
@given(
    st.deferred(lambda: st.sampled_from(places())),
    st.from_regex(r"\.?[A-Za-z0-9_é]{1,3}", fullmatch=True),
    BEHIND,
)
def test_a_longer_word_is_no_keyword(place, more, behind):
    before, word = place
    assert not taken_apart(before, word + more, behind)


VALUES = ["8", "8.5", "4MB/s", "4 KiB/s", "70/30", "2 passes", "qd 8, for", "1 vary"]


@given(st.sampled_from(VALUES), BEHIND)
def test_a_value_or_a_keyword_ends_with_its_word(value, behind):
    for more in ("for", "_for", "1_", "é"):
        assert not taken_apart('test "T" { run random', value + more, behind)


# the parser's tables, made by lark once, in the package's own folder

PLAN = 'test "T" { run random 4KiB 100/0 § for 1s }'


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """A folder of the grammar's own."""
    place = tmp_path / "grammar.tables"
    monkeypatch.setattr(reader, "KEPT", place)
    reader.grammar.cache_clear()
    yield place
    reader.grammar.cache_clear()


def _stop():
    reader.grammar.cache_clear()
    with pytest.raises(reader.Stuck) as stuck:
        reader.Reader(PLAN).tree()
    return stuck.value.position, stuck.value.accepted


def test_what_could_follow_is_told_where_no_word_begins():
    position, accepted = _stop()
    assert position == PLAN.index("§")
    assert {"COMMA", "FOR", "RBRACE"} <= accepted and "NAME" not in accepted


@pytest.mark.long
def test_tables_are_made_once(kept, monkeypatch):
    made = _stop()
    assert [path.name for path in kept.parent.iterdir()] == [kept.name]
    monkeypatch.delattr(reader, "_keep")
    assert _stop() == made


@pytest.mark.long_but_first
@pytest.mark.parametrize("cut", [0, 10, 65, 100, -1, None])
def test_half_of_the_tables_is_made_again(kept, cut):
    """And a place that cannot be written is no error."""
    made, whole = _stop(), kept.read_bytes()
    kept.unlink()
    if cut is None:
        kept.mkdir()
    else:
        kept.write_bytes(whole[:cut])
    assert _stop() == made
    assert cut is None or kept.stat().st_size == pytest.approx(len(whole), rel=0.01)


@pytest.mark.long
@pytest.mark.parametrize("name", ["WORD_END", "grammar_text", "lark"])
def test_tables_of_another_grammar_are_made_again(kept, monkeypatch, name):
    _stop()
    before = kept.read_bytes()
    if name == "WORD_END":
        monkeypatch.setattr(reader, name, r"(?!\.?\w|§)")
    elif name == "lark":
        monkeypatch.setattr(reader.lark, "__version__", "0")
    else:
        changed = reader.grammar_text() + "\n// changed"
        monkeypatch.setattr(reader, name, lambda: changed)
    _stop()
    assert kept.read_bytes().splitlines()[0] != before.splitlines()[0]
