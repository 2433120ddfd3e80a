"""Holds tests/promises.toml against the documents and the tests: `make promises`.

    python tests/support/check_promises.py [FOLDER]

Tests are read, and not imported. A row names a sentence of a document and how it is tried;
a test names the rows that it tries: `@pytest.mark.promise("safety.word", …)`.
"""

from __future__ import annotations

import ast
import sys
import tomllib
from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple

TABLE = "tests/promises.toml"
KEYS = {"sentence", "document", "tried"}
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
Rows = dict[str, dict[str, str]]


class Marked(NamedTuple):
    """A test, by its file and line, that names a promise."""

    id: str
    place: str
    skipped: bool


class Mistake(Exception):
    """What is wrong, where, and what to do."""


def main(root: Path) -> int:
    """Print a line for each mistake; the exit code is 1 if there are any."""
    mistakes = list(mistakes_of(root))
    for mistake in mistakes:
        print(mistake)
    return 1 if mistakes else 0


def mistakes_of(root: Path) -> Iterator[str]:
    """Of the table, of the markers, and of both together."""
    try:
        rows = rows_of(tomllib.loads((root / TABLE).read_text()))
        tests = [test for file in files(root) for test in marked(root, file)]
    except Mistake as mistake:
        yield str(mistake)
        return
    yield from unstated(root, rows)
    yield from unknown(rows, tests)
    yield from untried(rows, tests)


def rows_of(chapters: dict[str, Any]) -> Rows:
    """The rows by their ids: the chapter, a dot, a word."""
    rows = {
        f"{chapter}.{word}": row
        for chapter, words in chapters.items()
        for word, row in words.items()
    }
    for id, row in rows.items():
        if not isinstance(row, dict) or set(row) != KEYS or not all(row.values()):
            raise Mistake(
                f"{TABLE}: [{id}] needs {', '.join(sorted(KEYS))}, and no more"
            )
    return rows


def unstated(root: Path, rows: Rows) -> Iterator[str]:
    """Rows whose sentence is not, or no longer, the document's."""
    for id, row in rows.items():
        document = root / row["document"]
        if not document.is_file():
            yield f"{TABLE}: [{id}]: there is no {row['document']}; name a document"
        elif folded(row["sentence"]) not in folded(document.read_text()):
            yield (
                f"{TABLE}: the sentence of [{id}] does not stand in {row['document']}; "
                "copy it from there as it is, or take the row and its markers out"
            )


def folded(text: str) -> str:
    """However its lines are broken."""
    return " ".join(text.split())


def unknown(rows: Rows, tests: list[Marked]) -> Iterator[str]:
    """Markers of no row."""
    for test in tests:
        if test.id not in rows:
            near = get_close_matches(test.id, rows, 1)
            hint = f"; {near[0]} is near" if near else ""
            yield (
                f"{test.place}: no promise is called {test.id}{hint}; add [{test.id}] "
                f"to {TABLE}, or name one that is there"
            )


def untried(rows: Rows, tests: list[Marked]) -> Iterator[str]:
    """Rows of no test, and tests that never run."""
    for test in tests:
        if test.skipped:
            yield (
                f"{test.place}: {test.id} is named by a test that is always skipped; "
                "name it by one that runs"
            )
    for id in sorted(set(rows) - {test.id for test in tests}):
        yield (
            f"{TABLE}: [{id}] is tried by no test; mark the one that does with "
            f'@pytest.mark.promise("{id}"), write one, or take the row out'
        )


def files(root: Path) -> Iterator[Path]:
    """Those with a marker at all."""
    for file in sorted((root / "tests").rglob("test_*.py")):
        if "mark.promise" in file.read_text():
            yield file


def marked(root: Path, file: Path) -> Iterator[Marked]:
    """Each promise that a test of the file names."""
    tree = ast.parse(file.read_text())
    markers = {id(node): node for node in ast.walk(tree) if is_mark(node, "promise")}
    skipped = any(always_skips(mark) for mark in marks_of_module(tree))
    for test, never in tests_of(tree.body, skipped):
        for marker in test.decorator_list:
            if markers.pop(id(marker), None):
                place = f"{file.relative_to(root)}:{marker.lineno}"
                yield from (Marked(word, place, never) for word in words(marker, place))
    for marker in markers.values():
        place = f"{file.relative_to(root)}:{getattr(marker, 'lineno', 0)}"
        raise Mistake(f"{place}: a promise is named above a test or a class of tests")


def marks_of_module(tree: ast.Module) -> list[ast.expr]:
    """What stands in `pytestmark`."""
    marks: list[ast.expr] = []
    for node in tree.body:
        if (
            isinstance(node, ast.Assign)
            and ast.unparse(node.targets[0]) == "pytestmark"
        ):
            value = node.value
            marks += value.elts if isinstance(value, ast.List | ast.Tuple) else [value]
    return marks


def tests_of(body: list[ast.stmt], skipped: bool) -> Iterator[tuple[Definition, bool]]:
    """Tests and their classes, and whether each is always skipped."""
    for node in body:
        if isinstance(node, Definition) and node.name.lower().startswith("test"):
            never = skipped or any(
                map(always_skips, [*node.decorator_list, *node.body])
            )
            yield node, never
            if isinstance(node, ast.ClassDef):
                yield from tests_of(node.body, never)


def is_mark(node: ast.AST, name: str) -> bool:
    """Whether this is `pytest.mark.NAME`, called or not."""
    target = node.func if isinstance(node, ast.Call) else node
    is_attribute = isinstance(target, ast.Attribute) and target.attr == name
    called = name != "promise" or isinstance(node, ast.Call)
    return called and is_attribute and ast.unparse(target).endswith(f"mark.{name}")


def always_skips(node: ast.AST) -> bool:
    """A marker, or a statement of the test itself."""
    if is_mark(node, "skip"):
        return True
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        return ast.unparse(node.value.func) == "pytest.skip"
    condition = node.args[0] if isinstance(node, ast.Call) and node.args else None
    is_true = isinstance(condition, ast.Constant) and bool(condition.value)
    return is_true and is_mark(node, "skipif")


def words(marker: ast.expr, place: str) -> list[str]:
    """The ids of a marker."""
    arguments = marker.args if isinstance(marker, ast.Call) else []
    texts = [one.value for one in arguments if isinstance(one, ast.Constant)]
    if not texts or len(texts) != len(arguments):
        raise Mistake(f"{place}: name each promise by its id, as a text")
    return [str(text) for text in texts]


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else ".")))
