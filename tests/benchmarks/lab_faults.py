"""The delivery's rows of the table in docs/labs.md: `python tests/benchmarks/lab_faults.py [WORD]`.

Two hosts in namespaces, reached by ssh, and a PostgreSQL on a third. In most rows it is
made sure that the fault comes in the middle of a push: a lock on a table holds each
sender there. After each fault every row of every session must be in the shared store,
as the hosts have it, and nothing may be there that is on no host. A row takes up to two
minutes; with a WORD only those are done that have it in their name.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(TESTS / "support"), str(TESTS / "cluster")]

from labs import tell  # noqa: E402
from netlab import DATABASE, NetLab, Place, netlab, wait_for  # noqa: E402
from postgres import runs  # noqa: E402
from test_netlab import audit, detached, pids_of, plan, up  # noqa: E402

CELLS, AWAY_S, PAGE_BYTES = 4, 40, 4096
BLOCKED = """
SELECT count(*) FROM pg_stat_activity
WHERE wait_event_type = 'Lock' AND query LIKE 'INSERT INTO run %'"""

Fault = Callable[[NetLab, Path], str]
"""Does a job and the fault; returns the job."""


@contextmanager
def in_the_middle(lab: NetLab, hosts: int = 2) -> Iterator[None]:
    """Every sender waits within its transaction, until the end of the block."""
    import psycopg

    assert lab.database
    locking = psycopg.connect(lab.database.local)
    try:
        locking.execute("LOCK TABLE run IN SHARE MODE")
        with psycopg.connect(lab.database.local, autocommit=True) as looking:
            wait_for(lambda: blocked(looking) >= hosts, 120)
        yield
    finally:
        locking.close()


def blocked(connection: object) -> int:
    return int(connection.execute(BLOCKED).fetchone()[0])  # type: ignore[attr-defined]


def stopped_for_the_whole_job(lab: NetLab, folder: Path) -> str:
    assert lab.database
    lab.database.stop()
    job = detached(lab, plan(folder, "300ms", CELLS))
    wait_for(lambda: ended(lab, job), 120)
    lab.database.start()
    return job


def killed(lab: NetLab, folder: Path) -> str:
    assert lab.database
    job = detached(lab, plan(folder, "300ms", CELLS))
    with in_the_middle(lab):
        lab.database.kill()
    time.sleep(5)
    lab.database.start()
    return job


def sender_killed(lab: NetLab, folder: Path) -> str:
    job = detached(lab, plan(folder, "300ms", CELLS))
    with in_the_middle(lab):
        for host in lab.hosts.values():
            os.kill(host.sender(), signal.SIGKILL)
    return job


def worker_killed(lab: NetLab, folder: Path) -> str:
    job = detached(lab, plan(folder, "300ms", CELLS))
    with in_the_middle(lab):
        for host in lab.hosts.values():
            host.kill("worker")
    up(lab)
    return job


def host_restarted(lab: NetLab, folder: Path) -> str:
    job = detached(lab, plan(folder, "300ms", CELLS))
    with in_the_middle(lab):
        for host in lab.hosts.values():
            for pid in pids_of(host) - {host.sshd}:
                os.kill(pid, signal.SIGKILL)
    up(lab)
    return job


def cut_from_the_database(lab: NetLab, folder: Path) -> str:
    """Packets vanish, and neither side is told."""
    job = detached(lab, plan(folder, "300ms", CELLS))
    with in_the_middle(lab):
        for host in lab.hosts.values():
            vanish(host, "-A")
    time.sleep(AWAY_S)
    for host in lab.hosts.values():
        vanish(host, "-D")
    return job


def vanish(host: Place, how: str) -> None:
    for chain, way in (("OUTPUT", "-d"), ("INPUT", "-s")):
        rule = ("-I", chain, "1") if how == "-A" else (how, chain)
        tell(*host.inside, "iptables", *rule, way, DATABASE, "-j", "DROP")


def link_cut(lab: NetLab, folder: Path) -> str:
    job = detached(lab, plan(folder, "300ms", CELLS))
    with in_the_middle(lab):
        lab.cut("h2")
    time.sleep(AWAY_S)
    lab.mend("h2")
    return job


def disk_full(lab: NetLab, folder: Path) -> str:
    assert lab.database
    filler = lab.database.folder / "filler"
    with filler.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(PAGE_BYTES))
    job = detached(lab, plan(folder, "300ms", CELLS))
    wait_for(lambda: ended(lab, job), 120)
    wait_for(lambda: "h1: " in lab.coordinator.ioplan("status", job).stdout, 120)
    filler.unlink()
    first = lab.database.data / "postmaster.pid"
    if not first.exists() or not runs(int(first.read_text().split()[0])):
        first.unlink(missing_ok=True)
        lab.database.start()
    return job


def ended(lab: NetLab, job: str) -> bool:
    out = lab.coordinator.ioplan("status", job).stdout
    return out.count(" ok ") == len(lab.hosts)


FAULTS: dict[str, Fault] = {
    "PostgreSQL is stopped for the whole job, and started later": (
        stopped_for_the_whole_job
    ),
    "PostgreSQL is killed in the middle of a push": killed,
    "the process that sends is killed in the middle of a push": sender_killed,
    "the worker is killed in the middle of a push": worker_killed,
    "the host restarts in the middle of a push": host_restarted,
    f"only the link to PostgreSQL is cut, for {AWAY_S} s, in the middle of a push": (
        cut_from_the_database
    ),
    f"all links of a host are cut, for {AWAY_S} s, in the middle of a push": link_cut,
    "PostgreSQL's disk is full, and has room later": disk_full,
}


def main(word: str = "") -> None:
    disks = {"database": "90m"}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with netlab(folder, "h1", "h2", shared=True, disks=disks) as lab:
            up(lab)
            print("| fault | sessions, cells each | in the shared store | after |")
            print("|---|---|---|---|", flush=True)
            for what, fault in FAULTS.items():
                if word in what:
                    print(row(lab, folder, what, fault), flush=True)


def row(lab: NetLab, folder: Path, what: str, fault: Fault) -> str:
    job = fault(lab, folder)
    healed_s = time.monotonic()
    done = lab.coordinator.ioplan("push", job)
    if done.returncode:  # a lane may have to go on before
        done = lab.coordinator.ioplan("attach", job)
    took_s = time.monotonic() - healed_s
    assert done.returncode == 0, done.stdout + done.stderr
    audit(lab, job, CELLS)
    there = f"{len(lab.hosts)}, {CELLS} | each once"
    return f"| {what} | {there} | {took_s:.0f} s |"


if __name__ == "__main__":
    main(*sys.argv[1:])
