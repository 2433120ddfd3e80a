"""A lab of several hosts loses nothing, whatever fails: hosts, links, or people.

Hosts are network namespaces with workers of their own, which ssh reaches, drives are
loop devices, all I/O is done by the io_uring engine, and the results arrive in a real
PostgreSQL.
"""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from command import plan_file, program
from netlab import NEEDS_NETNS, PORT, NetLab, Place, netlab, wait_for

from ioplan.results.store import COLUMNS, COUNTED, Store
from ioplan.runner import openers
from targets import MIB, tell

pytestmark = [*NEEDS_NETNS, pytest.mark.long]

FEW_CELLS, CELLS, MORE_CELLS, CUT_S, CUT_CELLS = 2, 6, 12, 40, 24
PLAN = """test "T" {{
  run    random 4KiB 70/30 for {run}
  vary   qd in {cells}
  expect errors == 0
}}
"""

STRANGER = """
import socket, ssl, sys
context = ssl.create_default_context()
context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
with socket.create_connection((sys.argv[1], int(sys.argv[2]))) as plain:
    with context.wrap_socket(plain) as tls:
        print(tls.recv(1))
"""


def plan(folder: Path, run: str = "400ms", cells: int = CELLS) -> Path:
    depths = ", ".join(str(number) for number in range(1, cells + 1))
    return plan_file(folder, PLAN.format(run=run, cells=depths))


def runs_of(host: Place) -> list[tuple[str, str, str]]:
    """Session, cell and status of all that a host has stored."""
    if not host.store.exists():
        return []
    with Store.open(host.store) as store:
        return [
            (one.id, str(record.asked.cell), record.status)
            for one in store.sessions()
            for record in store.records(one.id)
        ]


def audit(lab: NetLab, job: str, cells: int = CELLS) -> None:
    """Nothing is lost, nothing was done twice, and nothing goes on."""
    done = Counter(
        (session, cell)
        for host in lab.hosts.values()
        for session, cell, status in runs_of(host)
        if session.startswith(job) and status == "ok"
    )
    sessions = {session for session, _ in done}
    lanes = len([word for word in lab.overwrite if word.endswith(".img")])
    assert len(sessions) == lanes
    assert set(done.values()) == {1}
    assert len(done) == lanes * cells
    same_in_the_shared_store(lab, sessions)
    no_io(lab)


def same_in_the_shared_store(lab: NetLab, sessions: set[str]) -> None:
    """Each row of these sessions is there, to the last byte, and no other one."""
    assert lab.database
    kept = [rows_of(Store.open(host.store), sessions) for host in lab.hosts.values()]
    sent = rows_of(Store.at(lab.database.local), sessions)
    for table, rows in sent.items():
        expected = [row for one in kept for row in one[table]]
        assert sorted(map(str, rows)) == sorted(map(str, expected)), table
    assert len(sent["session"]) == len(sessions)
    assert len(sent["run_blob"]) == len(sent["run"]) > 0
    assert sent["run_telemetry"] and sent["verdict"]


def rows_of(store: Store, sessions: set[str]) -> dict[str, list[dict[str, Any]]]:
    """What a store has of these sessions, by table."""
    listed = ", ".join(f"'{one}'" for one in sessions)
    with store, store.reading() as connection:
        return {
            table: connection.rows(
                f"SELECT {', '.join(COLUMNS[table])} FROM {table} "
                f"WHERE {'id' if table == 'session' else 'session'} IN ({listed})"
            )
            for table in ("session", *COUNTED)
        }


def no_io(lab: NetLab) -> None:
    """Nobody has a drive open, and only workers are left on the hosts."""
    for line in tell(
        "losetup", "--list", "--noheadings", "-O", "NAME,BACK-FILE"
    ).splitlines():
        name, _, backing = line.partition(" ")
        if backing.strip().startswith(str(lab.folder)):
            assert openers(Path(name).stat()) == []
    for host in lab.hosts.values():
        wait_for(partial(only_its_worker, host))


