"""What packages export is there, and tests that go behind it are named by lint."""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path
from types import ModuleType

import check_seams
import pytest

import ioplan.language

EXAMPLES = {"ioplan_blocking"}
"""Faces that are not installed with ioplan."""


@pytest.mark.parametrize("package", sorted(check_seams.FACES - EXAMPLES))
def test_each_exported_name_is_there_and_no_module(package: str) -> None:
    """A submodule of the same name would take its place once something imports it."""
    module = import_module(package)
    stub = Path(f"{module.__file__}i")
    nodes = ast.parse(stub.read_text()).body if stub.exists() else []
    for node in nodes:
        if isinstance(node, ast.ImportFrom):
            import_module(node.module or "")
            for name in node.names:
                assert not isinstance(getattr(module, name.name), ModuleType), name.name


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"ioplan\.language.*nothing"):
        _ = ioplan.language.nothing  # type: ignore[attr-defined]
