"""The files of one run of fio: in the session's folder, or gone after it."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock, Timer

from msgspec import Struct

from ioplan.backends import SECOND_NS, BackendError, Job, fcntl
from ioplan_fio.jobfile import section_names
from ioplan_fio.replayed import remove_logs, write_logs

# Threads of fio that begin at a given time: they wait behind a lock.
#
# fio begins when it is ready, and knows no other time. But each thread first runs a
# command of its job, `exec_prerun`: here one that leaves a mark, waits for a lock
# that is held, and writes down when it got it. So all is made ready before, and what
# is left between the lock and the I/O is the end of one small process.

NEEDED = ("flock", "date")


class StartGate:
    """`command` is what each thread runs, in `folder`. Closed until `open_at`."""

    def __init__(
        self, folder: Path, name: str, sections: Iterable[str], threads: int
    ) -> None:
        """`sections` are those of the job file. Raises BackendError, OSError."""
        for program in NEEDED:
            if shutil.which(program) is None:
                raise BackendError(
                    f"fio is stopped at the start by {program}, which is not "
                    "installed; it is in util-linux or coreutils"
                )
        self.threads = threads
        # what fio itself writes of each command
        self.prerun_outputs = [folder / f"{one}.prerun.txt" for one in sections]
        self.files = [folder / f"{name}.{one}" for one in ("gate", "ready", "began")]
        gate, ready, began = self.files
        for file in (ready, began):
            file.write_text("")
        self.fd = os.open(gate, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(self.fd, fcntl.LOCK_EX)
        wait = f"flock -s {gate.name} date +%s%N >>{began.name}"
        self.command = f"(echo >>{ready.name} && {wait})"
        self.lock = Lock()  # a number that is closed may be another file's
        self.timer: Timer | None = None

    @property
    def is_reached(self) -> bool:
        """Whether all threads stand before it."""
        return len(self.files[1].read_text()) >= self.threads

    @property
    def began_ns(self) -> int | None:
        """When the last thread came through, by CLOCK_REALTIME."""
        times = [int(line) for line in self.files[2].read_text().split()]
        return max(times) if len(times) == self.threads else None

    def open_at(self, at_ns: int) -> None:
        """Let them through at that time, all of them."""
        wait_s = max(0, at_ns - time.time_ns()) / SECOND_NS
        self.timer = Timer(wait_s, self.open)
        self.timer.daemon = True
        self.timer.start()

    def open(self) -> None:
        """Let them through now."""
        with self.lock:
            if self.fd >= 0:
                fcntl.flock(self.fd, fcntl.LOCK_UN)

    def close(self) -> None:
        """Hold nobody any more, and leave no files."""
        if self.timer:
            self.timer.cancel()
            self.timer.join()
        with self.lock:
            os.close(self.fd)
            self.fd = -1
        for file in (*self.files, *self.prerun_outputs):
            with suppress(OSError):
                file.unlink()


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
