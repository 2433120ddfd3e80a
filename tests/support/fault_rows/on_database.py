"""Faults of PostgreSQL, before, within and after what is sent to it."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import psycopg
from netlab import wait_for
from postgres import Server, runs

from fault_rows.scene import Fault, Scene, kill, pause

AWAY_S, PAGE_BYTES = 10, 4096
BLOCKED = """
SELECT count(*) FROM pg_stat_activity
WHERE wait_event_type = 'Lock' AND query LIKE 'INSERT INTO run %'"""


def server(scene: Scene) -> Server:
    assert scene.lab.database
    return scene.lab.database


@contextmanager
def in_the_middle(scene: Scene) -> Iterator[None]:
    """Every sender waits within its transaction, until the end of the block."""
    locking = psycopg.connect(server(scene).local)
    try:
        locking.execute("LOCK TABLE run IN SHARE MODE")
        with psycopg.connect(server(scene).local, autocommit=True) as looking:
            wait_for(lambda: blocked(looking) >= len(scene.hosts), 120)
        yield
    finally:
        locking.close()


def blocked(connection: psycopg.Connection) -> int:
    (found,) = connection.execute(BLOCKED).fetchone() or (0,)
    return int(found)


def stopped_briefly(scene: Scene) -> str:
    scene.begun()
    server(scene).stop()
    pause(AWAY_S)
    server(scene).start()
    return ""


def stopped_for_the_whole_job(scene: Scene) -> str:
    server(scene).stop()
    scene.begin()
    scene.until_ended()
    server(scene).start()
    return ""


def killed(scene: Scene) -> str:
    scene.begin()
    with in_the_middle(scene):
        server(scene).kill()
    pause(AWAY_S)
    server(scene).start()
    return ""


def senders_killed(scene: Scene) -> str:
    scene.begin()
    with in_the_middle(scene):
        for host in scene.hosts:
            kill(host.sender())
    return ""


def disk_full(scene: Scene) -> str:
    filler = server(scene).folder / "filler"
    with filler.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(PAGE_BYTES))
    scene.begin()
    scene.until_ended()
    wait_for(lambda: scene.moments.look().says_why, 120)
    filler.unlink()
    first = server(scene).data / "postmaster.pid"
    if not first.exists() or not runs(int(first.read_text().split()[0])):
        first.unlink(missing_ok=True)
        server(scene).start()
    return ""


def read_only(scene: Scene) -> str:
    set_read_only(scene, "on")
    try:
        scene.begin()
        scene.until_ended()
        wait_for(lambda: scene.moments.look().why, 120)
    finally:  # or no later row could store anything
        set_read_only(scene, "off")
    return ""


def set_read_only(scene: Scene, on: str) -> None:
    setting = f"ALTER SYSTEM SET default_transaction_read_only = {on}"
    scene.sql(setting, "SELECT pg_reload_conf()")


def password_changed(scene: Scene) -> str:
    scene.begun()
    scene.set_password("second")
    scene.until_ended()
    wait_for(lambda: scene.moments.look().says_why, 120)
    scene.tell_password("second")
    return "~/.pgpass"


def restored_from_an_older_backup(scene: Scene) -> str:
    """Of before the job, once all of it was there; nobody says so to anybody.

    The hosts may find out before `status` is asked: what counts is what it said since.
    """
    database = server(scene)
    older = database.folder / "older"
    database.stop()
    subprocess.run(["cp", "-a", database.data, older], check=True)
    database.start()
    scene.begin()
    scene.moments.until_complete(180)
    database.stop()
    shutil.rmtree(database.data)
    older.rename(database.data)
    database.start()
    assert scene.moments.count() == 0
    asked = len(scene.moments.found)
    wait_for(lambda: len(scene.moments.found) > asked + 1)
    return ""


FAULTS: dict[str, Fault] = {
    f"PostgreSQL stopped, {AWAY_S} s": stopped_briefly,
    "PostgreSQL stopped for the whole job": stopped_for_the_whole_job,
    f"PostgreSQL killed amid a push, {AWAY_S} s": killed,
    "senders killed amid a push": senders_killed,
    "PostgreSQL's disk full": disk_full,
    "PostgreSQL read-only": read_only,
    "PostgreSQL's password changed": password_changed,
    "PostgreSQL restored from before the job": restored_from_an_older_backup,
}
