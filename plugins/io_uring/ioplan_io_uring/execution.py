"""One run of the engine: the program of this backend, and how it is called."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from ioplan.job import Event, Result
from ioplan.process.execution import ProcessExecution
from ioplan_io_uring.engine import clock_reading
from ioplan_io_uring.kept import KeptTrace


class EngineExecution(ProcessExecution):
    """A running engine."""

    def __init__(
        self,
        program: Path,
        job: str,
        held_fds: Sequence[int],
        kept: KeptTrace | None = None,
        kept_fds: Sequence[int] = (),
    ) -> None:
        """`job` is JSON in one line; `held_fds` the locked targets; `kept_fds` are
        inherited, too."""
        self.kept = kept
        super().__init__(
            [program, "run", "--lifeline"],
            job,
            who="the engine",
            held_fds=held_fds,
            kept_fds=kept_fds,
            environment=clock_reading(program),
        )

    def __iter__(self) -> Iterator[Event]:
        """Events up to Result or Failure; with the trace, where one is kept."""
        if self.kept is None:
            yield from super().__iter__()
            return
        try:
            for event in super().__iter__():
                yield self.kept.join(event) if isinstance(event, Result) else event
        finally:
            self.kept.remove_parts()
