"""What a scheduler or a worker has to say goes to its log, as text and nothing else."""

from __future__ import annotations

import sys

from ioplan.core import printable_lines


def log(text: str) -> None:
    """A line at once: others' names and messages in it steer no terminal."""
    sys.stdout.write(f"{printable_lines(text)}\n")
    sys.stdout.flush()
