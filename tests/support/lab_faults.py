"""What goes wrong in a lab, each written once: for tests, and for the table of docs/labs.md.

A fault is a function of a lab in which a job runs on two hosts. It returns at the end of the
fault, after what a person has to do by hand.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from threading import Event, Thread
from typing import NamedTuple

import psycopg
from lab_pages import PageServer
from postgres import children
from small_lab import SmallLab, each_once, status_is_count

from targets import fill_up

AWAY_S, STORED_S = 6.0, 420.0
NEWER = "import ioplan_lab.host.drive_job as it; it.SCHEMA = 2; from ioplan.cli import main; main()"
Act = Callable[[SmallLab], None]


class Fault(NamedTuple):
    """`needs` says which labs have it; `by_hand` is what the person did, and `before`
    what happens before the job."""

    act: Act
    needs: str = ""
    by_hand: str = ""
    seconds: str = "3s"
    before: Act | None = None


# ---- processes


def pids(lab):
    return {pid for host in lab.hosts.values() for pid in host.drive_job_pids()}


def workers_killed(lab):
    before = pids(lab)
    for host in lab.hosts.values():
        host.kill_worker()
    assert pids(lab) == before, "the I/O goes on"
    for host in lab.hosts.values():
        host.start_worker()
    time.sleep(2)
    assert pids(lab) <= before, "nothing was started twice"


def drive_jobs_killed(lab):
    assert sum(host.kill_drive_jobs() for host in lab.hosts.values())


def engines_killed(lab):
    for pid in pids(lab):
        for engine in children(pid):
            os.kill(engine, signal.SIGKILL)
    lab.wait(lambda: lab.statuses(lab.last_job) == {"failed"})
    resumed(lab)


def resumed(lab):
    lab.ada.ok("resume", lab.last_job, "--detach")


def hosts_killed(lab):
    for host in lab.hosts.values():
        host.kill_worker()
        host.kill_drive_jobs()
    time.sleep(1)
    for host in lab.hosts.values():
        host.start_worker()


# ---- PostgreSQL


def postgres_stopped(lab):
    lab.postgres.stop()
    away(lab)
    lab.postgres.start()


def postgres_killed(lab):
    lab.postgres.kill()
    away(lab)
    lab.postgres.start()


def postgres_away_until_the_end(lab):
    lab.postgres.stop()
    lab.wait_locally()
    lab.postgres.start()


def killed_while_postgres_is_away(lab):
    lab.postgres.stop()
    drive_jobs_killed(lab)
    lab.wait_locally()
    lab.postgres.start()


def killed_with_worker_while_postgres_is_away(lab):
    lab.postgres.stop()
    hosts_killed(lab)
    lab.wait_locally()
    lab.postgres.start()


def away(lab):
    """`status` says what it knew, and never 0."""
    done = lab.ada.ioplan("lab", "status", lab.last_job)
    assert done.code == 3
    assert "unknown; " in done.out
    assert "when last asked" in done.out
    time.sleep(AWAY_S)


def postgres_read_only(lab):
    lab.execute("ALTER SYSTEM SET default_transaction_read_only = on")
    lab.execute("SELECT pg_reload_conf()")
    lab.wait_locally()
    time.sleep(5)
    lab.postgres.stop()
    conf = lab.postgres.data / "postgresql.auto.conf"
    conf.write_text(conf.read_text().replace("read_only = 'on'", "read_only = 'off'"))
    lab.postgres.start()


def postgres_full(lab):
    """It may go on to read, or end."""
    fill_up(lab.postgres.folder)
    lab.wait_locally()
    time.sleep(5)
    (lab.postgres.folder / "filler").unlink()
    if lab.postgres.is_up:
        lab.postgres.stop()
    lab.postgres.start()


def password_changed(lab):
    roles = ", ".join(f"host_{name}" for name in lab.hosts)
    file = lab.postgres.data / "pg_hba.conf"
    asked = f"local all {roles} scram-sha-256\nhost all {roles} all scram-sha-256\n"
    file.write_text(asked + file.read_text())
    for role in roles.split(", "):
        lab.execute(f"ALTER ROLE {role} PASSWORD 'another'")
    lab.execute("SELECT pg_reload_conf()")
    lab.execute("""SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE usename LIKE 'host_%'""")
    lab.wait_locally()
    for host in lab.hosts.values():
        pgpass = Path(host.env["PGPASSFILE"])
        pgpass.write_text("*:*:*:*:another\n")
        pgpass.chmod(0o600)


def postgres_restored(lab):
    """Hosts look for what it has lost every 5 min; here they believe that it is time."""
    copied(lab)
    older_restored(lab)
    for host in lab.hosts.values():
        checked = host.folder / "store.db-outbox/checked"
        checked.touch()
        os.utime(checked, (0, 0))


def copied(lab):
    lab.postgres.stop()
    older = lab.postgres.folder / "older"
    subprocess.run(["cp", "-a", lab.postgres.data, older], check=True)
    lab.postgres.start()
    lab.wait_for_postgres()


def older_restored(lab):
    lab.wait(lambda: lab.all_stored(lab.last_job))
    lab.postgres.stop()
    shutil.rmtree(lab.postgres.data)
    (lab.postgres.folder / "older").rename(lab.postgres.data)
    lab.postgres.start()
    lab.wait_for_postgres()
    assert not lab.all_stored(lab.last_job)


# ---- hosts, links, people


def link_cut(seconds):
    def cut(lab):
        assert lab.links
        lab.links.cut("h1")
        try:
            time.sleep(seconds)
        finally:
            lab.links.mend("h1")

    return cut


def host_full(lab):
    fill_up(lab.hosts["h2"].folder)
    lab.wait(lambda: "failed" in lab.statuses(lab.last_job))
    (lab.hosts["h2"].folder / "filler").unlink()
    lab.wait(lambda: lab.statuses(lab.last_job) == {"failed", "ok"})
    resumed(lab)


def clock_ahead(lab):
    flag = lab.folder / "ahead"
    flag.touch()
    time.sleep(5)
    flag.unlink()


def page_killed(lab):
    """Two pages show the same, and one that was killed shows it again."""
    pages = [PageServer(lab), PageServer(lab)]
    try:
        lab.wait(lambda: all(page.answers() for page in pages))
        pages[0].process.kill()
        assert lab.last_job in pages[1].get(f"/now.json?q={lab.last_job}")[1]
        pages[0].end()
        pages[0] = PageServer(lab)
        lab.wait(pages[0].answers)
        both = [json.loads(p.get(f"/now.json?q={lab.last_job}")[1]) for p in pages]
        assert set(both[0]) == set(both[1]) and len(both[0]) == 2
    finally:
        for page in pages:
            page.end()


def upgraded_one_by_one(lab):
    """What the newer ones ask, the older refuses, until it is upgraded, too."""
    first, newer = lab.last_job, [sys.executable, "-c", NEWER]
    upgrade(lab, "h1", newer)
    lab.ada.program = newer
    second = lab.submit()
    query = f"SELECT min(status) FROM lab.drive_job WHERE job = '{second}' AND host = "
    lab.wait(lambda: lab.value(f"{query}'h2'") == "refused")
    assert "does not know it: schema 2" in lab.ada.ioplan("lab", "status", second).out
    upgrade(lab, "h2", newer)
    resumed(lab)
    lab.wait(lambda: lab.all_stored(second), STORED_S)
    each_once(lab, second, 8)
    lab.last_job = first


def upgrade(lab, name, program):
    lab.hosts[name].stop_worker()
    lab.hosts[name].program = program
    lab.hosts[name].start_worker()


FAULTS = {
    "workers killed": Fault(workers_killed),
    "drive jobs killed": Fault(drive_jobs_killed),
    "engines killed": Fault(engines_killed, by_hand="`resume`"),
    "hosts killed, all processes": Fault(hosts_killed),
    "link of a host cut, 10 s": Fault(link_cut(10), "links"),
    "link of a host cut, 5 min": Fault(link_cut(300), "links", seconds="6s"),
    "PostgreSQL stopped, 6 s": Fault(postgres_stopped),
    "PostgreSQL killed, 6 s": Fault(postgres_killed),
    "PostgreSQL away to the job's end": Fault(postgres_away_until_the_end),
    "the same, drive jobs killed": Fault(killed_while_postgres_is_away),
    "the same, hosts killed": Fault(killed_with_worker_while_postgres_is_away),
    "PostgreSQL's disk full": Fault(postgres_full, "disks"),
    "PostgreSQL read-only": Fault(postgres_read_only),
    "PostgreSQL restored from before the job's end": Fault(postgres_restored),
    "PostgreSQL restored from before the job": Fault(older_restored, before=copied),
    "passwords of the hosts changed": Fault(password_changed, by_hand="`~/.pgpass`"),
    "disk of a host full": Fault(host_full, "disks", "`resume`"),
    "clock of a host + 1 h and back": Fault(clock_ahead, "clock"),
    "two pages, one killed": Fault(page_killed, by_hand="start it again"),
    "upgrade, one host after the other": Fault(upgraded_one_by_one, by_hand="`resume`"),
}


# ---- a row


class Moments(Thread):
    """Calls `status` all the while, and counts before and after it."""

    def __init__(self, lab, job):
        super().__init__(daemon=True)
        self.lab, self.counts, self.job = lab, status_is_count(lab, job), job
        self.agreed, self.away, self.wrong = 0, 0, list[tuple[int, int, int]]()
        self.done = Event()

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.done.set()
        self.join()

    def run(self):
        while not self.done.wait(1):
            try:
                self.look()
            except (psycopg.Error, RuntimeError):  # away, or it knows no such job
                self.counts = status_is_count(self.lab, self.job)
                told = self.lab.ada.ioplan("lab", "status", self.job).out
                self.away += "unknown; " in told

    def look(self):
        before, shown, after = next(self.counts)
        if before <= shown <= after:
            self.agreed += 1
        else:
            self.wrong.append((before, shown, after))


class Row(NamedTuple):
    """What came of it."""

    cells: int
    agreed: int
    away: int
    complete_s: float


def tried(lab, fault, most_s=STORED_S):
    """Run a job, have the fault happen, and see that all is stored once."""
    if fault.before:
        fault.before(lab)
    job = lab.submit(fault.seconds)
    lab.wait(lambda: len(pids(lab)) == 2 and lab.statuses(job) == {"running"})
    lab.ada.ok("lab", "status", job)
    with Moments(lab, job) as moments:
        fault.act(lab)
        lab.wait_for_postgres()
        took_s = lab.wait(lambda: lab.all_stored(job, len(lab.hosts)), most_s)
    each_once(lab, job, 8)
    assert not moments.wrong, moments.wrong
    assert len(set(next(status_is_count(lab, job)))) == 1
    return Row(8, moments.agreed + 1, moments.away, took_s)