def only_its_worker(host: Place) -> bool:
    """A parent of lanes ends soon after the last of them."""
    return pids_of(host) <= {host.pid("worker"), host.sshd}


def pids_of(host: Place) -> set[int]:
    """All processes there."""
    return set(map(int, tell("ip", "netns", "pids", host.space).split()))


def job_of(text: str) -> str:
    found = re.search(r"job (\S+):", text)
    assert found, text
    return found[1]


def detached(lab: NetLab, plan: Path, target: str = "all") -> str:
    """Begin a job, and leave it alone; its id."""
    done = lab.coordinator.ioplan(*lab.run(plan, target, "--detach"))
    assert done.returncode == 0, done.stdout + done.stderr
    return job_of(done.stdout)


def stored(host: Place, job: str) -> int:
    return sum(session.startswith(job) for session, _, _ in runs_of(host))


def attached(lab: NetLab, job: str) -> str:
    done = lab.coordinator.ioplan("attach", job)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def up(lab: NetLab, *hosts: str) -> str:
    done = lab.coordinator.ioplan("lab", "up", *hosts, "--lab", lab.file)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def lab(made_lab: NetLab) -> Iterator[NetLab]:
    """Whole again afterwards, also where a test failed half-way."""
    yield made_lab
    if not all(host.runs("worker") for host in made_lab.hosts.values()):
        up(made_lab)


@pytest.fixture(scope="module")
def made_lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NetLab]:
    """The disk of h2 has just enough room."""
    folder = tmp_path_factory.mktemp("lab")
    with netlab(folder, "h1", "h2", shared=True, disks={"h2": "40m"}) as lab:
        lab.close_ports()
        up(lab)
        yield lab


def test_no_drive_is_written_before_all_may_be(lab: NetLab, tmp_path: Path) -> None:
    """The second host has somebody's archive on its drive, and says so."""
    first, second = (lab.folder / f"{name}-drive.img" for name in ("h1", "h2"))
    with second.open("r+b") as disk:
        disk.write((b"PK\x03\x04" + b"precious" * 512)[:4096])
    before = first.read_bytes(), second.read_bytes()
    words = map(str, lab.run(plan(tmp_path, "200ms", 1), "all"))
    done = lab.coordinator.ioplan(*(one.removesuffix("-data") for one in words))
    assert done.returncode == 2
    assert "h2: " in done.stderr and f"--overwrite-data {second}" in done.stderr
    assert (first.read_bytes(), second.read_bytes()) == before
    with second.open("r+b") as disk:
        disk.write(bytes(4096))


def test_a_list_is_made_of_what_hosts_say(lab: NetLab, tmp_path: Path) -> None:
    """They have no lab file; their parts of this one go with the question."""
    out = tmp_path / "drives.json"
    words = ("lab", "consent", "drives", "all", "--lab", lab.file, "-o", out)
    done = lab.coordinator.ioplan(*words)
    assert done.returncode == 0, done.stderr
    rows = json.loads(out.read_text())
    assert [row["name"] for row in rows] == ["h1-drive", "h2-drive"]
    assert {row["verdict"] for row in rows} == {"writable"}


def drive_states(lab: NetLab) -> set[str]:
    """As a shell says it of both drives, from what their hosts wrote."""
    done = lab.coordinator.ioplan("lab", "drives", "--json", "--lab", lab.file)
    assert done.returncode == 0, done.stderr
    return {json.loads(line)["state"] for line in done.stdout.splitlines()}


@pytest.mark.promise("labs.faults")
def test_client_worker_scheduler_and_a_lane_are_killed(
    lab: NetLab, tmp_path: Path
) -> None:
    h1, h2 = lab.hosts.values()
    with lab.coordinator.begin(*lab.run(plan(tmp_path, "1s"), "all")) as client:
        assert client.stdout
        job = job_of(client.stdout.readline())
        wait_for(lambda: drive_states(lab) == {"busy"})
        wait_for(lambda: stored(h1, job) and stored(h2, job))
        client.kill()
    (lock,) = h2.folder.glob(f"data/lanes/{job}/*/lock")
    os.kill(int(lock.read_text()), signal.SIGKILL)
    renewed = lab.coordinator.ioplan("lab", "keys", "renew", "h2", "--lab", lab.file)
    assert "h2: has new keys" in renewed.stdout, renewed.stderr
    h1.kill("worker")
    lab.coordinator.kill("scheduler")
    assert "h1: started" in up(lab)
    assert "h2-drive" in attached(lab, job)
    audit(lab, job)
    wait_for(lambda: drive_states(lab) == {"free"})


