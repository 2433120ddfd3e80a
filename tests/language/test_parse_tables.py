"""Our parser reads its tables as lark does, and has them from where it should."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from lark import Lark, UnexpectedCharacters, UnexpectedToken
from lark import Token as LarkToken
from lark.tree import Tree
from paths import GOLDEN, ROOT

from ioplan.language.syntax import parse_tables
from ioplan.language.syntax.grammar import text
from ioplan.language.syntax.lalr import Extent, Parser, Stuck, Token
from ioplan.language.syntax.source import without_comments

PLANS = sorted(
    path
    for folder in (GOLDEN / "language", ROOT / "examples", ROOT / "plans")
    for path in folder.rglob("*.ioplan")
    if path.stat().st_size < 20_000
)
TEXT = text()
MADE = json.loads(json.dumps(parse_tables.made_tables(TEXT)))
LARK = Lark(
    TEXT,
    parser="lalr",
    propagate_positions=True,
    maybe_placeholders=True,
    edit_terminals=parse_tables.whole_words,
)
INSERTED = '{}(),."=1a \n'


class Plain:
    """Makes of each rule its name, its place and its parts."""

    def __getattr__(self, rule: str) -> Any:
        return lambda extent, parts: (rule, extent, parts)


def ours(text: str) -> Any:
    """What our parser makes of a text, or where it stops and what could follow."""
    try:
        return _plain(Parser(MADE).parse(text, Plain()))
    except Stuck as error:
        return error.position, error.accepted


def _plain(node: Any) -> Any:
    if isinstance(node, Token):
        return node.type, node.start, str(node)
    if isinstance(node, tuple):
        return node[0], node[1], [_plain(part) for part in node[2]]
    return node


def larks(text: str) -> Any:
    """The same by lark."""
    try:
        return _of_lark(LARK.parse(text))
    except UnexpectedToken as error:
        ended = error.token.type == "$END"
        where = len(text) if ended else error.pos_in_stream
        # lark has closed rules by then, and forgets what could have continued them
        accepted = ours(text)[1]
        assert set(error.accepts or error.expected) <= accepted
        return where, accepted
    except UnexpectedCharacters as error:
        # what lark expects there is all of a state's row, keywords left out
        accepted = ours(text)[1]
        row = error.state.parse_conf.states[error.state.position]
        assert accepted and accepted <= row.keys()
        return error.pos_in_stream, accepted


def _of_lark(node: Any) -> Any:
    if isinstance(node, Tree):
        meta = node.meta
        extent = Extent(-1, -1) if meta.empty else Extent(meta.start_pos, meta.end_pos)
        return str(node.data), extent, [_of_lark(part) for part in node.children]
    if isinstance(node, LarkToken):
        return node.type, node.start_pos, str(node)
    return node


@pytest.mark.parametrize("plan", PLANS, ids=lambda path: path.stem)
def test_the_tables_mean_what_they_mean_to_lark(plan: Path) -> None:
    """Also for texts that are cut off, that lack a part, and that have one too many."""
    text = without_comments(plan.read_bytes().decode(errors="replace"))
    chance = random.Random(text)
    assert ours(text) == larks(text)
    for _ in range(5):
        at = chance.randrange(len(text) + 1)
        assert ours(text[:at]) == larks(text[:at])
        lacking = text[:at] + text[at + chance.randrange(12) :]
        assert ours(lacking) == larks(lacking)
        more = text[:at] + chance.choice(INSERTED) + text[at:]
        assert ours(more) == larks(more)


def test_what_could_follow_is_told_where_no_word_begins() -> None:
    text = 'test "T" { run random 4KiB 100/0 § for 1s }'
    position, accepted = ours(text)
    assert position == text.index("§")
    assert {"COMMA", "FOR", "RBRACE"} <= accepted and "NAME" not in accepted


class TestKept:
    """grammar.json beside grammar.lark."""

    @pytest.fixture
    def place(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        """A folder of the grammar's own."""
        monkeypatch.setattr(parse_tables, "KEPT", tmp_path / "grammar.json")
        return tmp_path

    def test_lark_is_asked_once(
        self, place: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        made = json.loads(json.dumps(parse_tables.tables(TEXT)))
        assert made == MADE
        assert [path.name for path in place.iterdir()] == ["grammar.json"]
        monkeypatch.delattr(parse_tables, "made_tables")
        assert parse_tables.tables(TEXT) == made

    @pytest.mark.parametrize("kept", ["", "[]", '{"grammar": "start: /a/"}', "{"])
    def test_what_is_not_of_this_grammar_is_made_again(
        self, place: Path, kept: str
    ) -> None:
        parse_tables.KEPT.write_text(kept)
        assert parse_tables.tables(TEXT)["states"] == MADE["states"]
        assert json.loads(parse_tables.KEPT.read_text()) == MADE

    def test_a_place_that_cannot_be_written_is_no_error(self, place: Path) -> None:
        parse_tables.KEPT.mkdir()
        assert parse_tables.tables(TEXT)["states"] == MADE["states"]
