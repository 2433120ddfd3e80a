"""A process of ours dies in the midst of writes, and then the power is cut.

What was promised is in a file that both processes may lose at any moment: no honest
cache is accused by it, and a lying one is still found.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from command import Done, ioplan, plan_file

from ioplan.results.store import Store
from ioplan_witness import Device, seen

pytestmark = [pytest.mark.slow, pytest.mark.long]
Starts = Callable[..., Device]
READ = "run sequential 64KiB 100/0, region 0%..50%, verify, 1 pass"
WRITES = f"""test "W" {{
  run random 4KiB 0/100, qd 4, region 0%..50%, flush every 16, verify for 24MiB
  {READ}
}}
"""
READS = f'test "R" {{ {READ} }}\n'
WRONG = ("lost_fua", "older_than_durable", "torn", "misdirected", "foreign")
BEGUN, ALL = 1000, (24 << 20) // 4096
WITHIN_S = 60


def words(one: Device, folder: Path) -> list[Any]:
    target = ("--target", one.disk, "--overwrite", one.disk, "--json")
    return ["run", plan_file(folder, WRITES), *target, "--store", folder / "store"]


@pytest.fixture
def writer(device: Starts, tmp_path: Path) -> Iterator[Callable[[Device], int]]:
    """Starts the writes, and returns the number of ioplan's process."""
    started: list[subprocess.Popen[bytes]] = []

    def begin(one: Device) -> int:
        call = [sys.executable, "-m", "ioplan.cli", *map(str, words(one, tmp_path))]
        nowhere = subprocess.DEVNULL
        started.append(subprocess.Popen(call, stdout=nowhere, stderr=nowhere))
        until(lambda: written(one) >= BEGUN)
        return started[0].pid

    yield begin
    for one in started:
        one.kill()
        one.wait()


def until(reached: Callable[[], bool]) -> None:
    end_s = time.monotonic() + WITHIN_S
    while not reached():
        assert time.monotonic() < end_s, "it takes too long"
        time.sleep(0.01)


def written(one: Device) -> int:
    """How many writes have arrived."""
    return int((seen(one)["kind"] == 1).sum())


def engine_of(pid: int) -> int:
    """The engine's process, below ioplan's."""
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in map(int, (task / "children").read_text().split()):
            if Path(f"/proc/{child}/comm").read_text().startswith("ioplan-engine"):
                return child
    raise AssertionError("there is no engine")


def gone(pid: int) -> bool:
    """It has ended, whether or not its parent knows."""
    try:
        return (
            Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
        )
    except OSError:
        return True


def kill_engine(pid: int) -> None:
    os.kill(engine_of(pid), signal.SIGKILL)
    until(lambda: gone(pid))


def kill_ioplan(pid: int) -> None:
    """The engine is told by the kernel, and dies as well."""
    engine = engine_of(pid)
    os.kill(pid, signal.SIGKILL)
    until(lambda: gone(engine))


def engine_ends_alone(pid: int) -> None:
    """ioplan is not at work any more when the engine ends, and hears of nothing."""
    engine = engine_of(pid)
    os.kill(pid, signal.SIGSTOP)
    until(lambda: gone(engine))
    os.kill(pid, signal.SIGKILL)


DEATHS = {
    "the engine": kill_engine,
    "ioplan": kill_ioplan,
    "ioplan, after the engine has ended": engine_ends_alone,
}


def judged(one: Device, folder: Path) -> dict[str, Any]:
    plan = plan_file(folder, READS, "reads.ioplan")
    target = ("--target", one.disk, "--json", "--store", folder / "store")
    (line,) = ioplan("run", plan, *target).of("record")
    found: dict[str, Any] = line["record"]["backend"]["facts"]["verify"]
    return found


def resumed(one: Device, folder: Path) -> Done:
    """The session of the writes goes on."""
    more = ("--overwrite-data", one.disk, "--store", folder / "store", "--json")
    with Store.open(folder / "store") as store:
        first = min(known.id for known in store.sessions())
    return ioplan("resume", first, *more)


@pytest.mark.parametrize("mode", ["volatile", "lying"])
@pytest.mark.parametrize("name", DEATHS)
def test_no_promise_is_lost_with_the_process_that_noted_it(
    name: str,
    mode: str,
    device: Starts,
    writer: Callable[[Device], int],
    tmp_path: Path,
) -> None:
    one = device(cache={"mode": mode})
    DEATHS[name](writer(one))
    whole = "ended" in name
    assert (written(one) == ALL) is whole, "it was killed in the midst of its writes"
    assert ioplan("device", "cut", one.folder).code == 0
    found = judged(one, tmp_path)
    assert (found["lost_flushed"] > 0) is (mode == "lying"), found
    assert found["kept"] + found["rolled_back"] + found["lost_flushed"] > 0, found
    assert not any(found[kind] for kind in WRONG), found
    done = resumed(one, tmp_path)
    assert done.code == 0, done.err
    read = done.of("record")[-1]["record"]["backend"]["facts"]["verify"]
    assert read["verified"] > 0 and not any(read[kind] for kind in WRONG), read
