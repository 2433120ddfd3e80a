"""Records what the installed fio prints, for the tests to replay.

    python tests/support/record_fio.py FOLDER_FOR_THE_TARGET

Run it by hand when a newer fio is to be understood; then read the diff.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from fio_jobs import MIB, job, one_size, stream

from golden import Golden
from ioplan.job import Job
from ioplan_fio import Settings, job_file
from ioplan_fio.jobfile import arguments
from targets import filled

RECORDINGS = Golden("fio_recordings")
MS_NS = 1_000_000
Meddle = Callable[["subprocess.Popen[str]", Path], None]


def nothing(process: subprocess.Popen[str], target: Path) -> None:
    """Let it run."""


def cut(process: subprocess.Popen[str], target: Path) -> None:
    """The target loses its end while it is read."""
    time.sleep(0.5)
    os.truncate(target, MIB)


def stop(process: subprocess.Popen[str], target: Path) -> None:
    """As ioplan ends a run."""
    time.sleep(0.7)
    process.send_signal(signal.SIGTERM)


def remove(process: subprocess.Popen[str], target: Path) -> None:
    """The target is gone before fio looks."""
    target.unlink()


SLOW = {"rate": {"iops": 300}}
JOBS: dict[str, tuple[Job, Meddle, Settings]] = {
    "streams": (
        job(
            stream(name="reader", threads=2, qd=4, **SLOW),
            stream(name="writer", read_percent=0, sync_every=8, **SLOW),
            run_ns=400 * MS_NS, warmup_ns=300 * MS_NS, interval_ns=200 * MS_NS,
        ), nothing, Settings(),
    ),
    "mixed": (
        job(
            stream(read_percent=70, **SLOW, write_sizes=one_size(8192)),
            run_ns=400 * MS_NS, interval_ns=200 * MS_NS,
        ),
        nothing, Settings(),
    ),
    "ended": (
        job(stream(qd=2, **SLOW), run_ns=900 * MS_NS, interval_ns=400 * MS_NS),
        cut, Settings(),
    ),
    "ended-psync": (
        job(stream(**SLOW), run_ns=900 * MS_NS, interval_ns=400 * MS_NS),
        cut, Settings(engine="psync"),
    ),
    "stopped": (
        job(stream(qd=2, **SLOW), run_ns=9000 * MS_NS, interval_ns=300 * MS_NS),
        stop, Settings(),
    ),
    "depth": (job(stream(qd=4, **SLOW), run_ns=200 * MS_NS), nothing, Settings(engine="psync")),
    "trim": (job(stream(trim_percent=100), run_ns=200 * MS_NS), nothing, Settings()),
    "missing": (job(stream(), run_ns=200 * MS_NS), remove, Settings()),
}  # fmt: skip


def record(name: str, folder: Path) -> None:
    """Keep the job, what came out, and how it ended."""
    asked, meddle, settings = JOBS[name]
    target = filled(folder / "target.bin")
    asked = asked.model_copy(update={"target": str(target)})
    file = folder / "run.fio"
    file.write_text(job_file(asked, settings))
    if meddle is remove:
        target.unlink()
    command = ["fio", *arguments(asked), str(file)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True) as process:
        if meddle is not remove:
            meddle(process, target)
        out, said = process.communicate()
    kept = {"code": process.returncode, "said": said, "job": asked.model_dump()}
    text = json.dumps({**kept, "out": out}).replace(str(folder), "/data")
    RECORDINGS.put(name, input=json.loads(text))


if __name__ == "__main__":
    for each in JOBS:
        record(each, Path(sys.argv[1]))
    RECORDINGS.write()
