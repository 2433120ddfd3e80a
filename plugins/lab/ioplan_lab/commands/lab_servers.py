"""The scheduler of a lab and the worker of a host, until they are stopped."""

from __future__ import annotations

import os
from pathlib import Path

from ioplan_lab.cluster.hosts.servers import (
    run_scheduler_forever,
    run_worker_forever,
)
from ioplan_lab.programs import PROGRAMS


def scheduler(at: str) -> None:
    """Run the scheduler until stopped."""
    run_scheduler_forever(at, PROGRAMS)


def worker(
    name: str, scheduler: str, host: str | None, port: int, store: str | None
) -> None:
    """Run the worker of a host until stopped."""
    if store:
        os.environ["IOPLAN_STORE"] = str(Path(store).expanduser())
    run_worker_forever(name, scheduler, host, port, PROGRAMS)
