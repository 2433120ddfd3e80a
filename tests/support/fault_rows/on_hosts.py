"""Faults of hosts: their processes, links, disk and clock."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from faults import Fault, Strike
from netlab import Place, wait_for
from test_netlab import pids_of, stored

from fault_rows.scene import Scene, kill, once_stored, pause
from targets import MIB

LONG_CUT_CELLS = 8
FAILED = "failed"


def workers_killed(scene: Scene) -> None:
    for host in scene.hosts:
        host.kill("worker")


def scheduler_killed(scene: Scene) -> None:
    scene.lab.coordinator.kill("scheduler")


def drive_jobs_killed(scene: Scene) -> None:
    for host in scene.hosts:
        (lock,) = host.folder.glob(f"data/lanes/{scene.jobs[-1]}/*/lock")
        kill(int(lock.read_text()))


def engines_killed(scene: Scene) -> None:
    for host in scene.hosts:
        for pid in engines_of(host):
            kill(pid)


def engines_of(host: Place) -> list[int]:
    """The processes that do I/O there."""
    return wait_for(lambda: [pid for pid in pids_of(host) if is_engine(pid)])


def is_engine(pid: int) -> bool:
    with suppress(OSError):
        return "ioplan-engine" in Path(f"/proc/{pid}/cmdline").read_text()
    return False


def resumed_once_failed(scene: Scene) -> None:
    """Once the lane has said that it failed, a person goes on with it."""
    wait_for(lambda: scene.moments.found and FAILED in scene.moments.found[-1].text, 90)
    scene.resume()


def hosts_killed(scene: Scene) -> None:
    for host in scene.hosts:
        for pid in pids_of(host) - {host.sshd}:
            with suppress(ProcessLookupError):
                kill(pid)


def up(scene: Scene) -> None:
    scene.up()


def attached(scene: Scene) -> None:
    scene.attach()


def up_and_resumed(scene: Scene) -> None:
    scene.up()
    for host in scene.hosts:  # nothing is left that knows what was written there
        done = host.ioplan("resume", "last", *scene.lab.overwrite)
        assert done.returncode in (0, 4), done.stdout + done.stderr


def link_cut(seconds: float) -> Fault:
    def cut(scene: Scene) -> None:
        scene.lab.cut("h2")
        before = stored(scene.lab.hosts["h2"], scene.jobs[-1])
        pause(seconds)
        assert stored(scene.lab.hosts["h2"], scene.jobs[-1]) > before

    return Fault(cut, with_many_cells, lambda scene: scene.lab.mend("h2"))


def with_many_cells(scene: Scene, strike: Strike) -> None:
    scene.cells = LONG_CUT_CELLS
    once_stored(scene, strike)


def cut_from_the_database(scene: Scene) -> None:
    scene.lab.cut_from_database("h2")
    pause(40)
    scene.lab.mend_to_database("h2")


def disk_full(scene: Scene) -> None:
    filler = scene.lab.hosts["h2"].store.parent / "filler"
    with filler.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(MIB))
    wait_for(lambda: FAILED in scene.moments.look().text, 90)
    filler.unlink()


def resumed(scene: Scene) -> None:
    scene.resume()


def clock_ahead(scene: Scene) -> None:
    scene.set_clock_ahead(True)
    scene.until_ended()
    scene.until_complete(120)
    scene.set_clock_ahead(False)


FAULTS: dict[str, Fault] = {
    "workers killed": Fault(workers_killed, once_stored, up, "lab up"),
    "scheduler killed": Fault(scheduler_killed, once_stored, up, "lab up"),
    "drive jobs killed": Fault(drive_jobs_killed, once_stored, attached, "attach"),
    "engines killed": Fault(engines_killed, once_stored, resumed_once_failed, "resume"),
    "hosts killed, all processes": Fault(
        hosts_killed, once_stored, up_and_resumed, "lab up, resume on each host"
    ),
    "link of a host cut, 10 s": link_cut(10),
    "link of a host cut, 5 min": link_cut(300),
    "link to PostgreSQL cut, 40 s": Fault(cut_from_the_database, once_stored),
    "disk of a host full": Fault(disk_full, once_stored, resumed, "resume"),
    "clock of a host + 1 h and back": Fault(clock_ahead, once_stored),
}
