"""Changes of single expressions, put in place of a module while that is imported.

No file changes. `PYTEST_MUTANT` tells a Python process what to `install`; its name is one
that `own_environment` keeps. What tests start learns of it by a `.pth` of the environment
that it runs in, so what processes do counts as well, but of those that are started with no
environment or by `python -S`.
"""

import ast
import builtins
import importlib.machinery
import importlib.util
import mmap
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType
from typing import Any, NamedTuple

VARIABLE = "PYTEST_MUTANT"
HOOK = f"""import os; {VARIABLE!r} in os.environ and exec(open({__file__!r}).read(), \
{{"__name__": "hook", "__file__": {__file__!r}}})\n"""
LINES = 1 << 12
"""No file has more."""
PAIRS = (
    "Lt LtE, LtE Lt, Gt GtE, GtE Gt, Eq NotEq, NotEq Eq, In NotIn, NotIn In, Is IsNot,"
    "IsNot Is, Add Sub, Sub Add, Mult FloorDiv, Div Mult, FloorDiv Mult, Mod Mult,"
    "And Or, Or And"
)
SWAPS: dict[type, type] = {
    getattr(ast, name): getattr(ast, other)
    for name, other in map(str.split, PAIRS.split(","))
}
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
Change = Callable[[ast.Module], None]
Block = list[Any] | None
"""Statements of a function, that run one after the other."""


class Mutant(NamedTuple):
    """The change of one node of a file, by its number in the order of `places`."""

    file: Path
    node: int
    line: int
    block: int
    """The first line of the statements that it is among; 0 for what runs on import."""
    key: str
    """What it changes, which stays when other code is changed, or it is moved."""


class Place(NamedTuple):
    """A node, the statements that it is among, and the name of what it is in."""

    node: ast.AST
    block: Block
    name: str


# --- What is changed ------------------------------------------------------------------


def places(node: ast.AST, block: Block = None, name: str = "") -> Iterator[Place]:
    """What runs: no annotation, no decorator, no keyword of a class."""
    yield Place(node, block, name)
    if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
        name = f"{name}.{node.name}".lstrip(".")
    for field, value in ast.iter_fields(node):
        left_out = field in ("annotation", "returns", "decorator_list", "keywords")
        if left_out and not isinstance(node, ast.Call):
            continue
        children = value if isinstance(value, list) else [value]
        runs_later = bool(block) or isinstance(node, FUNCTIONS)
        is_block = bool(children) and isinstance(children[0], ast.stmt) and runs_later
        for child in children:
            if isinstance(child, ast.AST) and not _is_text(child):
                yield from places(child, children if is_block else block, name)


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
            return lambda: node.ops.__setitem__(0, SWAPS[type(first)]())
        case ast.BinOp(op=op) | ast.BoolOp(op=op) if type(op) in SWAPS:
            return lambda: setattr(node, "op", SWAPS[type(op)]())
        case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test):
            return lambda: setattr(node, "test", ast.UnaryOp(ast.Not(), test))
        case ast.Return(value=ast.expr()) | ast.Expr(value=ast.Call()):
            return lambda: setattr(node, "value", ast.Constant(None))
        case ast.Constant(value=bool() as flag):
            return lambda: setattr(node, "value", not flag)
        case ast.Constant(value=int() | float() as number):
            return lambda: setattr(node, "value", number + 1)
    return None


def mutants(folders: list[Path]) -> Iterator[Mutant]:
    """All that there are in them, in the order of files."""
    times = Counter[str]()
    for file in files_of(folders):
        for number, (node, block, name) in enumerate(places(_tree(file))):
            if isinstance(node, (ast.expr, ast.stmt)) and change(node):
                key = f"{name}: {ast.unparse(node).splitlines()[0]}"
                times[key] += 1
                line = block[0].lineno if block else 0
                key += f" #{times[key]}" if times[key] > 1 else ""
                yield Mutant(file, number, node.lineno, line, key)


def files_of(folders: list[Path]) -> list[Path]:
    """The modules in some folders."""
    return sorted(file for folder in folders for file in folder.rglob("*.py"))


def _tree(file: Path) -> ast.Module:
    return ast.parse(file.read_bytes())


def put(number: int) -> Change:
    """Change the node of that number."""

    def make(tree: ast.Module) -> None:
        changed = change(list(places(tree))[number].node)
        assert changed
        changed()

    return make


def mark(first: int) -> Change:
    """Let each block of a function note that it runs, by its first line."""

    def make(tree: ast.Module) -> None:
        blocks = {id(block): block for _, block, _ in places(tree) if block}
        for block in blocks.values():
            line = block[0].lineno
            note = ast.parse(f"__reached__[{first + line}] = 1")
            ast.increment_lineno(note, line - 1)
            block.insert(int(_is_text(block[0])), note.body[0])

    return make


# --- Where it is put in place ---------------------------------------------------------


class Loader(importlib.machinery.SourceFileLoader):
    """Loads a changed module."""

    def __init__(self, name: str, file: Path, make: Change) -> None:
        super().__init__(name, str(file))
        self.make = make

    def get_code(self, fullname: str) -> Any:
        return _code(Path(self.path), self.make)


class Finder:
    """Finds changed modules before others do."""

    def __init__(self, changes: dict[Path, Change]) -> None:
        self.changes = {module_of(file): (file, changes[file]) for file in changes}

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> Any:
        if fullname not in self.changes:
            return None
        loader = Loader(fullname, *self.changes[fullname])
        return importlib.util.spec_from_file_location(
            fullname, loader.path, loader=loader
        )


def install(what: str) -> None:
    """The mutant `NODE:FILE`; or `:MAP:FOLDER:...`, what notes in a map which blocks run.

    The map has a byte for each line of each file.
    """
    os.environ[VARIABLE] = what
    number, first, *names = what.split(os.pathsep)
    if number:
        changes = {Path(first): put(int(number))}
    else:
        with Path(first).open("r+b") as file:
            builtins.__reached__ = mmap.mmap(file.fileno(), 0)
        files = files_of([Path(name) for name in names])
        changes = {file: mark(place * LINES) for place, file in enumerate(files)}
    sys.meta_path.insert(0, Finder(changes))


def module_of(file: Path) -> str:
    """The name by which a file is imported."""
    top = file.parent
    while (top / "__init__.py").exists():
        top = top.parent
    parts = file.relative_to(top).with_suffix("").parts
    return ".".join(parts).removesuffix(".__init__")


def _code(file: Path, make: Change) -> CodeType:
    tree = _tree(file)
    make(tree)
    return compile(ast.fix_missing_locations(tree), file, "exec", dont_inherit=True)


def changed_codes(mutant: Mutant) -> dict[CodeType, CodeType]:
    """What the functions of its file get instead of their code; empty where none can."""
    before = _code(mutant.file, lambda tree: None)
    pairs = _pairs(before, _code(mutant.file, put(mutant.node)))
    codes = {code: changed for code, changed in pairs if code != changed}
    can = all(code.co_freevars == codes[code].co_freevars for code in codes)
    return codes if can else {}


def _pairs(*codes: CodeType) -> Iterator[tuple[CodeType, ...]]:
    """The codes of inner functions, unless the change takes one of them away."""
    inner = [[c for c in code.co_consts if isinstance(c, CodeType)] for code in codes]
    names = [[code.co_name for code in of_code] for of_code in inner]
    for pair in zip(*inner, strict=True) if names[0] == names[1] else ():
        yield pair
        yield from _pairs(*pair)


if __name__ == "hook":
    install(os.environ[VARIABLE])
