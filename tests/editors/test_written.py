"""What is written out of the tables: a lexer, a grammar of TextMate, the man page."""

from __future__ import annotations

import json
import re
import sys

import paths
import pytest
from pygments.lexers import get_lexer_by_name
from pygments.token import Comment, Keyword, Name, Number, String

from ioplan.cli import IOPLAN, Group
from ioplan.language import CLAUSES

sys.path.insert(0, str(paths.ROOT / "editors/make"))
import man
import textmate

REVIEW = (paths.ROOT / "examples/review.ioplan").read_text("utf-8")


def test_the_grammar_of_textmate_is_of_the_present_words(renew: bool) -> None:
    ((path, wanted),) = textmate.files().items()
    if renew:
        path.write_text(wanted, "utf-8")
    assert json.loads(path.read_text("utf-8")) == json.loads(wanted), "pytest --renew"


def test_the_lexer_knows_each_word() -> None:
    found = list(get_lexer_by_name("ioplan").get_tokens(REVIEW))
    assert "".join(text for _, text in found) == REVIEW
    of = {text: kind for kind, text in found}
    assert (of["test"], of["qd"], of["vary"]) == (Keyword, Name.Attribute, Keyword)
    assert of["128KiB"] is Number and of["read.p99.999"] is Name
    assert Comment.Single in of.values() and String in of.values()


@pytest.mark.parametrize(
    "word", [clause.word for clause in CLAUSES if clause.reference]
)
def test_the_man_page_has_each_clause(word: str) -> None:
    assert re.search(
        rf"\b{word.split(maxsplit=1)[0] if word != 'pattern' else 'random'}\b",
        man.page(),
    )


def test_the_man_page_has_each_command_and_no_request_by_mistake() -> None:
    page = man.page()
    names = [one.name for one in IOPLAN.shown if not isinstance(one, Group)]
    assert all(f".SS {man.plain(name)}\n" in page for name in names)
    requests = {row.split()[0] for row in page.splitlines() if row[:1] in ".'" and row}
    assert requests <= {".TH", ".SH", ".SS", ".B", ".I", ".TP", ".PP", "."}
