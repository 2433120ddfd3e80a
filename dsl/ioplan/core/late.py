"""Packages that are imported when they are first used.

    if TYPE_CHECKING:
        import numpy as np
    else:
        np = Late("numpy")

Importing numpy takes as long as ten starts of Python, and a run begins without it.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


class Late:
    """Stands for a module. Several threads may ask it at once."""

    def __init__(self, module: str) -> None:
        self.module_ = module

    def __getattr__(self, name: str) -> Any:
        """Asked once for each name; from then on it is an attribute."""
        if name.startswith("__"):  # what asks for these only looks what this is
            raise AttributeError(name)
        value = getattr(import_module(self.module_), name)
        setattr(self, name, value)
        return value
