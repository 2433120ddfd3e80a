"""The check of tests/promises.toml finds each way in which table, documents and tests part."""

from __future__ import annotations

from pathlib import Path

import pytest
from check_promises import main

TABLE = """
[safety.identity]
sentence = "A target is written only if it is named."
document = "docs/safety.md"
tried = "a disk that no lab file names"
"""
DOCUMENT = "A target is written\nonly if it is named. All else is refused.\n"
MARKED = """
import pytest

@pytest.mark.slow
@pytest.mark.promise("safety.identity")
def test_a_disk_without_a_name():
    assert True
"""
NAME = '"safety.identity"'
DEFINED = "def test_a_disk_without_a_name"
SKIPPED = "is named by a test that is always skipped"
CASES = {
    "all is well": ("", "", ""),
    "also where a class is marked": (DEFINED, "class TestADisk:\n  def test_it", ""),
    "a row without a test": ("@pytest.mark.promise", "# ", "is tried by no test"),
    "an id without a row": (NAME, '"safety.identities"', "; safety.identity is near"),
    "one of several ids": (NAME, NAME + ', "exit.codes"', "no promise is called exit"),
    "another sentence": ("named. All", "known. All", "does not stand in docs/safety.md"),
    "no document": ('"docs/safety.md"', '"docs/gone.md"', "there is no docs/gone.md"),
    "half a row": ('tried = "a disk that no lab file names"', "", "needs document, sent"),
    "never run": ("mark.slow", 'mark.skip(reason="")', SKIPPED),
    "on no machine": ("mark.slow", "mark.skipif(True)", SKIPPED),
    "no file of it": ("import pytest", "pytestmark = pytest.mark.skip", SKIPPED),
    "given up within": ("assert True", 'pytest.skip("")', SKIPPED),
    "no test": (DEFINED, "def helper", "is named above a test"),
    "no text": (NAME, "NAME", "by its id, as a text"),
}  # fmt: skip


def try_it(root: Path, old: str, new: str) -> int:
    """Of a repository with one promise, in which a text stands in place of another."""
    files = {
        "tests/promises.toml": TABLE,
        "docs/safety.md": DOCUMENT,
        "tests/guard/test_disk.py": MARKED,
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text.replace(old, new) if old else text)
    return main(root)


@pytest.mark.parametrize(("old", "new", "told"), CASES.values(), ids=CASES)
def test_what_is_wrong_is_told_with_its_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], old: str, new: str, told: str
) -> None:
    assert try_it(tmp_path, old, new) == bool(told)
    out = capsys.readouterr().out
    assert told in out
    assert not told or out.startswith(
        ("tests/promises.toml: ", "tests/guard/test_disk.py:")
    )
