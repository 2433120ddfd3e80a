"""What a package exports, listed once: in the `__init__.pyi` beside its `__init__`.

    __getattr__, __dir__ = face(__name__, __file__)

A type checker reads the list as it stands. A module is loaded when one of its names is
first used, so that a command starts without what it does not need.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

IMPORT = re.compile(r"^from (\S+) import ([^#]+?)(?=^from|\Z)", re.MULTILINE)
NAME = re.compile(r"(\w+) as \1\b")


def face(
    package: str, file: str
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package whose `__init__` is `file`."""

    def load(name: str) -> Any:
        module = exports(file).get(name)
        if module is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(module), name)
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *exports(file)})

    return load, names


@cache
def exports(file: str) -> dict[str, str]:
    """The names that the package with this `__init__` exports, and of what modules."""
    with open(f"{file}i", encoding="utf-8") as stub:  # noqa: PTH123  pathlib takes 5 ms
        imports = IMPORT.findall(stub.read())
    return {name: module for module, names in imports for name in NAME.findall(names)}
