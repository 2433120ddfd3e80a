"""A real PostgreSQL of the test's own, on a unix socket and nowhere else."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pytest

from targets import marked, tmpfs

FOLDERS = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
PATH = os.pathsep.join([os.environ.get("PATH", ""), *map(str, FOLDERS)])
AS_NOBODY = (
    ()
    if os.geteuid()
    else ("setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups")
)
"""PostgreSQL refuses to run as root."""


def _is_missing():
    try:
        import psycopg  # noqa: F401
    except ImportError:
        return True
    return not shutil.which("initdb", path=PATH)


NEEDS_POSTGRES = [
    pytest.mark.slow,
    pytest.mark.skipif(
        _is_missing(), reason="LEFT OUT: needs PostgreSQL's initdb and psycopg"
    ),
]


def needs_postgres(test):
    """Marks a test that has a database server of its own."""
    return marked(test, NEEDS_POSTGRES)


class Server:
    """A server, which can be stopped, killed and started again.

    `reach` is what a program is called with to be on its host, and `listen` an address
    of that: without one it is on a unix socket only.
    """

    def __init__(self, folder, reach=(), listen=""):
        self.folder, self.data = folder, folder / "data"
        self.reach, self.listen = reach, listen
        self.local = f"postgresql://ioplan@/postgres?host={folder}"

    @property
    def address(self):
        """Where others find it."""
        return (
            f"postgresql://ioplan@{self.listen}/postgres" if self.listen else self.local
        )

    def make(self):
        small = ("--no-sync", "--wal-segsize=1")
        self._call("initdb", "-D", self.data, "-U", "ioplan", "-A", "trust", *small)
        if self.listen:
            with (self.data / "pg_hba.conf").open("a") as file:
                file.write(f"host all all {self.listen}/24 trust\n")

    def start(self):
        words = f"-k {self.folder} -c listen_addresses={self.listen} -c fsync=off"
        words += " -c max_wal_size=16MB -c min_wal_size=4MB"
        log = self.folder / "log"
        self._call("pg_ctl", "-D", self.data, "-w", "-l", log, "-o", words, "start")

    def stop(self):
        self._call("pg_ctl", "-D", self.data, "-w", "-m", "immediate", "stop")

    @property
    def is_up(self):
        return (self.data / "postmaster.pid").exists()

    def kill(self):
        """As a host that loses its power, and comes back: nothing is said to anybody."""
        first = int((self.data / "postmaster.pid").read_text().split()[0])
        os.kill(first, signal.SIGSTOP)  # so that it starts no other one meanwhile
        pids = [*children(first), first]
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        while any(runs(pid) for pid in pids):
            time.sleep(0.01)
        for left in (self.data / "postmaster.pid", self.folder / ".s.PGSQL.5432.lock"):
            left.unlink()  # a zombie that nobody waits for looks alive to it

    def _call(self, program, *words):
        found = shutil.which(program, path=PATH)
        assert found, program
        done = subprocess.run(
            [*self.reach, *AS_NOBODY, found, *map(str, words)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            cwd="/",
        )
        log = self.folder / "log"
        more = log.read_text()[-2000:] if log.exists() else ""
        assert done.returncode == 0, done.stderr + more


def runs(pid):
    """Whether it is there, and not only waited for by its parent."""
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False


def children(pid):
    """The processes that a process has started."""
    try:
        listed = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    except OSError:
        return []
    return [int(word) for word in listed.split()]


@contextmanager
def postgres():
    """The address of an empty database."""
    with server() as made:
        yield made.address


@contextmanager
def server(reach=(), listen="", disk=""):
    """A server that runs, with an empty database; `disk` is the size of its disk."""
    folder = Path(tempfile.mkdtemp(prefix="ioplan-pg-", dir="/tmp"))
    try:
        with tmpfs(folder, disk) if disk else nullcontext():
            if not os.geteuid():
                shutil.chown(folder, "nobody", "nogroup")
            made = Server(folder, reach, listen)
            made.make()
            made.start()
            try:
                yield made
            finally:
                if made.is_up:
                    made.stop()
    finally:
        shutil.rmtree(folder)


def psql(address, script, *words):
    """Run a script, or what the words say, and stop at the first error."""
    more = ["-f", str(script)] if script else []
    command = ["psql", "-q", "-v", "ON_ERROR_STOP=1", *words, *more, address]
    environment = {**os.environ, "PATH": PATH}
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
