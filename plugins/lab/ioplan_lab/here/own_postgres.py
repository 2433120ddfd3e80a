"""A PostgreSQL server of this user's own, for the lab of one host.

It listens on a Unix socket in a folder that nobody else may enter, and on no network.
It is an ordinary server in an ordinary data folder: `pg_dump` works as usual.
"""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any

from ioplan.cli import UsageError
from ioplan.core.state_folder import state_folder

PROGRAMS = ("usr/lib/postgresql/*/bin", "usr/pgsql-*/bin", "usr/local/pgsql/bin")
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
START_S = "60"


class OwnPostgres:
    """The server of this user. Methods raise UsageError, OSError."""

    def __init__(self) -> None:
        root = not os.geteuid()
        self.folder = OF_ROOT if root else state_folder() / "postgres"
        self.user = _unprivileged() if root else {}
        self.data, self.log = self.folder / "data", self.folder / "log"

    @property
    def address(self) -> str:
        """For its owner, who makes roles."""
        return f"postgresql://{OWNER}@/{NAME}?host={self.folder}"

    @property
    def results(self) -> str:
        """As a lab file names it: a person is who has logged in, a worker `PGUSER`."""
        return f"postgresql:///{NAME}?host={self.folder}"

    def start(self) -> None:
        """Make it if it is not there, and start it if it does not run."""
        if len(f"{self.folder}/{SOCKET}") > MOST_SOCKET_PATH:
            raise UsageError(
                f"{self.folder} is too long for a socket; set XDG_STATE_HOME"
            )
        if not (self.data / "PG_VERSION").exists():
            self._make()
        if not self.is_up:
            self._call("pg_ctl", "-D", self.data, "-s", "-w", "-t", START_S, "start")
            # fails where it is there
            self._run("createdb", "-h", self.folder, "-U", OWNER, "-w", NAME)

    def stop(self) -> bool:
        """End it; False if it was not running."""
        if not self.is_up:
            return False
        self._call("pg_ctl", "-D", self.data, "-w", "-m", "fast", "stop")
        return True

    @property
    def is_up(self) -> bool:
        """Whether it runs."""
        has_begun = (self.data / "postmaster.pid").exists()
        return has_begun and not self._run("pg_ctl", "-D", self.data, "status")

    def _make(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.folder.chmod(0o700)
        if self.user:
            shutil.chown(self.folder, self.user["user"], self.user["group"])
        part = self.folder / "part"  # what was cut off is made anew
        shutil.rmtree(part, ignore_errors=True)
        self._call("initdb", "-D", part, "-U", OWNER, "-A", "trust", "-E", "UTF8")
        with (part / "postgresql.conf").open("a") as file:
            file.write(SETTINGS.format(folder=self.folder))
        part.rename(self.data)

    def _call(self, program: str, *words: str | Path) -> None:
        if code := self._run(program, *words):
            raise UsageError(f"{program} failed (exit code {code}): see {self.log}")

    def _run(self, program: str, *words: str | Path) -> int:
        """The exit code; the log gets what it writes, and then what the server does."""
        with self.log.open("ab") as log:
            return subprocess.call(
                [_program(program), *words],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd="/",
                **self.user,
            )


def _program(name: str) -> str:
    """The one on the path, else the newest one."""
    folders = [folder for place in PROGRAMS for folder in Path("/").glob(place)]
    newest = sorted(map(str, folders), key=_number, reverse=True)
    path = os.pathsep.join([os.environ.get("PATH", ""), *newest])
    if program := shutil.which(name, path=path):
        return program
    raise UsageError(
        f"there is no {name} of PostgreSQL 14 or newer: install it (Debian: apt-get "
        "install postgresql; its own server need not run)"
    )


def _number(folder: str) -> int:
    return int("".join(filter(str.isdecimal, folder)) or 0)


def _unprivileged() -> dict[str, Any]:
    """How `subprocess` names the user of a server that root starts."""
    for name in USERS:
        with suppress(KeyError):
            group = pwd.getpwnam(name).pw_gid
            return {"user": name, "group": group, "extra_groups": []}
    raise UsageError(
        f"PostgreSQL does not run as root, and there is no user {USERS[0]!r}"
    )
