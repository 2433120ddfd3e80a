"""A lab of the test's own: a PostgreSQL, and hosts that are folders with a worker."""

import os
import signal
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psycopg
from command import Done
from hour_ahead import hour_ahead
from lab_links import DATABASE, host_links
from postgres import children, runs, server

from ioplan_lab import JobFolder
from targets import tmpfs

IOPLAN = [sys.executable, "-m", "ioplan.cli"]
PLAN = """plan "Four cells"
test "T" {
  run random 4KiB 100/0, rate 500 iops for SECONDS
  vary qd in 1, 2, 4, 8
}
"""


class Member:
    """A host or a person: a folder, and a role of the database."""

    def __init__(self, folder, results, lab="", reach=()):
        folder.mkdir(parents=True, exist_ok=True)
        self.reach, self.program = list(reach), IOPLAN
        self.folder, self.results = folder, results
        (folder / "lab.toml").write_text(f'results = "{results}"\n{lab}')
        (folder / "lab.toml").chmod(0o600)
        self.env = {
            **os.environ,
            "IOPLAN_LAB": str(folder / "lab.toml"),
            "IOPLAN_STORE": str(folder / "store.db"),
            "XDG_STATE_HOME": str(folder / "state"),
            "PGPASSFILE": str(folder / "pgpass"),
        }
        self.worker = None

    def ioplan(self, *words, timeout_s=120):
        done = subprocess.run(
            [*self.reach, *self.program, *map(str, words)],
            env=self.env,
            capture_output=True,
            text=True,
            check=False,
            timeout=timeout_s,
        )
        return Done(done.returncode, done.stdout, done.stderr)

    def ok(self, *words):
        done = self.ioplan(*words)
        assert done.code == 0, done
        return done.out

    def start_worker(self):
        with (self.folder / "worker.log").open("ab") as log:
            words = [*self.reach, *self.program, "lab", "worker"]
            self.worker = subprocess.Popen(words, env=self.env, stderr=log, stdout=log)

    def kill_worker(self):
        assert self.worker
        self.worker.kill()
        self.worker.wait()

    def stop_worker(self):
        if self.worker:
            self.worker.terminate()
            self.worker.wait(20)

    def drive_job_pids(self):
        """Processes that hold the lock of a drive job's folder."""
        pids = []
        for lock in self.folder.glob("drive-jobs/*/*/lock"):
            pid = int(lock.read_text() or 0)
            if pid and runs(pid) and str(lock.parent) in cmdline(pid):
                pids.append(pid)
        return pids

    def kill_drive_jobs(self):
        pids = self.drive_job_pids()
        for pid in pids:
            for each in (pid, *children(pid)):
                os.kill(each, signal.SIGKILL)
        return len(pids)


