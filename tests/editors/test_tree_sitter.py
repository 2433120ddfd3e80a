"""The tree-sitter grammar agrees with the checker's on every plan that there is."""

from __future__ import annotations

import ctypes
import hashlib
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import paths
import pytest
import tree_sitter

from ioplan.language.check.modules import installed_plans
from ioplan.language.syntax.parser import parse
from ioplan.language.syntax.source import Source

EDITORS = paths.ROOT / "editors"
PARSER = EDITORS / "tree-sitter-ioplan"
APART = {"profile.ioplan"}  # has `2 s`: to an editor, a unit of one letter stands close
FENCED = re.compile(r"^```(?:ioplan)\n(.*?)^```", re.M | re.S)

sys.path.insert(0, str(EDITORS / "make"))
import tree_sitter_grammar  # noqa: E402  beside the editors, not a package


@pytest.mark.parametrize("path", tree_sitter_grammar.files(), ids=lambda p: p.name)
def test_what_is_written_is_of_the_present_grammar(path: Path, renew: bool) -> None:
    wanted = tree_sitter_grammar.files()[path]
    if renew:
        path.write_text(wanted, "utf-8")
    assert path.read_text("utf-8") == wanted, "pytest --renew, then make parser"


def test_the_parser_is_made_of_the_grammar() -> None:
    made_of = (PARSER / "src/grammar.sha256").read_text().strip()
    digest = hashlib.sha256((PARSER / "grammar.json").read_bytes()).hexdigest()
    assert made_of == digest, "make parser"


Parse = Callable[[str], "tree_sitter.Tree"]


@pytest.fixture(scope="module")
def language(tmp_path_factory: pytest.TempPathFactory) -> tree_sitter.Language:
    """The parser, compiled."""
    library = tmp_path_factory.mktemp("parser") / "ioplan.so"
    source = PARSER / "src/parser.c"
    words = ["cc", "-shared", "-fPIC", "-O0", "-w", "-I", str(source.parent)]
    subprocess.run([*words, str(source), "-o", str(library)], check=True)
    entry = ctypes.CDLL(str(library)).tree_sitter_ioplan
    entry.restype = ctypes.c_void_p
    capsule = ctypes.pythonapi.PyCapsule_New
    capsule.restype = ctypes.py_object
    capsule.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    return tree_sitter.Language(capsule(entry(), b"tree_sitter.Language", None))


def texts() -> dict[str, str]:
    """Every plan of the repository, and those in its documents."""
    folders = (paths.GOLDEN, paths.ROOT / "examples", installed_plans())
    files = [p for folder in folders for p in sorted(folder.rglob("*.ioplan"))]
    plans = {str(path): path for path in files if path.name not in APART}
    found = {
        name: path.read_bytes().decode(errors="replace") for name, path in plans.items()
    }
    for document in sorted(paths.ROOT.glob("**/*.md")):
        if ".venv" not in document.parts:
            for number, text in enumerate(FENCED.findall(document.read_text("utf-8"))):
                found[f"{document.name} {number}"] = text
    return found


@pytest.mark.slow
@pytest.mark.long
def test_both_grammars_agree(language: tree_sitter.Language) -> None:
    parser = tree_sitter.Parser(language)
    known, different = texts(), []
    assert len(known) > 150
    for name, text in known.items():
        tree = parser.parse(text.encode())
        if tree.root_node.has_error != bool(parse(Source(name, text))[1]):
            different.append(name)
    assert not different


@pytest.mark.slow
@pytest.mark.parametrize("name", ("highlights", "folds", "indents"))
def test_queries(language: tree_sitter.Language, name: str) -> None:
    text = (PARSER / f"queries/{name}.scm").read_text("utf-8")
    plan = (paths.ROOT / "examples/review.ioplan").read_bytes()
    tree = tree_sitter.Parser(language).parse(plan)
    cursor = tree_sitter.QueryCursor(tree_sitter.Query(language, text))
    found = cursor.captures(tree.root_node)
    if name == "highlights":
        words = {node.text for node in found["keyword"]}
        assert {b"test", b"vary", b"random"} <= words
        assert {b"qd", b"rate"} <= {node.text for node in found["property"]}
        assert b"2ms" in {node.text for node in found["number"]}
    else:
        assert found
