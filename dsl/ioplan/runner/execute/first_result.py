"""What the first result needs, made while the first run goes on.

Pydantic's validators of a record take some 100 ms of CPU time. Before the
first run they would delay its I/O, and after it the next run's. The thread has the
CPUs of this process, which keeps off those that do the I/O.
"""

from __future__ import annotations

import os
from contextlib import suppress
from functools import cache
from threading import Thread

from ioplan.core.model import Model
from ioplan.core.system import count_cpus
from ioplan.job import Job, events
from ioplan.records import record, telemetry


def prepare_first_result(job: Job) -> None:
    """Once in a process, and only where the run leaves a CPU for it."""
    if _leaves_a_cpu(job):
        _begin()


def prepare_results() -> None:
    """For a process that others are forked from: for all of them, before it returns."""
    _begin().join()
    events()


def _leaves_a_cpu(job: Job) -> bool:
    return count_cpus() > 1 or (os.cpu_count() or 1) > job.threads


@cache
def _begin() -> Thread:
    thread = Thread(target=_prepare, daemon=True, name="ioplan first result")
    thread.start()
    return thread


def _prepare() -> None:
    with suppress(Exception):  # who needs it will tell better what is wrong
        for kind in (*vars(record).values(), *vars(telemetry).values()):
            if isinstance(kind, type) and issubclass(kind, Model):
                kind.model_rebuild()
