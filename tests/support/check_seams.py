"""Which tests and plug-ins import below the seams: `make lint`.

    python tests/support/check_seams.py [--renew]

Tests reach the product at the faces of its packages, so that what is behind a face can
change. `tests/below_seams.txt` lists the files that still import something else; the list
may only become shorter. `--renew` leaves out what no longer belongs there. What tests use
of a face, its package must export. A plug-in comes in by the same doors, a backend by
`ioplan.backends` alone.
"""

import ast
import sys
from importlib import import_module
from pathlib import Path

TESTS = Path(__file__).parents[1]
LIST = TESTS / "below_seams.txt"
FACES = frozenset(
    [
        "ioplan",
        "ioplan.api",
        "ioplan.backends",
        "ioplan.job",
        "ioplan.workload",
        "ioplan.cli",
        "ioplan.core",
        "ioplan.language",
        "ioplan.planner",
        "ioplan.process.backend",  # as docs/protocol.md has it for plug-ins
        "ioplan.records",
        "ioplan.runner",
        "ioplan.runner.guard",
        "ioplan.results",
        "ioplan.results.store",
        "ioplan.results.measure",
        "ioplan.results.compare",
        "ioplan.results.history",
        "ioplan.results.report",
        "ioplan.trace",
        "ioplan_blocking",  # of an example
        "ioplan_editor",
        "ioplan_fio",
        "ioplan_importer",
        "ioplan_io_uring",
        "ioplan_lab",
        "ioplan_sim",
        "ioplan_spdk",
        "ioplan_testing",
        "ioplan_witness",
    ]
)


DOORS = FACES | {
    "ioplan.core.face",  # makes a package's face
    "ioplan.cli.interface",  # options that commands share, as a module of them
    "ioplan.core.state_folder",
    "ioplan.language.lints.lints",
    "ioplan.language.syntax",
    "ioplan.results.store.session_folder",
    "ioplan.runner.execute.execute",
    "ioplan.runner.guard.survey",
    "ioplan.trace.convert",
}
"""The doors of plug-ins; the last seven are modules whose names their packages have."""
BACKENDS = ("fio", "io_uring", "sim", "spdk")


def imported_modules(file):
    """The modules of ioplan and its plug-ins from which a file imports."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom):
            yield node.module or ""
        elif isinstance(node, ast.Import):
            yield from (name.name for name in node.names)


def unexported(file):
    """What a file uses of faces that they do not export."""
    tree = ast.parse(file.read_text())
    faces = {}
    for node in ast.walk(tree):
        for name in node.names if isinstance(node, ast.ImportFrom) else ():
            module = f"{node.module}.{name.name}"
            if module in FACES:
                faces[name.asname or name.name] = module
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            face = faces.get(node.value.id)
            if face and not hasattr(import_module(face), node.attr):
                yield f"{face}.{node.attr}"


def below_seams():
    """Test files by their path, each with the modules behind a face that it imports."""
    modules = {
        str(file.relative_to(TESTS)): sorted(
            module
            for module in {*imported_modules(file)} - FACES
            if module.split(".")[0].startswith("ioplan")
        )
        for file in sorted(TESTS.rglob("test_*.py"))
    }
    return {file: behind for file, behind in modules.items() if behind}


def beside_doors():
    """What plug-ins import of other modules, one line each."""
    for file in sorted(TESTS.parent.glob("plugins/*/ioplan_*/**/*.py")):
        plugin = file.relative_to(TESTS.parent).parts[1]
        doors = {"ioplan.backends", "ioplan.core.face"} if plugin in BACKENDS else DOORS
        for module in sorted({*imported_modules(file)} - doors):
            if module.split(".")[0] == "ioplan":
                yield f"{file.relative_to(TESTS.parent)}: imports {module}, not a door"


def main():
    """The exit code: 1 where a file imports behind a face, or need not be listed."""
    below, listed = below_seams(), LIST.read_text().split()
    if sys.argv[1:] == ["--renew"]:
        LIST.write_text("".join(f"{file}\n" for file in listed if file in below))
        return 0
    for file in sorted(below.keys() - set(listed)):
        print(
            f"tests/{file}: imports {', '.join(below[file])}, behind a face; use what"
        )
        print("  a package's __init__.pyi exports, the command line or the Python API")
    for file in sorted(set(listed) - below.keys()):
        print(f"tests/{file}: needs no place in {LIST.name} any more; take it out:")
        print("  python tests/support/check_seams.py --renew")
    missing = [*beside_doors()] + [
        f"tests/{file.relative_to(TESTS)}: {name} is not exported"
        for file in sorted(TESTS.rglob("*.py"))
        for name in unexported(file)
    ]
    print("\n".join(missing), end="\n" * bool(missing))
    return int(sorted(listed) != sorted(below) or bool(missing))


if __name__ == "__main__":
    sys.exit(main())
