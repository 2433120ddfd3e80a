"""Answers an editor on standard input and output."""

from __future__ import annotations

import gc
import sys
from typing import Any

from ioplan_editor.serve import answers, changes, texts
from ioplan_editor.serve.bounded import BoundedInput
from ioplan_editor.serve.server import server

FEATURES = answers, changes, texts
"""Each adds its own to the server when it is imported."""


def serve() -> None:
    """Answer on standard input and output until the editor ends."""
    gc.freeze()
    gc.set_threshold(100_000, 20, 50)  # a tree has many nodes, and no circles
    stdin: Any = BoundedInput(sys.stdin.buffer, sys.stdout.buffer)
    server.start_io(stdin)
