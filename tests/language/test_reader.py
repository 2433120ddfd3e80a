"""The parser's tables are made by lark, once, and lie in the package's own folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ioplan.language.syntax import reader

PLAN = 'test "T" { run random 4KiB 100/0 § for 1s }'


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of the grammar's own."""
    place = tmp_path / "grammar.tables"
    monkeypatch.setattr(reader, "KEPT", place)
    reader.grammar.cache_clear()
    yield place
    reader.grammar.cache_clear()


def _stop() -> tuple[int, set[str]]:
    reader.grammar.cache_clear()
    with pytest.raises(reader.Stuck) as stuck:
        reader.Reader(PLAN).tree()
    return stuck.value.position, stuck.value.accepted


def test_what_could_follow_is_told_where_no_word_begins() -> None:
    position, accepted = _stop()
    assert position == PLAN.index("§")
    assert {"COMMA", "FOR", "RBRACE"} <= accepted and "NAME" not in accepted


@pytest.mark.long
def test_tables_are_made_once(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = _stop()
    assert [path.name for path in kept.parent.iterdir()] == [kept.name]
    monkeypatch.delattr(reader, "_keep")
    assert _stop() == made


@pytest.mark.long_but_first
@pytest.mark.parametrize("cut", [0, 10, 65, 100, -1, None])
def test_half_of_the_tables_is_made_again(kept: Path, cut: int | None) -> None:
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
def test_tables_of_another_grammar_are_made_again(
    kept: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
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
