"""Faults of hosts: their processes, links, disk and clock."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from netlab import Place, wait_for
from test_netlab import pids_of, stored

from fault_rows.scene import Fault, Scene, kill, pause
from targets import MIB

LONG_CUT_CELLS = 8
FAILED = "failed"


def worker_killed(scene: Scene) -> str:
    scene.begun()
    for host in scene.hosts:
        host.kill("worker")
    scene.up()
    return "lab up"


def scheduler_killed(scene: Scene) -> str:
    scene.begun()
    scene.lab.coordinator.kill("scheduler")
    scene.up()
    return "lab up"


def drive_job_killed(scene: Scene) -> str:
    job = scene.begun()
    for host in scene.hosts:
        (lock,) = host.folder.glob(f"data/lanes/{job}/*/lock")
        kill(int(lock.read_text()))
    scene.attach()
    return "attach"


def engine_killed(scene: Scene) -> str:
    scene.begun()
    for host in scene.hosts:
        for pid in engines_of(host):
            kill(pid)
    return resumed(scene)


def engines_of(host: Place) -> list[int]:
    """The processes that do I/O there."""
    return wait_for(lambda: [pid for pid in pids_of(host) if is_engine(pid)])


def is_engine(pid: int) -> bool:
    with suppress(OSError):
        return "ioplan-engine" in Path(f"/proc/{pid}/cmdline").read_text()
    return False


def resumed(scene: Scene) -> str:
    """Once the lane has said that it failed, a person goes on with it."""
    wait_for(lambda: scene.moments.found and FAILED in scene.moments.found[-1].text, 90)
    scene.resume()
    return "resume"


def host_killed(scene: Scene) -> str:
    scene.begun()
    for host in scene.hosts:
        for pid in pids_of(host) - {host.sshd}:
            with suppress(ProcessLookupError):
                kill(pid)
    scene.up()
    scene.attach()
    return "lab up, attach"


def link_cut(seconds: float) -> Fault:
    def cut(scene: Scene) -> str:
        scene.cells = LONG_CUT_CELLS
        job = scene.begun()
        scene.lab.cut("h2")
        before = stored(scene.lab.hosts["h2"], job)
        pause(seconds)
        assert stored(scene.lab.hosts["h2"], job) > before
        scene.lab.mend("h2")
        return ""

    return cut


def cut_from_the_database(scene: Scene) -> str:
    scene.begun()
    scene.lab.cut_from_database("h2")
    pause(40)
    scene.lab.mend_to_database("h2")
    return ""


def disk_full(scene: Scene) -> str:
    scene.begun()
    filler = scene.lab.hosts["h2"].store.parent / "filler"
    with filler.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(MIB))
    wait_for(lambda: FAILED in scene.moments.look().text, 90)
    filler.unlink()
    scene.resume()
    return "resume"


def clock_ahead(scene: Scene) -> str:
    scene.begun()
    scene.set_clock_ahead(True)
    scene.until_ended()
    scene.moments.until_complete(120)
    scene.set_clock_ahead(False)
    return ""


FAULTS: dict[str, Fault] = {
    "workers killed": worker_killed,
    "scheduler killed": scheduler_killed,
    "drive jobs killed": drive_job_killed,
    "engines killed": engine_killed,
    "hosts killed, all processes": host_killed,
    "link of a host cut, 10 s": link_cut(10),
    "link of a host cut, 5 min": link_cut(300),
    "link to PostgreSQL cut, 40 s": cut_from_the_database,
    "disk of a host full": disk_full,
    "clock of a host + 1 h and back": clock_ahead,
}
