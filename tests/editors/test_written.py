"""What is written out of the tables: a lexer, a grammar of TextMate, the man page."""

import json
import re
import subprocess
import sys
from typing import Any

import paths
import pytest
from command import program
from pygments.lexers import get_lexer_by_name
from pygments.token import Comment, Keyword, Name, Number, String

from ioplan.cli import IOPLAN, Group
from ioplan.language import CLAUSES, FULL

sys.path.insert(0, str(paths.ROOT / "editors/make"))
import man
import textmate

REVIEW = (paths.ROOT / "examples/review.ioplan").read_text("utf-8")


def test_the_grammar_of_textmate_is_of_the_present_words(renew):
    ((path, wanted),) = textmate.files().items()
    if renew:
        path.write_text(wanted, "utf-8")
    assert json.loads(path.read_text("utf-8")) == json.loads(wanted), "pytest --renew"


def test_the_lexer_knows_each_word():
    found = list(get_lexer_by_name("ioplan").get_tokens(REVIEW))
    assert "".join(text for _, text in found) == REVIEW
    of = {text: kind for kind, text in found}
    assert (of["test"], of["qd"], of["vary"]) == (Keyword, Name.Attribute, Keyword)
    assert of["128KiB"] is Number and of["read.p99.999"] is Name
    assert Comment.Single in of.values() and String in of.values()


@pytest.mark.parametrize(
    "word", [clause.word for clause in CLAUSES if clause.reference]
)
def test_the_man_page_has_each_clause(word):
    assert re.search(
        rf"\b{word.split(maxsplit=1)[0] if word != 'pattern' else 'random'}\b",
        man.page(),
    )


def test_the_man_page_has_each_command_and_no_request_by_mistake():
    page = man.page()
    names = [one.name for one in IOPLAN.shown if not isinstance(one, Group)]
    assert all(f".SS {man.plain(name)}\n" in page for name in names)
    requests = {row.split()[0] for row in page.splitlines() if row[:1] in ".'" and row}
    assert requests <= {".TH", ".SH", ".SS", ".B", ".I", ".TP", ".PP", "."}


# the extension of VS Code: it compiles, and names what there is

FOLDER = paths.ROOT / "editors/vscode"
PACKAGE: dict[str, Any] = json.loads((FOLDER / "package.json").read_text("utf-8"))
GRAMMAR = "syntaxes/ioplan.tmLanguage.json"
COLOURS = paths.ROOT / "tests/editors/colours.ioplan"
TESTER = FOLDER / "node_modules/.bin/vscode-tmgrammar-test"
COMPILER = FOLDER / "node_modules/.bin/tsc"


def test_what_the_package_names_is_there():
    given = PACKAGE["contributes"]
    (language,), (grammar,) = given["languages"], given["grammars"]
    assert (FOLDER / language["configuration"]).exists()
    assert (FOLDER / grammar["path"]).exists()
    assert language["extensions"] == [".ioplan"]


def test_its_settings_are_those_of_the_server():
    settings = PACKAGE["contributes"]["configuration"]["properties"]
    assert settings["ioplan.profile"]["default"] == FULL
    asked = (FOLDER / "src/extension.ts").read_text("utf-8")
    for name in settings:
        assert f'"{name.removeprefix("ioplan.")}"' in asked


def run_tester(file):
    """VS Code's own engine with the grammar, on a text that names its scopes."""
    return program(
        str(TESTER), "--compact", "--grammar", GRAMMAR, str(file), cwd=FOLDER
    )


@pytest.mark.slow
@pytest.mark.skipif(
    not TESTER.exists(), reason="LEFT OUT: make test-tools was not done"
)
def test_colours(tmp_path):
    done = run_tester(COLOURS)
    assert done.returncode == 0, done.stdout
    wrong = tmp_path / "wrong.ioplan"
    wrong.write_text(COLOURS.read_text("utf-8").replace("qd 32", "xx 32"), "utf-8")
    failed = run_tester(wrong)
    assert failed.returncode != 0 and "property-name" in failed.stdout


@pytest.mark.long
@pytest.mark.skipif(
    not COMPILER.exists(), reason="LEFT OUT: npm install in editors/vscode was not done"
)
def test_it_compiles_and_is_built():
    subprocess.run([str(COMPILER), "--noEmit"], cwd=FOLDER, check=True)
    subprocess.run(["npm", "run", "--silent", "build"], cwd=FOLDER, check=True)
    assert "ioplan lsp" in (FOLDER / "src/extension.ts").read_text("utf-8")
    assert (FOLDER / "out/extension.js").stat().st_size > 100_000
