"""Which share of small defects the fast tests find, by mutation.

    .venv/bin/python tests/benchmarks/mutants.py [--seed 27] [--of 300] [--took 100]
        [--room ROOM] [--tests FOLDER] [--slow] [--list]

Each mutant is one change of an expression or a statement in one of `ROOMS`. It is put in
place of the module while that is imported, so that no file changes, and the fast tests of
the room's folder that call the changed function are run in a process of its own until one
fails. A function that no fast test calls counts as not found. `--of N` draws the sample,
`--took M` tries its first M only; `--tests` are another version's, to compare two. `--slow`
adds the tests with devices and processes: of these, only what they do in their own process
sees the mutant.
"""

from __future__ import annotations

import argparse
import ast
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import random
import resource
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple

import hypothesis.strategies  # noqa: F401 -- all these are shared by the processes
import lark  # noqa: F401
import msgspec  # noqa: F401
import numpy  # noqa: F401
import pydantic  # noqa: F401
import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "dsl/ioplan"
ROOMS = {
    "language": PACKAGE / "language",
    "guard": PACKAGE / "runner/guard",
    "measure": PACKAGE / "results/measure",
}
"""Packages of ioplan; the tests of each stand in the folder of that name."""
FAST, SLOW = "not slow and not machine and not long", "not long"
CPU_LIMIT_S = 300
MEMORY_LIMIT_BYTES = 4 << 30
SWAPS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.And: ast.Or,
    ast.Or: ast.And,
}

Reached = dict[str, list[str]]
EACH = "each"
"""In place of a function: files that are run for each mutant."""


class Mutant(NamedTuple):
    """The change of one node of a file, by its number in the order of `nodes`."""

    room: str
    file: Path
    line: int
    node: int

    def __str__(self) -> str:
        return f"{self.file.relative_to(PACKAGE)}:{self.line}"


# --- Mutants --------------------------------------------------------------------------


def nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """What runs: no annotation, no decorator, no keyword of a class."""
    yield tree
    for name, value in ast.iter_fields(tree):
        left_out = name in ("annotation", "returns", "decorator_list", "keywords")
        if left_out and not isinstance(tree, ast.Call):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not _is_text(child):
                yield from nodes(child)


def _is_text(node: ast.AST) -> bool:
    """A docstring, an import, or what only a type checker reads."""
    if isinstance(node, ast.If):
        return ast.unparse(node.test) == "TYPE_CHECKING"
    alone = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return alone or isinstance(node, (ast.Import, ast.ImportFrom))


def change(node: ast.AST) -> Callable[[], None] | None:
    """What makes another of a node, in place; None where nothing does."""
    match node:
        case ast.Compare(ops=[first, *_]) if type(first) in SWAPS:
            return lambda: node.ops.__setitem__(0, SWAPS[type(first)]())  # type: ignore[call-overload]
        case ast.BinOp(op=op) | ast.BoolOp(op=op) if type(op) in SWAPS:
            return lambda: setattr(node, "op", SWAPS[type(op)]())
        case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test):
            return lambda: setattr(node, "test", ast.UnaryOp(ast.Not(), test))
        case ast.Return(value=ast.expr()):
            return lambda: setattr(node, "value", ast.Constant(None))
        case ast.Expr(value=ast.Call()):
            return lambda: setattr(node, "value", ast.Constant(None))
        case ast.Constant(value=bool() as flag):
            return lambda: setattr(node, "value", not flag)
        case ast.Constant(value=int() | float() as number):
            return lambda: setattr(node, "value", number + 1)
    return None


def mutants() -> list[Mutant]:
    """All that there are, in the order of rooms and files."""
    return [
        Mutant(room, file, node.lineno, number)
        for room in ROOMS
        for file in sorted(ROOMS[room].rglob("*.py"))
        for number, node in enumerate(nodes(ast.parse(file.read_text())))
        if change(node) and isinstance(node, (ast.expr, ast.stmt))
    ]


def drawn(seed: int, count: int) -> list[Mutant]:
    """So many, equally many of each room, in turn."""
    source, all_of_them = random.Random(seed), mutants()
    of_rooms = [
        source.sample([one for one in all_of_them if one.room == room], count)
        for room in ROOMS
    ]
    return [one for turn in zip(*of_rooms, strict=True) for one in turn][:count]


def mutated(mutant: Mutant) -> ast.Module:
    """Its file with the change."""
    tree = ast.parse(mutant.file.read_text())
    make = change(list(nodes(tree))[mutant.node])
    assert make
    make()
    return ast.fix_missing_locations(tree)


class Loader(importlib.machinery.SourceFileLoader):
    """Loads the mutant in its file's place."""

    def __init__(self, name: str, mutant: Mutant) -> None:
        super().__init__(name, str(mutant.file))
        self.mutant = mutant

    def get_code(self, fullname: str) -> Any:
        return compile(mutated(self.mutant), str(self.mutant.file), "exec")


class Finder(importlib.abc.MetaPathFinder):
    """Finds the module of a mutant before others do."""

    def __init__(self, mutant: Mutant) -> None:
        path = mutant.file.relative_to(PACKAGE.parent).with_suffix("")
        self.name = ".".join(path.parts).removesuffix(".__init__")
        self.mutant = mutant

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> Any:
        if fullname != self.name:
            return None
        loader = Loader(fullname, self.mutant)
        return importlib.util.spec_from_file_location(
            fullname, loader.path, loader=loader
        )


