"""`ioplan lab up --here`: a lab of this host, with its own PostgreSQL and worker."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from ioplan.cli import UsageError, print_line
from ioplan.core import fcntl
from ioplan.core.state_folder import state_folder
from ioplan.results.store import default_path as default_store
from ioplan.results.store import make_own
from ioplan.runner import Lab, default_path, login_name, read_lab, usual_path
from ioplan.runner.guard.survey import survey
from ioplan_lab.database.connection import lab_database
from ioplan_lab.database.initialize import init_here, role_of
from ioplan_lab.here.own_postgres import OwnPostgres
from ioplan_lab.host.folder import drive_jobs_root
from ioplan_lab.people.propose import entry, is_unused

START_S = 30
REPORTS = "SELECT 1 FROM lab.v_host WHERE silent_s < 30"


def up(here: bool, lab: Path | None) -> None:
    """Start what does not run. Raises UsageError, StoreError, OSError."""
    _check(here)
    postgres, file = OwnPostgres(), lab or default_path() or usual_path()
    postgres.start()
    init_here(postgres.address, host_name(), login_name())
    name_results(file, postgres.results)
    if not is_at_work():
        start_worker(file)
    wait_for_worker(postgres.results)
    print_line(f"the lab of this host is up; its file is {file}")
    print_line("ioplan lab drives")


def down(here: bool) -> None:
    """Stop the worker and PostgreSQL; what runs goes on, and is stored later."""
    _check(here)
    if is_at_work():
        os.kill(int(worker_file().read_text()), signal.SIGTERM)
        wait_until(lambda: not is_at_work())  # else `up` would take it for at work
    was_up = OwnPostgres().stop()
    print_line("the lab of this host is down" if was_up else "it was not up")


def _check(here: bool) -> None:
    if not here:
        raise UsageError(
            "hosts start their worker themselves, by systemd: ioplan lab worker; for "
            "a lab of this host alone add --here"
        )


def host_name() -> str:
    """This host's, as the lab calls it."""
    return re.sub(r"[^A-Za-z0-9_.-]", "-", socket.gethostname().partition(".")[0])


def name_results(file: Path, results: str) -> None:
    """Have the file name the database; a new one gets the unused drives, too.

    Raises UsageError where it names another one.
    """
    text = file.read_text() if file.exists() else ""
    known = read_lab(file).results if text else None
    if known == results:
        return
    if known:
        raise UsageError(f"{file} names other results already: {known}")
    make_own(file.parent)
    lines = [f"results = {json.dumps(results)}", text]
    for drive in () if text else filter(is_unused, survey(Lab())):
        lines += entry(drive)
    part = file.with_name(f".{file.name}.part")
    part.write_text("\n".join(lines))
    part.chmod(0o600)
    part.replace(file)


def worker_file() -> Path:
    """What a worker of this host has locked."""
    return drive_jobs_root(default_store()) / "worker"


def worker_log() -> Path:
    """What it writes."""
    return state_folder() / "worker.log"


def is_at_work() -> bool:
    """Whether there is one."""
    with suppress(FileNotFoundError), worker_file().open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def start_worker(file: Path) -> None:
    """By itself, as the role of this host."""
    make_own(state_folder())
    role = {"PGUSER": role_of("host", host_name()), "IOPLAN_LAB": str(file)}
    with worker_log().open("ab") as out:
        subprocess.Popen(
            [sys.executable, "-m", "ioplan.cli", "lab", "worker"],
            env={**os.environ, **role},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            start_new_session=True,
            cwd="/",
        )


def wait_for_worker(results: str) -> None:
    """Until it is at work and reports. Raises UsageError."""
    with lab_database(results) as database:
        wait_until(lambda: is_at_work() and bool(database.rows(REPORTS)))


def wait_until(holds: Callable[[], bool]) -> None:
    """Raises UsageError if it does not for long."""
    until_s = time.monotonic() + START_S
    while not holds():
        if time.monotonic() > until_s:
            raise UsageError(f"the worker does not answer; see {worker_log()}")
        time.sleep(0.1)
