"""Answers an editor on standard input and output."""

from __future__ import annotations

import gc

from ioplan_editor.serve import answers, changes, texts
from ioplan_editor.serve.server import server

FEATURES = answers, changes, texts
"""Each adds its own to the server when it is imported."""


def serve(program: str) -> None:
    """Answer on standard input and output until the editor ends.

    `program` is the module that rehearses tests.
    """
    server.program = program
    gc.freeze()
    gc.set_threshold(100_000, 20, 50)  # a tree has many nodes, and no circles
    server.start_io()