# --- Tests ----------------------------------------------------------------------------


class Reach:
    """Notes which tests call which functions of a room, by file and first line."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.test = ""
        self.tests: dict[str, set[str]] = defaultdict(set)
        self.codes: set[CodeType] = set()

    def _call(self, frame: FrameType, event: str, argument: Any) -> None:
        self.codes.add(frame.f_code)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self.codes.clear()
        sys.settrace(self._call)
        try:
            return (yield)
        finally:
            sys.settrace(None)
            for code in self.codes:
                if code.co_filename.startswith(self.folder):
                    key = f"{code.co_filename}:{code.co_firstlineno}"
                    self.tests[key].add(item.nodeid)


class Chosen:
    """Runs these tests only, all if there are none, and names the one that fails."""

    def __init__(self, ids: set[str], failed: Path) -> None:
        self.ids, self.failed = ids, failed

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.write_text(report.nodeid)

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [item for item in items if item.nodeid in self.ids] or items


def run(paths: list[str], marks: str, *plugins: object) -> int:
    """The exit code of pytest over the tests of some files or folders."""
    # pytest's own import hook would come before the mutant: ioplan is a plug-in of it.
    options = ["-x", "-q", "--assert=plain", "-p", "no:cacheprovider", "-m", marks]
    return int(pytest.main([*options, *paths], list(plugins)))


def apart(work: Callable[[], int]) -> int:
    """The exit code of `work` in a process of its own, below zero for a signal's."""
    if child := os.fork():
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    code = 70
    try:
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_LIMIT_S, CPU_LIMIT_S))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT_BYTES, MEMORY_LIMIT_BYTES))
        nowhere = os.open(os.devnull, os.O_RDWR)
        for number in (1, 2) if "IOPLAN_SHOWN" not in os.environ else ():
            os.dup2(nowhere, number)
        code = work()
    finally:
        os._exit(code)


def reach(room: str, tests: Path, marks: str, kept: Path) -> Reached:
    """Which tests of a room's folder run each of its lines, `{file:line: tests}`."""

    def work() -> int:
        seen = Reach(str(ROOMS[room]))
        code = run([str(tests / room)], marks, seen)
        kept.write_text(
            json.dumps({at: sorted(found) for at, found in seen.tests.items()})
        )
        return code

    if code := apart(work):
        raise SystemExit(f"the tests of {room} fail without any mutant (exit {code})")
    return json.loads(kept.read_text())  # type: ignore[no-any-return]


def end_of(
    mutant: Mutant, lines: Reached, tests: Path, marks: str, failed: Path
) -> str:
    """`found` and by which test, `survived`, or `not reached`."""
    function = first_line_of_function(mutant)
    ids = set(lines.get(f"{mutant.file}:{function}", ()))
    if function and not ids and EACH not in lines:
        return "not reached"
    files = sorted({str(tests.parent / name.partition("::")[0]) for name in ids})
    files = files or lines.get(EACH, []) or [str(tests / mutant.room)]
    failed.write_text("on import, or in time")

    def work() -> int:
        sys.meta_path.insert(0, Finder(mutant))
        return run(files, marks, Chosen(ids, failed))

    return f"found {failed.read_text()}" if apart(work) else "survived"


def first_line_of_function(mutant: Mutant) -> int:
    """Of the innermost function that a mutant is in; 0 for what runs on import."""
    first = 0
    for node in ast.walk(ast.parse(mutant.file.read_text())):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            begins = min([node.lineno, *(one.lineno for one in node.decorator_list)])
            if node.body[0].lineno <= mutant.line <= (node.end_lineno or 0):
                first = max(first, begins)
    return first


def main() -> None:
    """Prints a line a mutant and the share that was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=27)
    parser.add_argument("--of", type=int, default=300)
    parser.add_argument("--took", type=int, default=300)
    parser.add_argument("--room", choices=ROOMS, help="those of the sample in it only")
    parser.add_argument("--files", nargs="*", help="files of tests for all of a room")
    parser.add_argument("--skip", type=int, default=0, help="this many of the sample")
    parser.add_argument("--tests", type=Path, default=ROOT / "tests")
    parser.add_argument("--slow", action="store_true", help="slow tests, too")
    parser.add_argument("--list", action="store_true", help="show the changes only")
    asked = parser.parse_args()
    sample = drawn(asked.seed, asked.of)[: asked.took]
    rooms = (asked.room,) if asked.room else ROOMS
    sample = [mutant for mutant in sample if mutant.room in rooms][asked.skip :]
    if asked.list:
        for mutant in sample:
            print(mutant, ast.unparse(mutated(mutant)).splitlines()[0])
        return
    os.chdir(asked.tests.parent)
    tests, marks = asked.tests, SLOW if asked.slow else FAST
    ends: dict[str, int] = defaultdict(int)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lines = (
            {room: {EACH: asked.files} for room in rooms}
            if asked.files
            else {room: reach(room, tests, marks, folder / room) for room in rooms}
        )
        for mutant in sample:
            failed = folder / "failed"
            end = end_of(mutant, lines[mutant.room], tests, marks, failed)
            ends[end.partition(" ")[0]] += 1
            print(f"{mutant}: {end}", flush=True)
    print(f"{ends['found']} of {len(sample)} found", dict(ends))


if __name__ == "__main__":
    main()