def test_who_has_no_key_is_turned_away(lab: NetLab) -> None:
    at = (lab.coordinator.address, str(PORT))
    done = program(*lab.coordinator.command(sys.executable, "-c", STRANGER, *at))
    assert "certificate required" in done.stderr.lower()


def test_cancel_ends_the_io_and_resume_goes_on(lab: NetLab, tmp_path: Path) -> None:
    h1 = lab.hosts["h1"]
    job = detached(lab, plan(tmp_path, "1s", MORE_CELLS))
    wait_for(lambda: stored(h1, job))
    done = lab.coordinator.ioplan("cancel", job)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("stopped") == 2
    no_io(lab)
    before = len(runs_of(h1))
    done = lab.coordinator.ioplan("resume", job)
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(runs_of(h1)) > before
    audit(lab, job, MORE_CELLS)


def test_a_host_that_is_down_holds_nobody_up(lab: NetLab, tmp_path: Path) -> None:
    """Its lanes wait for it, or are skipped; `lab up` goes on without it, too."""
    h1, h2 = lab.hosts.values()
    dead = tmp_path / "lab.toml"
    dead.write_text(lab.file.read_text() + '[hosts.h3]\nreach = ["false"]\n')
    done = lab.coordinator.ioplan("lab", "up", "h2", "h3", "--lab", dead)
    assert (done.returncode, "1 of 2 hosts are up" in done.stdout) == (3, True)
    assert "error: h3 is skipped: the host h3 does not answer" in done.stderr
    assert "h2: is up" in done.stdout and "h1" not in done.stdout
    h2.kill("worker")
    short = plan(tmp_path, "100ms", 1)
    done = lab.coordinator.ioplan(*lab.run(short, "all", "--skip-missing"))
    assert done.returncode == 1, done.stderr
    assert "no worker reports from h2" in done.stderr
    assert "h1-drive on h1: ok" in done.stdout and "skipped" in done.stdout
    job = detached(lab, plan(tmp_path, "1s"))
    wait_for(lambda: stored(h1, job))
    done = lab.coordinator.ioplan("status", job)
    assert done.returncode == 0, done.stderr
    assert re.search(
        "h2-drive +h2 +waiting +for h2, which does not report", done.stdout
    )
    up(lab, "h2")
    wait_for(lambda: stored(h2, job) and status_of(lab, job, "h2-drive +h2 +running"))
    h2.kill("worker")
    status = wait_for(lambda: status_of(lab, job, "unknown"))
    assert re.search(r"h2-drive +h2 +unknown +last seen running \d+%, .* ago", status)
    up(lab, "h2")
    attached(lab, job)
    audit(lab, job)


def status_of(lab: NetLab, job: str, pattern: str) -> str:
    """What status prints once that is in it."""
    said = lab.coordinator.ioplan("status", job).stdout
    return said if re.search(pattern, said) else ""


def test_a_full_disk_stops_a_lane_and_loses_nothing(
    lab: NetLab, tmp_path: Path
) -> None:
    h2 = lab.hosts["h2"]
    filler = h2.folder / "data" / "filler"
    job = detached(lab, plan(tmp_path, "1s"))
    wait_for(lambda: stored(h2, job))
    with filler.open("wb") as file, pytest.raises(OSError, match="No space"):
        while True:
            file.write(bytes(MIB))
            file.flush()
    done = lab.coordinator.ioplan("attach", job)
    assert done.returncode == 3
    assert "h2-drive: failed: error: the disk of the store" in done.stderr
    assert 0 < stored(h2, job) < CELLS
    filler.unlink()
    done = lab.coordinator.ioplan("resume", job)
    assert done.returncode == 0, done.stdout + done.stderr
    audit(lab, job)


