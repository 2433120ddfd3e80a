"""No files import each other in a circle; the layers themselves are in pyproject.toml."""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter

import grimp

PLUGINS = ("editor", "fio", "importer", "io_uring", "lab", "sim", "spdk", "witness")
PACKAGES = ("ioplan", *(f"ioplan_{name}" for name in PLUGINS))


def test_no_files_import_each_other() -> None:
    graph = grimp.build_graph(*PACKAGES, cache_dir=None)
    imports = {
        module: graph.find_modules_directly_imported_by(module)
        for module in graph.modules
    }
    try:
        tuple(TopologicalSorter(imports).static_order())
    except CycleError as error:
        raise AssertionError(f"a circle: {' -> '.join(error.args[1])}") from None
