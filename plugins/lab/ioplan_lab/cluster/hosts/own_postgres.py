"""A PostgreSQL server of this user's own, for the lab of one host.

It listens on a Unix socket in a folder that nobody else may enter, and on no network.
It is an ordinary server in an ordinary data folder: `pg_dump` works as usual.
"""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
from pathlib import Path

from ioplan.core import ClusterFault
from ioplan.core.state_folder import state_folder
from ioplan_lab.cluster.errors import ClusterError

PROGRAMS = ("/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/usr/local/pgsql/bin")
"""Where distributions put them, beside the path."""
OF_ROOT = Path("/var/lib/ioplan/postgres")
"""PostgreSQL refuses to run as root, and another user cannot enter root's folders."""
USERS = ("postgres", "nobody")
OWNER = NAME = "ioplan"
MOST_SOCKET_PATH, SOCKET = 107, ".s.PGSQL.5432"
SETTINGS = """
listen_addresses = ''
unix_socket_directories = '{folder}'
unix_socket_permissions = 0700
shared_buffers = 32MB
"""
START_S = 60


class OwnPostgres:
    """The server in one folder. Methods raise ClusterError, OSError."""

    def __init__(self, folder: Path | None = None) -> None:
        root = not os.geteuid()
        self.folder = folder or (OF_ROOT if root else state_folder() / "postgres")
        self.user = _unprivileged() if root else None
        self.data, self.log = self.folder / "data", self.folder / "log"

    @property
    def address(self) -> str:
        """As a lab file names it in `results`."""
        return f"postgresql://{OWNER}@/{NAME}?host={self.folder}"

    def start(self) -> bool:
        """Make it if it is not there, and start it; False if it ran already."""
        if len(f"{self.folder}/{SOCKET}") > MOST_SOCKET_PATH:
            raise _failed(f"{self.folder} is too long for a socket; set XDG_STATE_HOME")
        if not (self.data / "PG_VERSION").exists():
            self._make()
        if self.is_up:
            return False
        words = ("-D", self.data, "-s", "-w", "-t", str(START_S), "-l", self.log)
        self._call("pg_ctl", *words, "start")
        self._make_database()
        return True

    def stop(self) -> bool:
        """End it; False if it was not running."""
        if not self.is_up:
            return False
        self._call("pg_ctl", "-D", self.data, "-w", "-m", "fast", "stop")
        return True

    @property
    def is_up(self) -> bool:
        """Whether it runs."""
        if not (self.data / "postmaster.pid").exists():
            return False
        return not self._run("pg_ctl", "-D", self.data, "status").returncode

    def _make(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.folder.chmod(0o700)
        if self.user:
            shutil.chown(self.folder, self.user, _group(self.user))
        part = self.folder / "part"  # what was cut off is made anew
        shutil.rmtree(part, ignore_errors=True)
        self._call("initdb", "-D", part, "-U", OWNER, "-A", "trust", "-E", "UTF8")
        with (part / "postgresql.conf").open("a") as file:
            file.write(SETTINGS.format(folder=self.folder))
        part.rename(self.data)

    def _make_database(self) -> None:
        words = ("-h", self.folder, "-U", OWNER)
        query = f"SELECT 1 FROM pg_database WHERE datname = '{NAME}'"
        done = self._call("psql", *words, "-d", "postgres", "-Atc", query)
        if not done.stdout.strip():
            self._call("createdb", *words, NAME)

    def _call(
        self, program: str, *words: str | Path
    ) -> subprocess.CompletedProcess[str]:
        done = self._run(program, *words)
        if done.returncode:
            lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
            raise _failed(f"{program}: {lines[-1]}; its log is {self.log}")
        return done

    def _run(
        self, program: str, *words: str | Path
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [_program(program), *map(str, words)],
            stdin=subprocess.DEVNULL,
            capture_output=not _is_start(words),
            text=True,
            check=False,
            cwd="/",
            user=self.user,
            group=_group(self.user) if self.user else None,
            extra_groups=[] if self.user else None,
        )


def _is_start(words: tuple[str | Path, ...]) -> bool:
    """The server would keep the pipes of who starts it open."""
    return words[-1] == "start"


def _program(name: str) -> str:
    folders = [str(one) for pattern in PROGRAMS for one in _newest_first(pattern)]
    path = os.pathsep.join([os.environ.get("PATH", ""), *folders])
    if found := shutil.which(name, path=path):
        return found
    raise _failed(
        f"there is no {name} of PostgreSQL 14 or newer: install it (Debian: apt-get "
        "install postgresql; its own server need not run)"
    )


def _newest_first(pattern: str) -> list[Path]:
    found = list(Path("/").glob(pattern.lstrip("/")))
    return sorted(found, key=_number, reverse=True)


def _number(path: Path) -> int:
    digits = "".join(c for c in str(path) if c.isdecimal())
    return int(digits or 0)


def _unprivileged() -> str:
    known = {one.pw_name for one in pwd.getpwall()}
    for name in USERS:
        if name in known:
            return name
    raise _failed(f"PostgreSQL does not run as root, and there is no user {USERS[0]!r}")


def _group(user: str) -> int:
    return pwd.getpwnam(user).pw_gid


def _failed(text: str) -> ClusterError:
    return ClusterError(text, ClusterFault.INSTALL_FAILED)