def test_the_database_is_away_and_everything_arrives_later(
    lab: NetLab, tmp_path: Path
) -> None:
    """Stopped for the whole job, cut off from one host, senders and a worker killed."""
    assert lab.database
    h1, h2 = lab.hosts.values()
    hasty = tmp_path / "lab.toml"
    hasty.write_text(f"delivery_s = 1\n{lab.file.read_text()}")
    lab.database.stop()
    said = lab.run(plan(tmp_path, "200ms", FEW_CELLS), "all")
    words = [hasty if str(one) == str(lab.file) else one for one in said]
    done = lab.coordinator.ioplan(*words)
    assert done.returncode == 4, done.stdout + done.stderr
    (job,) = re.findall(r"ioplan push (\S+)", done.stderr)
    assert f"0 of {2 * FEW_CELLS} runs stored in postgresql://" in done.stdout
    status = lab.coordinator.ioplan("status", job)
    assert status.returncode == 4
    assert "h1: Connection refused; h2: Connection refused" in status.stdout
    for host in (h1, h2):
        os.kill(host.sender(), signal.SIGKILL)
    h1.kill("worker")
    lab.cut_from_database("h2")
    lab.database.start()
    up(lab)
    wait_for(lambda: not list(h1.folder.glob("data/*-outbox/*.json")))
    halfway = f"{FEW_CELLS} of {2 * FEW_CELLS} runs stored in"
    wait_for(lambda: halfway in lab.coordinator.ioplan("status", job).stdout)
    lab.mend_to_database("h2")
    done = lab.coordinator.ioplan("push", job, "--lab", hasty)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{2 * FEW_CELLS} of {2 * FEW_CELLS} runs stored in" in done.stdout
    audit(lab, job, FEW_CELLS)


# ---- the cut takes its time, so the tests above run meanwhile


class Cut:
    """A link that is cut in the middle of a lane."""

    def __init__(self, lab: NetLab, plan: Path) -> None:
        self.lab, self.plan = lab, plan
        self.job, self.begun, self.said, self.during = "", "", "", 0
        self.error: BaseException | None = None
        self.thread = threading.Thread(target=self._go)

    def _go(self) -> None:
        try:
            self._happen()
        except BaseException as error:
            self.error = error

    def _happen(self) -> None:
        host = self.lab.hosts["far"]
        self.begun = up(self.lab)
        self.job = detached(self.lab, self.plan)
        wait_for(lambda: stored(host, self.job))
        self.lab.cut("far")
        before, end_s = stored(host, self.job), time.monotonic() + CUT_S
        while time.monotonic() < end_s:
            time.sleep(1)
        self.during = stored(host, self.job) - before
        self.lab.mend("far")
        self.said = attached(self.lab, self.job)


@pytest.fixture(scope="module", autouse=True)
def cut(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cut]:
    folder = tmp_path_factory.mktemp("cut")
    with netlab(folder, "far", shared=True) as lab:
        made = Cut(lab, plan(folder, "2s", CUT_CELLS))
        made.thread.start()
        try:
            yield made
        finally:
            made.thread.join()


def test_a_link_that_is_cut_for_40_s_disturbs_nothing(cut: Cut) -> None:
    cut.thread.join()
    if cut.error:
        raise cut.error
    assert cut.during > 5
    audit(cut.lab, cut.job, CUT_CELLS)
    with Store.open(cut.lab.hosts["far"].store) as store:
        (session,) = store.sessions()
        assert store.events(session.id) == []  # it was not even resumed
        clocks = [one.clock for one in store.records(session.id)]
    for clock in clocks:  # of one machine
        assert clock and clock.uncertainty_ns > 0
        assert abs(clock.offset_ns) <= clock.uncertainty_ns
    assert "clocks: far is the farthest off, " in cut.begun