def cmdline(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""


class SmallLab:
    """Hosts h1 and h2, ada and bob; `postgres` is stopped and killed by tests."""

    def __init__(self, folder, postgres, backend, links=None):
        self.folder, self.postgres, self.links = folder, postgres, links
        self.backend = backend
        people = ("--person", "ada", "--person", "bob", "--admin", "root")
        hosts = ("--host", "h1", "--host", "h2")
        self.owner = Member(folder / "owner", postgres.local)
        self.owner.ok("lab", "init", postgres.local, *hosts, *people)
        self.hosts = {
            name: Member(
                folder / name,
                postgres.address.replace("ioplan@", f"host_{name}@"),
                drive(folder, name, backend),
                links.reach(name) if links else (),
            )
            for name in ("h1", "h2")
        }
        self.ada = Member(folder / "ada", self.of("person_ada"))
        self.bob = Member(folder / "bob", self.of("person_bob"))
        self.root = Member(folder / "root", self.of("person_root"))

    def of(self, role):
        return self.postgres.local.replace("ioplan@", f"{role}@")

    def rows(self, query, role="ioplan", *values):
        with psycopg.connect(self.of(role), autocommit=True) as there:
            return there.execute(query.encode(), values or None).fetchall()

    def execute(self, script):
        """Statements, as the owner of the database."""
        with psycopg.connect(self.postgres.local, autocommit=True) as there:
            there.execute(script.encode())

    def value(self, query, role="ioplan"):
        return self.rows(query, role)[0][0]

    def plan(self, seconds="1s"):
        path = self.folder / "plan.ioplan"
        path.write_text(PLAN.replace("SECONDS", seconds))
        return path

    def submit(self, seconds="1s", on="drive d1"):
        words = ("run", self.plan(seconds), "--on", on, "--create", "16MiB", "--detach")
        self.ada.ok(*words)
        self.last_job = str(self.value("SELECT max(id) FROM lab.job"))
        return self.last_job

    def wait_locally(self):
        """Until the hosts' processes have ended, as their folders say."""
        folders = [
            JobFolder(file.parent)
            for host in self.hosts.values()
            for file in host.folder.glob(f"drive-jobs/{self.last_job}/*/call.json")
        ]
        until_s = time.monotonic() + 90
        while not all(folder.state().ended for folder in folders):
            assert time.monotonic() < until_s, [folder.state() for folder in folders]
            time.sleep(0.2)

    def wait_for_postgres(self):
        while True:
            try:
                self.value("SELECT 1")
                return
            except psycopg.OperationalError:
                time.sleep(0.1)

    def wait(self, condition, timeout_s=90):
        """How long it took until this was so."""
        begun_s = time.monotonic()
        while time.monotonic() - begun_s < timeout_s:
            if condition():
                return time.monotonic() - begun_s
            time.sleep(0.2)
        logs = "".join(
            f"--- {name}\n{(host.folder / 'worker.log').read_text()[-3000:]}"
            for name, host in self.hosts.items()
            if (host.folder / "worker.log").exists()
        )
        raise AssertionError(f"{self.rows('TABLE lab.drive_job')}\n{logs}")

    def statuses(self, job):
        query = f"SELECT DISTINCT status FROM lab.drive_job WHERE job = '{job}'"
        return {row[0] for row in self.rows(query)}

    def all_stored(self, job, drive_jobs=1):
        """Of so many drive jobs at least, as a restored database learns of each."""
        query = f"""SELECT sum(stored), sum(total), bool_and(last_status = 'ok'), count(*)
            FROM lab.v_drive_job WHERE job = '{job}'"""
        stored, total, ended, count = self.rows(query)[0]
        return ended and stored == total and count >= drive_jobs

    def cells(self, job):
        """How often each cell of each session is stored, but for runs that failed."""
        query = f"""SELECT count(*) FROM run JOIN session s ON s.id = run.session
            WHERE s.job = '{job}' AND run.status = 'ok' GROUP BY session, run_id"""
        return [row[0] for row in self.rows(query)]


def drive(folder, host, backend):
    """A scratch file, or a drive in virtual time; each host has a `d1` and a `d2`."""
    lines = [f'backend = "{backend}"']
    for name in ("d1", "d2"):
        path = folder / f"{host}-{name}.bin"
        lines += [f"[targets.{name}]", f'path = "{path}"', "writable = true"]
        lines += ["cannot_see_users = true"]
    return "\n".join([*lines, ""])


@contextmanager
def small_lab(
    folder, backend="sim", workers=True, linked=False, disks=False, clock=False
):
    """`linked` puts PostgreSQL and each host in a network namespace of its own, `disks`
    gives PostgreSQL and h2 a small disk each, and h1 has a `clock` of its own."""
    with ExitStack() as stack:
        links = stack.enter_context(host_links("h1", "h2")) if linked else None
        place = (links.reach(DATABASE), links.address) if links else ((), "")
        if disks:
            folder.mkdir(exist_ok=True)
            stack.enter_context(tmpfs(folder / "h2", "128m"))
        postgres = stack.enter_context(server(*place, "512m" if disks else ""))
        made = SmallLab(folder, postgres, backend, links)
        if clock:
            made.hosts["h1"].env |= hour_ahead(folder, folder / "ahead")
        stack.callback(end, made)
        for host in made.hosts.values() if workers else ():
            host.start_worker()
        if workers:
            made.wait(lambda: made.value("SELECT count(*) FROM lab.drive") == 4)
        yield made


def end(made):
    for host in made.hosts.values():
        host.stop_worker()
        host.kill_drive_jobs()


def each_once(made, job, cells):
    counts = made.cells(job)
    assert counts == [1] * cells, counts


def status_is_count(made, job):
    """What `status` says, between two counts of the database."""
    query = (
        f"SELECT count(*) FROM run JOIN session s ON s.id = session WHERE job = '{job}'"
    )
    while True:
        before = made.value(query)
        done = made.ada.ioplan("lab", "status", job)
        words = next(line for line in done.out.splitlines() if "runs stored in" in line)
        yield before, int(words.split()[0]), made.value(query)
