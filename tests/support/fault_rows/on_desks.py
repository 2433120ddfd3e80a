"""Two desks of a lab that take from one queue; the first is killed and comes back."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from subprocess import Popen

import psycopg
from command import plan_file
from faults import Fault
from msgspec.structs import replace
from netlab import Place, wait_for

from fault_rows.scene import CELLS, Scene, alone

PLANS = 4
READS = """test "T" {{
  run    random 4KiB 100/0 for 500ms
  vary   qd in {cells}
  expect errors == 0
}}
"""
"""A plan that writes would need a signed list."""


def two_desks(scene: Scene) -> None:
    first, second = scene.lab.coordinator, other_desk(scene)
    cells = ", ".join(map(str, range(1, CELLS + 1)))
    plan = plan_file(scene.folder, READS.format(cells=cells))
    for _ in range(PLANS):
        added = first.ioplan(
            *("lab", "queue", "add", plan, "--target", "all"),
            *("--lab", scene.lab.file),
        )
        assert added.returncode == 0, added.stderr
    with at_work(scene, first) as killed:
        scene.watch(wait_for(lambda: jobs(scene, "running"), 120)[0])
        with at_work(scene, second):
            killed.kill()
            killed.wait()
            with at_work(scene, first):
                wait_for(lambda: len(jobs(scene, "ended")) == PLANS, 300)
    scene.jobs[:] = jobs(scene, "ended")
    assert len(set(scene.jobs)) == PLANS


def other_desk(scene: Scene) -> Place:
    """It has the lab's keys, the same store of jobs, and a folder of its own."""
    first = scene.lab.coordinator
    state = first.folder / "second" / "state"
    shutil.copytree(
        first.folder / "state/ioplan/tls", state / "ioplan/tls", dirs_exist_ok=True
    )
    return replace(first, more=first.more | {"XDG_STATE_HOME": str(state)})


@contextmanager
def at_work(scene: Scene, desk: Place) -> Iterator[Popen[str]]:
    process = desk.begin("lab", "queue", "work", "--lab", scene.lab.file)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def jobs(scene: Scene, state: str) -> list[str]:
    """Of the entries in the queue that are in a state."""
    assert scene.lab.database
    with psycopg.connect(scene.lab.database.local) as there:
        query = "SELECT job FROM desk_queue WHERE state = %s"
        return [row[0] for row in there.execute(query, (state,))]


FAULTS: dict[str, Fault] = {
    "two desks, one killed and started again": Fault(
        two_desks, alone, by_hand="start it again"
    )
}
