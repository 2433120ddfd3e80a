"""Faults of PostgreSQL, before, within and after what is sent to it."""

from __future__ import annotations

import shutil
import subprocess
from contextlib import suppress

import psycopg
from faults import Fault, Strike
from netlab import wait_for
from postgres import Server, runs

from fault_rows.scene import (
    Scene,
    alone,
    before_the_job,
    kill,
    once_stored,
    pause,
)

AWAY_S, PAGE_BYTES = 10, 4096
BLOCKED = """
SELECT count(*) FROM pg_stat_activity
WHERE wait_event_type = 'Lock' AND query LIKE 'INSERT INTO run %'"""


def server(scene: Scene) -> Server:
    assert scene.lab.database
    return scene.lab.database


def amid_a_push(scene: Scene, strike: Strike) -> None:
    """Every sender waits within its transaction while it happens."""
    scene.begin()
    locking = psycopg.connect(server(scene).local)
    try:
        locking.execute("LOCK TABLE run IN SHARE MODE")
        with psycopg.connect(server(scene).local, autocommit=True) as looking:
            wait_for(lambda: blocked(looking) >= len(scene.hosts), 120)
        strike(scene)
    finally:
        locking.close()


def blocked(connection: psycopg.Connection) -> int:
    (found,) = connection.execute(BLOCKED).fetchone() or (0,)
    return int(found)


def stop(scene: Scene) -> None:
    server(scene).stop()


def stopped_briefly(scene: Scene) -> None:
    stop(scene)
    pause(AWAY_S)


def start(scene: Scene) -> None:
    server(scene).start()


def killed(scene: Scene) -> None:
    server(scene).kill()


def start_later(scene: Scene) -> None:
    pause(AWAY_S)
    start(scene)


def senders_killed(scene: Scene) -> None:
    for host in scene.hosts:
        kill(host.sender())


def disk_filled(scene: Scene) -> None:
    filler = server(scene).folder / "filler"
    with filler.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(PAGE_BYTES))


def disk_freed(scene: Scene) -> None:
    wait_for(lambda: scene.moments.look().says_why, 120)
    (server(scene).folder / "filler").unlink()
    first = server(scene).data / "postmaster.pid"
    if not first.exists() or not runs(int(first.read_text().split()[0])):
        first.unlink(missing_ok=True)
        start(scene)


def read_only(scene: Scene) -> None:
    set_read_only(scene, "on")
    try:
        scene.begin()
        scene.until_ended()
        wait_for(lambda: scene.moments.look().why, 120)
    finally:  # or no later row could store anything
        set_read_only(scene, "off")


def set_read_only(scene: Scene, on: str) -> None:
    setting = f"ALTER SYSTEM SET default_transaction_read_only = {on}"
    scene.sql(setting, "SELECT pg_reload_conf()")


def password_changed(scene: Scene) -> None:
    scene.set_password("second")
    scene.until_ended()
    wait_for(lambda: scene.moments.look().says_why, 120)


def password_told(scene: Scene) -> None:
    scene.tell_password("second")


def restored_from_an_older_backup(scene: Scene) -> None:
    """Of before the job, once all of it was there; nobody says so to anybody.

    The hosts may find out before `status` is asked: what counts is what it said since.
    """
    database = server(scene)
    older = database.folder / "older"
    database.stop()
    subprocess.run(["cp", "-a", database.data, older], check=True)
    database.start()
    scene.begin()
    scene.until_complete(180)
    database.stop()
    shutil.rmtree(database.data)
    older.rename(database.data)
    database.start()
    assert scene.moments.count() == 0
    asked = len(scene.moments.found)
    wait_for(lambda: len(scene.moments.found) > asked + 1)


FAULTS: dict[str, Fault] = {
    f"PostgreSQL stopped, {AWAY_S} s": Fault(stopped_briefly, once_stored, start),
    "PostgreSQL stopped for the whole job": Fault(stop, before_the_job, start),
    f"PostgreSQL killed amid a push, {AWAY_S} s": Fault(
        killed, amid_a_push, start_later
    ),
    "senders killed amid a push": Fault(senders_killed, amid_a_push),
    "PostgreSQL's disk full": Fault(disk_filled, before_the_job, disk_freed),
    "PostgreSQL read-only": Fault(read_only, alone),
    "PostgreSQL's password changed": Fault(
        password_changed, once_stored, password_told, "~/.pgpass"
    ),
    "PostgreSQL restored from before the job": Fault(
        restored_from_an_older_backup, alone
    ),
}
