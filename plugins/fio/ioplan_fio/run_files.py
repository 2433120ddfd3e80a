"""The files of one run of fio: in the session's folder, or gone after it."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from ioplan.backends import BackendError
from ioplan.job import Job
from ioplan_fio.gate import StartGate
from ioplan_fio.jobfile import section_names
from ioplan_fio.replayed import remove_logs, write_logs


class RunFiles(Struct, frozen=True):
    """Where they are, and whether they are kept."""

    folder: Path
    name: str
    kept: bool

    @classmethod
    def of(cls, folder: str | None, number: int) -> RunFiles:
        """In the session's folder, or for a while in one of its own."""
        if folder is None:
            return cls(Path(tempfile.mkdtemp(prefix="ioplan-fio-")), "run", kept=False)
        path = Path(folder).absolute()
        with _writing(path):
            path.mkdir(parents=True, exist_ok=True)
        return cls(path, f"run-{number:04}", kept=True)

    def write(self, suffix: str, text: str) -> Path:
        """Write a file of the run. Raises BackendError."""
        path = self.folder / f"{self.name}{suffix}"
        with _writing(path):
            path.write_text(text)
        return path

    def gate(self, job: Job) -> StartGate:
        """Where the threads of a run are to wait. Raises BackendError."""
        with _writing(self.folder):
            threads = sum(stream.threads for stream in job.streams)
            return StartGate(self.folder, self.name, section_names(job), threads)

    def write_logs(self, job: Job) -> dict[str, int]:
        """The logs of the streams that replay; the FUA in each. Raises BackendError."""
        with _writing(self.folder):
            return write_logs(section_names(job), job, self.folder)

    def remove_logs(self, job: Job) -> None:
        """What a replay has left of its logs, its own and fio's."""
        remove_logs(section_names(job), job, self.folder)

    def close(self) -> None:
        """Remove what is not kept."""
        if not self.kept:
            shutil.rmtree(self.folder, ignore_errors=True)


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise BackendError(
            f"cannot write {path}: {error.strerror}; free some space there, or set "
            f"IOPLAN_STORE to a file elsewhere"
        ) from error
