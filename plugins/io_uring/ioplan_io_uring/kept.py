"""What a run did, kept as a trace: the files of its threads, joined when it ends."""

from __future__ import annotations

from importlib import import_module
from itertools import count
from pathlib import Path

from msgspec import Struct

from ioplan.backends import BackendError
from ioplan.job import Failure, Job, Result
from ioplan.trace.facts import TraceError


class KeptTrace(Struct, frozen=True):
    """A trace to be: where, and of how many threads."""

    path: Path
    threads: int

    @classmethod
    def new(cls, folder: Path, job: Job) -> KeptTrace:
        """The next number that is free in a folder. Raises BackendError."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise BackendError(f"no traces in {folder}: {error.strerror}") from error
        numbered = (folder / f"run-{number:04}.iotrace" for number in count(1))
        path = next(path for path in numbered if not path.exists())
        return cls(path.resolve(), sum(stream.threads for stream in job.streams))

    @property
    def prefix(self) -> Path:
        """What the names of the threads' files begin with."""
        return self.path.with_suffix(".thread")

    def _parts(self) -> list[Path]:
        return sorted(self.path.parent.glob(f"{self.prefix.name}.*"))

    def join(self, result: Result) -> Result | Failure:
        """The result that names the trace; a failure where it is not whole."""
        parts = self._parts()
        try:
            if len(parts) < self.threads:
                raise TraceError("a thread could not write its part; is the disk full?")
            import_module("ioplan.trace.convert").joined(parts, self.path)  # by numpy
        except (TraceError, OSError) as error:
            self.path.unlink(missing_ok=True)
            text = f"the trace {self.path} could not be kept: {error}"
            return Failure(cause="backend-error", message=text)
        facts = {**result.facts, "trace": self.path.name}
        return result.model_copy(update={"facts": facts})

    def remove_parts(self) -> None:
        """Whatever became of the run."""
        for part in self._parts():
            part.unlink(missing_ok=True)
