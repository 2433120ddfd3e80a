"""Each test is run by `make test`, `make test-long` or `make test-vm`, and by one only."""

import argparse
import re
import shlex
from graphlib import CycleError, TopologicalSorter
from itertools import chain, combinations
from typing import Any, NamedTuple

import grimp
import paths
import pytest
from _pytest.mark.expression import Expression
from check_promises import main
from parts import Part, part_of

PARTS = ("test-python", "test-long", "test-vm")
MARKERS = ("slow", "durable", "long", "long_but_first", "machine")
VM = "tests/vm"


def called(part):
    """The words of pytest's call in the Makefile."""
    text = (paths.ROOT / "Makefile").read_text()
    found = re.search(rf"^{part}: .*\n\t\$\(PYTEST\) (.*)$", text, re.MULTILINE)
    assert found, part
    return shlex.split(found[1])


def selects(words, in_vm, markers):
    """Whether such a call runs a test with these markers."""
    if in_vm == ("--ignore" in words):
        return False
    if "-m" not in words:
        return True
    chosen = Expression.compile(words[words.index("-m") + 1])
    return chosen.evaluate(lambda name, **_: name in markers)


@pytest.mark.parametrize("in_vm", [False, True])
def test_each_kind_of_test_is_in_one_part(in_vm):
    sets = [combinations(MARKERS, size) for size in range(len(MARKERS) + 1)]
    for markers in chain.from_iterable(sets):
        parts = [part for part in PARTS if selects(called(part), in_vm, markers)]
        assert len(parts) == 1, (markers, parts)


def test_these_are_all_markers_and_options():
    text = (paths.ROOT / "pyproject.toml").read_text()
    (told,) = re.findall(r"^markers = \[\n(.*?)^\]", text, re.MULTILINE | re.DOTALL)
    assert sorted(re.findall(r'^  "(\w+):', told, re.MULTILINE)) == sorted(MARKERS)
    options = ("-n", "--again", "--ignore", "-m", VM)
    for part in PARTS:
        words = called(part)
        assert VM in words
        assert not {word for word in words if word[0] == "-"} - {*options}


def test_continuous_integration_runs_all_parts():
    lines = (paths.ROOT / ".ci/run").read_text().splitlines()
    for part in ("test", "test-long", "test-vm"):
        assert [line for line in lines if line.split()[:2] == ["make", part]]


class Item(NamedTuple):
    """What is asked of a test."""

    nodeid: str


@pytest.mark.parametrize("of", [1, 3, 4, 9])
def test_parts_of_the_files_have_each_test_once(of):
    """And the tests of a file are in one part."""
    items: Any = [Item(f"tests/{n % 7}.py::test_{n}[a::b]") for n in range(40)]
    parts = [Part(number, of).take(items) for number in range(1, of + 1)]
    assert sorted(chain.from_iterable(parts)) == sorted(items)
    files = [{item.nodeid[:10] for item in part} for part in parts]
    assert sum(map(len, files)) == 7
    assert max(map(len, files)) <= min(map(len, files)) + 1


@pytest.mark.parametrize("text", ["0/4", "5/4", "4", "1/0", "a/b", "-1/2", "1/4/2", ""])
def test_what_is_no_part_is_refused(text):
    assert part_of("2/4") == (2, 4)
    with pytest.raises(argparse.ArgumentTypeError, match="not a part"):
        part_of(text)


def test_every_file_with_tests_is_collected():
    """The virtual machine's own are run in it, by a test outside."""
    written = [
        path.relative_to(paths.TESTS)
        for path in paths.TESTS.rglob("*.py")
        if re.search(r"^def test_\w+\(", path.read_text(), re.MULTILINE)
    ]
    inside = [path for path in written if path.match("vm/guest_*.py")]
    outside = " ".join(path.read_text() for path in (paths.ROOT / VM).glob("test_*"))
    assert all(path.name in outside for path in inside)
    others = {path for path in written if not path.match("test_*.py")}
    assert others == {*inside}
    assert not [p for p in written if p.parts[0] in ("benchmarks", "fuzz", "golden")]


# promises: each way in which table, documents and tests part

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
@pytest.mark.{}("safety.identity")
def test_a_disk_without_a_name():
    assert True
""".format("promise")
NAME = '"safety.identity"'
DEFINED = "def test_a_disk_without_a_name"
SKIPPED = "is in a file whose tests may never run"
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
    "not by its body": ("assert True", "pytest.skip()", SKIPPED),
    "on no machine": ("mark.slow", "mark.skipif(True)", SKIPPED),
    "no file of it": ("import pytest", "pytestmark = pytest.mark.skip", SKIPPED),
    "no test": (DEFINED, "def helper", "as a text, above a test"),
    "no text": (NAME, "NAME", "by its id, as a text"),
}  # fmt: skip


def try_it(root, old, new):
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
def test_what_is_wrong_is_told_with_its_place(tmp_path, capsys, old, new, told):
    assert try_it(tmp_path, old, new) == bool(told)
    out = capsys.readouterr().out
    assert told in out
    assert not told or out.startswith(
        ("tests/promises.toml: ", "tests/guard/test_disk.py: ")
    )


# imports: no files import each other in a circle

PLUGINS = ("editor", "fio", "importer", "io_uring", "lab", "sim", "spdk", "witness")
PACKAGES = ("ioplan", *(f"ioplan_{name}" for name in PLUGINS))


def test_no_files_import_each_other():
    graph = grimp.build_graph(*PACKAGES, cache_dir=None)
    imports = {
        module: graph.find_modules_directly_imported_by(module)
        for module in graph.modules
    }
    try:
        tuple(TopologicalSorter(imports).static_order())
    except CycleError as error:
        raise AssertionError(f"a circle: {' -> '.join(error.args[1])}") from None
