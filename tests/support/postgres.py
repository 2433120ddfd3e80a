"""A real PostgreSQL of the test's own, on a unix socket and nowhere else."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from labs import marked

FOLDERS = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
PATH = os.pathsep.join([os.environ.get("PATH", ""), *map(str, FOLDERS)])
NOBODY = {"user": "nobody", "group": "nogroup", "extra_groups": []}
"""PostgreSQL refuses to run as root."""


def _is_missing() -> bool:
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


def needs_postgres(test: Any) -> Any:
    """Marks a test that has a database server of its own."""
    return marked(test, NEEDS_POSTGRES)


@contextmanager
def postgres() -> Iterator[str]:
    """The address of an empty database."""
    folder = Path(tempfile.mkdtemp(prefix="ioplan-pg-", dir="/tmp"))
    try:
        if not os.geteuid():
            shutil.chown(folder, "nobody", "nogroup")
        data = folder / "data"
        _call("initdb", "-D", data, "-U", "ioplan", "-A", "trust", "--no-sync")
        only_here = f"-k {folder} -c listen_addresses= -c fsync=off"
        log = folder / "log"
        _call("pg_ctl", "-D", data, "-w", "-l", log, "-o", only_here, "start")
        try:
            yield f"postgresql://ioplan@/postgres?host={folder}"
        finally:
            _call("pg_ctl", "-D", data, "-w", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder)


def _call(program: str, *words: str | Path) -> None:
    found = shutil.which(program, path=PATH)
    assert found, program
    as_whom = {} if os.geteuid() else NOBODY
    done = subprocess.run(
        [found, *map(str, words)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        cwd="/",
        **as_whom,  # type: ignore[arg-type]
    )
    assert done.returncode == 0, done.stderr
