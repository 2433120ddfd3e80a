"""A lab of four namespaces in which faults happen, and what each of them is given."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from faults import Strike
from hour_ahead import hour_ahead
from msgspec import Struct
from netlab import NetLab, netlab, wait_for
from test_netlab import detached, plan, stored, up

from fault_rows.moments import Moments
from ioplan.results.store import Store

CELLS = 4
FIRST_PASSWORD = "first"


class Scene(Struct):
    """The lab, and the job that the fault happens to."""

    lab: NetLab
    folder: Path
    moments: Moments
    cells: int = CELLS
    """Of each drive in each job."""
    jobs: list[str] = []
    """All of which are audited; the last is the one that `status` is asked of."""

    def begin(self, run: str = "500ms") -> str:
        """A job on both drives; its id."""
        return self.watch(detached(self.lab, plan(self.folder, run, self.cells)))

    def begun(self) -> str:
        """A job of which each host has stored a run."""
        job = self.begin("1s")
        wait_for(lambda: all(stored(one, job) for one in self.hosts), 120)
        return job

    def watch(self, job: str) -> str:
        self.jobs.append(job)
        self.moments.job = job
        return job

    @property
    def hosts(self) -> list:
        return list(self.lab.hosts.values())

    @property
    def has_ended(self) -> bool:
        """Whether all lanes of the job have."""
        out = self.lab.coordinator.ioplan("status", self.jobs[-1]).stdout
        return out.count(" ok ") == len(self.lab.hosts)

    def until_ended(self) -> None:
        wait_for(lambda: self.has_ended, 180)

    def until_complete(self, seconds: float) -> None:
        """Wait until `status` says that all is there. Raises AssertionError."""
        self.moments.until_complete(len(self.hosts) * self.cells, seconds)

    def resume(self) -> None:
        """What a person does after lanes have failed."""
        done = self.lab.coordinator.ioplan("resume", self.jobs[-1])
        assert done.returncode in (0, 4), done.stdout + done.stderr

    def attach(self) -> None:
        """A client looks, and so lanes that died are started again."""
        done = self.lab.coordinator.ioplan("attach", self.jobs[-1])
        assert done.returncode in (0, 4), done.stdout + done.stderr

    def up(self) -> None:
        up(self.lab)

    def sql(self, *statements: str) -> None:
        """As its owner, whatever is written to."""
        assert self.lab.database
        words = {"options": "-c default_transaction_read_only=off"}
        with psycopg.connect(
            self.lab.database.local, autocommit=True, **words
        ) as there:
            for one in statements:
                there.execute(one)

    def set_password(self, word: str) -> None:
        self.sql(f"ALTER ROLE ioplan PASSWORD '{word}'")

    def tell_password(self, word: str) -> None:
        """To all hosts, by the file that libpq reads."""
        tell_password(self.folder, word)

    def set_clock_ahead(self, on: bool) -> None:
        """Of the second host: an hour, at once."""
        file = self.folder / "ahead"
        file.touch() if on else file.unlink()


def once_stored(scene: Scene, strike: Strike) -> None:
    """Each host has stored a run."""
    scene.begun()
    strike(scene)


def before_the_job(scene: Scene, strike: Strike) -> None:
    """What was struck is away until the job has ended."""
    strike(scene)
    scene.begin()
    scene.until_ended()


def alone(scene: Scene, strike: Strike) -> None:
    """The strike itself begins its jobs."""
    strike(scene)


def tell_password(folder: Path, word: str) -> None:
    file = folder / "pgpass"
    file.touch(mode=0o600)
    file.write_text(f"*:*:*:*:{word}\n")


@contextmanager
def fault_lab(folder: Path) -> Iterator[NetLab]:
    """Coordinator, two hosts and PostgreSQL, which asks for a password."""
    tell_password(folder, FIRST_PASSWORD)
    known = {"PGPASSFILE": str(folder / "pgpass")}
    ahead = hour_ahead(folder, folder / "ahead")
    disks = {"database": "90m", "h2": "60m"}
    more = {"h1": known, "h2": known | ahead}
    with netlab(folder, "h1", "h2", shared=True, disks=disks, more=more) as lab:
        lab.coordinator.more.update(known)
        assert lab.database
        Store.at(lab.database.local).close()  # makes the tables
        _ask_for_passwords(lab)
        lab.close_ports()
        up(lab)
        yield lab


def _ask_for_passwords(lab: NetLab) -> None:
    assert lab.database
    file = lab.database.data / "pg_hba.conf"
    lines = [
        line.replace(" trust", " scram-sha-256") if "/24 " in line else line
        for line in file.read_text().splitlines()
    ]
    file.write_text("\n".join([*lines, ""]))
    with psycopg.connect(lab.database.local, autocommit=True) as there:
        there.execute(f"ALTER ROLE ioplan PASSWORD '{FIRST_PASSWORD}'")
        there.execute("SELECT pg_reload_conf()")


def kill(pid: int) -> None:
    os.kill(pid, 9)


def pause(seconds: float) -> None:
    """A loop: the machine may be suspended, and a fault has to last."""
    until_s = time.monotonic() + seconds
    while time.monotonic() < until_s:
        time.sleep(0.5)
