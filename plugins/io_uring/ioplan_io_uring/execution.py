"""One run of the engine: the program of this backend, and how it is called."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ioplan.process.execution import ProcessExecution
from ioplan_io_uring.engine import clock_reading


class EngineExecution(ProcessExecution):
    """A running engine."""

    def __init__(self, program: Path, job: str, held_fds: Sequence[int]) -> None:
        """`job` is JSON in one line; `held_fds` the locked targets."""
        super().__init__(
            [program, "run", "--lifeline"],
            job,
            who="the engine",
            held_fds=held_fds,
            environment=clock_reading(program),
        )
