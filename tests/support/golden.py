"""Golden cases: `tests/golden/NAME.jsonl` has one in a line, sorted by their names.

`pytest --renew` runs what compares or writes such, and writes what came out. A case's
input is edited by itself:

    python tests/support/golden.py NAME CASE > FILE     prints it
    python tests/support/golden.py NAME CASE FILE       takes it in, for a new case, too
"""

import sys
from difflib import unified_diff
from pathlib import Path
from typing import Any

import msgspec
import paths
import pytest


class Case(msgspec.Struct, omit_defaults=True):
    """What goes in, and what has to come out."""

    case: str
    input: Any = None
    files: dict[str, str] = {}
    """What the input names, in Latin-1, so that it may be any bytes."""
    expected: Any = None

    def put(self, folder, ending=""):
        """The input as a file, beside the files that it names."""
        texts = {name: text.encode("latin-1") for name, text in self.files.items()}
        path = folder / f"{self.case}{ending}"
        for name, data in {**texts, path.name: self.input.encode()}.items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_bytes(data)
        return path


READER = msgspec.json.Decoder(Case)
WRITER = msgspec.json.Encoder(order="deterministic")


class Golden(dict[str, Case]):
    """The cases of a file, by their names."""

    def __init__(self, name):
        self.path = paths.GOLDEN / f"{name}.jsonl"
        rows = READER.decode_lines(self.path.read_bytes())
        super().__init__((one.case, one) for one in rows)

    def put(self, case, **parts):
        before = self.get(case, Case(case))
        self[case] = msgspec.structs.replace(before, **parts)

    def write(self):
        rows = [self[case] for case in sorted(self)]
        self.path.write_bytes(WRITER.encode_lines(rows))


def difference(expected, found):
    """By lines, with their ends."""
    before, after = lines(expected), lines(found)
    return "\n".join(unified_diff(before, after, "expected", "found", lineterm=""))


def lines(value):
    if isinstance(value, dict):
        return [f"{key}: {line}" for key, part in value.items() for line in lines(part)]
    if not isinstance(value, str):
        return [repr(value)]
    return [repr(line)[1:-1] for line in value.splitlines(keepends=True)]


@pytest.fixture
def renew(request):
    """Whether golden cases and documents are written instead of compared."""
    return bool(request.config.getoption("--renew"))


@pytest.fixture(name="golden")
def check(request, renew):
    """Compares what came out with a case, or has it written after all tests."""

    def compare(of, case, found):
        if renew:
            of.put(case, expected=found)
            row = (of.path.stem, case, found)
            request.node.user_properties.append(("golden", row))
            return
        expected = of[case].expected if case in of else None
        if found != expected:
            where = f"{of.path.name}, case {case!r}; pytest --renew writes it"
            pytest.fail(f"{where}\n{difference(expected, found)}", pytrace=False)

    return compare


class Renewal:
    """Writes the cases that passed, in the controller of pytest-xdist."""

    def __init__(self):
        self.found = {}

    def pytest_runtest_logreport(self, report):
        for key, value in report.user_properties if report.when == "call" else ():
            if key == "golden" and report.passed:
                name, case, found = value
                self.found.setdefault(name, {})[case] = found

    def pytest_sessionfinish(self):
        for name, cases in self.found.items():
            golden = Golden(name)
            for case, found in cases.items():
                golden.put(case, expected=found)
            golden.write()


def pytest_addoption(parser):
    parser.addoption(
        "--renew",
        action="store_true",
        help="write golden cases and parts of documents anew; read the diff",
    )


def pytest_configure(config):
    if config.getoption("--renew") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Renewal(), "tests-golden")


def pytest_collection_modifyitems(config, items):
    """Only what can be renewed is run for that."""
    if config.getoption("--renew"):
        kept = {True: [], False: []}
        for one in items:
            kept["renew" in getattr(one, "fixturenames", ())].append(one)
        config.hook.pytest_deselected(items=kept[False])
        items[:] = kept[True]


def main(words):
    name, case, *file = words
    golden = Golden(name)
    if file:
        golden.put(case, input=Path(file[0]).read_bytes().decode())
        golden.write()
    else:
        sys.stdout.buffer.write(golden[case].input.encode())


if __name__ == "__main__":
    main(sys.argv[1:])
